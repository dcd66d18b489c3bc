"""Write the support tables of both READMEs from docs/support.toml; with --check, only report whether they are up to date.

python scripts/support_table.py [--check]
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pytest depends on it

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "docs" / "support.toml"
TITLES = {
    "README.md": ("torch", "torch_musa", "CPython", "processor", "tried how"),
    "README_CN.md": ("torch", "torch_musa", "CPython", "处理器", "尝试方式"),
}
MARKED = re.compile(r"(<!-- support:begin -->\n).*?(<!-- support:end -->)", re.DOTALL)


def table(readme: str) -> str:
    """The table for one of the READMEs, in its language."""
    data = tomllib.loads(DATA.read_text(encoding="utf-8"))
    words = data["chinese"] if readme == "README_CN.md" else {}
    rows = [[words.get(cell, cell) for cell in row] for row in data["row"]]
    titles = TITLES[readme]
    return "".join(map(_line, [titles, ["---"] * len(titles), *rows]))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def updated(readme: str) -> str:
    """The README's text with the current table between its markers."""
    text, count = MARKED.subn(
        lambda found: found[1] + table(readme) + found[2], (ROOT / readme).read_text(encoding="utf-8")
    )
    if count != 1:
        raise SystemExit(f"support_table.py: {readme} has {count} tables between its markers, not one")
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 where a table is out of date")
    check = parser.parse_args(arguments).check
    outdated = [readme for readme in TITLES if updated(readme) != (ROOT / readme).read_text(encoding="utf-8")]
    if check and outdated:
        print(f"{', '.join(outdated)}: run python scripts/support_table.py", file=sys.stderr)
        return 1
    for readme in outdated:
        (ROOT / readme).write_text(updated(readme), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
