"""Compares every name and header of the vendor's own tables, and of ggml's, with what the porter makes of it, and counts.

    python scripts/vendor_names.py TORCH_MUSA [--ggml GGML]

TORCH_MUSA is a checkout of MooreThreads/torch_musa (tag v2.7.1), GGML one of ggml-org/ggml, whose `vendors/musa.h` is known to
work on hardware. Both may be git directories without a work tree. Each difference needs a reason of
`scripts/vendor_names.toml`; the command ends with 1 if one has none, or if a reason has no difference left.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from torchada.porting import port_source

REASONS = Path(__file__).with_suffix(".toml")
MAPPING = "torch_musa/utils/mapping"


def read(repository: Path, path: str) -> str:
    """A file of a checkout, or of the newest commit of a git directory."""
    if (repository / path).exists():
        return (repository / path).read_text(encoding="utf-8")
    shown = ["git", "-C", str(repository), "show", f"HEAD:{path}"]
    return subprocess.run(shown, capture_output=True, text=True, check=True).stdout


def vendors(repository: Path) -> dict[str, dict[str, str]]:
    """The tables of names and of headers."""
    names = {
        **json.loads(read(repository, f"{MAPPING}/general.json")),
        **json.loads(read(repository, f"{MAPPING}/dnn-naming.json")),
    }
    headers = {
        **json.loads(read(repository, f"{MAPPING}/include.json")),
        **json.loads(read(repository, f"{MAPPING}/dnn-header.json")),
    }
    word = re.compile(r"\w+")
    return {
        "torch_musa's names": {old: new for old, new in names.items() if word.fullmatch(old) and isinstance(new, str)},
        "torch_musa's headers": {_path(old): _path(new) for old, new in headers.items() if _is_header(old)},
    }


def _is_header(text: str) -> bool:
    return re.search(r"\.(h|hpp|cuh)[\">]?$", text.strip()) is not None


def _path(text: str) -> str:
    match = re.search(r"[<\"]([^>\"]+)[>\"]", text)
    return match[1] if match else text.strip()


def ggml(repository: Path) -> dict[str, str]:
    """What its header defines the names of CUDA to be. It may define a name of CUDA's to be another one."""
    text = read(repository, "src/ggml-cuda/vendors/musa.h")
    pairs = dict(re.findall(r"^#define\s+(\w+)\s+(\w+)\s*$", text, re.MULTILINE))
    return {old: pairs.get(new, new) for old, new in pairs.items()}


def ported(words: list[str], template: str) -> list[str]:
    """What becomes of each word, all in one source."""
    lines = port_source("\n".join(template.format(word) for word in words).encode()).text.decode().split("\n")
    return [_path(line) for line in lines] if "#" in template else lines


def compare(title: str, table: dict[str, str], reasons: list[dict[str, str]]) -> tuple[Counter[str], list[str]]:
    """Counts, and the lines of differences without a reason."""
    template = "#include <{}>" if title.endswith("headers") else "{}"
    counts, unexplained = Counter({"equal": 0}), []
    for (old, new), ours in zip(table.items(), ported(list(table), template)):
        if ours == new:
            counts["equal"] += 1
            continue
        row = next((row for row in reasons if row["table"] in title and fnmatchcase(old, row["names"])), None)
        counts[row["why"] if row else "without a reason"] += 1
        if row:
            row["used"] = "yes"
        else:
            unexplained.append(f"{old}: theirs {new}, ours {ours}")
    return counts, unexplained


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("torch_musa", type=Path)
    parser.add_argument("--ggml", type=Path)
    options = parser.parse_args()
    reasons = tomllib.loads(REASONS.read_text(encoding="utf-8"))["difference"]
    tables = vendors(options.torch_musa)
    if options.ggml:
        tables["ggml's names"] = ggml(options.ggml)
    wrong = []
    for title, table in tables.items():
        counts, unexplained = compare(title, table, reasons)
        print(f"{title}: {len(table)}, equal {counts.pop('equal')}")
        for why, count in counts.most_common():
            print(f"  {count:5}  {why}")
        wrong += unexplained
    for line in wrong:
        print(f"without a reason: {line}")
    idle = [row["names"] for row in reasons if "used" not in row and any(row["table"] in title for title in tables)]
    for names in idle:
        print(f"no difference left: {names}")
    return 1 if wrong or idle else 0


if __name__ == "__main__":
    sys.exit(main())
