"""`python -m scripts.compatibility [--check | --print RELEASE]`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

# Before torch is imported. The management library needs a driver, so a stand-in of the tests takes its place.
os.environ.setdefault("TORCHADA_SIMULATE", "1")
os.environ.setdefault("TORCHADA_STRICT", "1")
# The page speaks of the oldest, and says what later ones answer otherwise; `--print` asks one of those.
os.environ["MUSASIM_RELEASE"] = sys.argv[-1] if "--print" in sys.argv else "2.7.1"
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support" / "stand_ins"))
import torchada  # noqa: F401  (the hook, where no start-up file is in force)

# isort: split
import torch
from scripts.compatibility import releases, table
from scripts.compatibility.names import is_in_private_module, names
from scripts.compatibility.observe import Observation, observe
from scripts.compatibility.samples import SAMPLES


def main() -> int:
    """Observe, and write or compare; returns 1 when a name is unaccounted for or the record differs."""
    parser = argparse.ArgumentParser(prog="python -m scripts.compatibility", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with what is on record, and write nothing")
    parser.add_argument(
        "--print", metavar="RELEASE", help="write what this release of torch_musa answers as JSON to stdout"
    )
    options = parser.parse_args()
    seen = look()
    if options.print:
        print(releases.printed(seen))
        return 0
    problems = [f"{path}: {observed.how}" for path, (observed, _) in seen.items() if observed.kind == "unaccounted"]
    version, record = torch.__version__.partition("+")[0], table.record_of(seen)
    later = releases.look(version, {path: (kind, how) for path, (kind, how, _) in record.items()})
    problems += releases.unaccounted(later)
    if options.check:
        problems += compare(version, record)
        problems += compare_releases(version, later)
    elif not problems:
        table.write_record(version, record)
        if version == table.DEFAULT_TORCH:
            releases.write(version, later)
        table.TABLE.write_text(table.page(table.records()))
    print("\n".join([*problems, f"{len(seen)} names of torch.cuda in torch {version}, {len(problems)} problems"]))
    return 1 if problems else 0


def look() -> dict[str, tuple[Observation, bool]]:
    """Every name by its path, with the observation and whether it is public; of private modules, only names with a sample."""
    chosen = [name for name in names() if not is_in_private_module(name) or name.path in SAMPLES]
    return {name.path: (observe(name), name.public) for name in chosen}


def compare(version: str, record: table.Record) -> list[str]:
    """The differences between `record` and what is on record for this torch, and between the page and the record."""
    known = table.records()
    if version not in known:
        return [f"nothing is on record for torch {version}: run python -m scripts.compatibility"]
    old = known[version]
    problems = [
        f"{path}: {record.get(path, ('missing',))[0]}, on record as {old.get(path, ('missing',))[0]}"
        for path in sorted({*record, *old})
        if record.get(path, (None,))[0] != old.get(path, (None,))[0]
    ]
    if table.TABLE.read_text() != table.page(known):
        problems.append(f"{table.TABLE.name} is not what python -m scripts.compatibility writes")
    return problems


def compare_releases(version: str, later: releases.Differences) -> list[str]:
    """The differences between what later releases answer and what is on record, where this torch is the one of the record."""
    recorded, known = releases.kept()
    if version != recorded:
        return []
    return [
        f"{path} on torch_musa {name}: {later.get(name, {}).get(path, ('as before',))[0]}, on record as "
        f"{known.get(name, {}).get(path, ('as before',))[0]}"
        for name in sorted({*later, *known})
        for path in sorted({*later.get(name, {}), *known.get(name, {})})
        if later.get(name, {}).get(path) != known.get(name, {}).get(path)
    ]


if __name__ == "__main__":
    sys.exit(main())
