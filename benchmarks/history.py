"""What has been measured, and how a figure has moved: `python -m benchmarks.history FIGURE...`.

history.jsonl holds one measurement a line, in the order of time: the benchmark, the date, the revision where it was recorded, the
machine, the versions and the results. A figure is named by the benchmark and the way to the number in the results, joined by
slashes, and `*` stands for any text:

    python -m benchmarks.history "overhead/calls/torch.device('cuda')/ratio/native"
    python -m benchmarks.history "training/*/ratio"

What every result of a measurement has in common, such as the number of rounds, is a condition and not a figure; it is shown too.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

HISTORY = Path(__file__).with_name("history.jsonl")
Entry = dict[str, Any]
_COLUMNS = ("date", "revision", "torchada", "torch", "python", "machine", "conditions", "value")


def entries(benchmark: str | None = None, history: Path = HISTORY) -> list[Entry]:
    """The measurements, of one benchmark or of all, the oldest first."""
    lines = history.read_text().splitlines() if history.exists() else []
    recorded = [json.loads(line) for line in lines]
    return [entry for entry in recorded if benchmark in (None, entry["benchmark"])]


def line(entry: Entry) -> str:
    """An entry as one line of the history."""
    return json.dumps(entry, separators=(",", ":"), ensure_ascii=False) + "\n"


def figures(entry: Entry) -> dict[str, Any]:
    """The numbers of a measurement by name."""
    nested = {name: value for name, value in entry["results"].items() if isinstance(value, dict)}
    return dict(_numbers(entry["benchmark"], nested))


def _numbers(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, below in value.items():
            yield from _numbers(f"{name}/{key}", below)
    elif _is_number(value) or (isinstance(value, list) and all(map(_is_number, value))):
        yield name, value


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def conditions(entry: Entry) -> str:
    """The conditions of the measurement, apart from the versions that have columns of their own."""
    others = {name: number for name, number in entry["versions"].items() if name not in _COLUMNS}
    common = {name: value for name, value in entry["results"].items() if isinstance(value, (int, float, str))}
    return ", ".join(f"{name} {value}" for name, value in {**others, **common}.items())


def moves(name: str, measured: Sequence[Entry]) -> list[tuple[str, ...]]:
    """One row for each measurement that has the figure, after a row of titles."""
    return [_COLUMNS, *(_row(entry, values[name]) for entry in measured if name in (values := figures(entry)))]


def _row(entry: Entry, value: Any) -> tuple[str, ...]:
    versions = [str(entry["versions"].get(name, "-")) for name in ("torchada", "torch", "python")]
    machine = f"{entry['machine']['cpu']}, {entry['machine']['cores']} cores"
    # A list is a median and the bounds of its confidence interval.
    shown = " ".join(f"{number:g}" for number in (value if isinstance(value, list) else [value]))
    return (entry["date"][:16], entry.get("revision", "-"), *versions, machine, conditions(entry), shown)


def table(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def chosen(pattern: str, names: Sequence[str]) -> list[str]:
    """The names that `pattern` matches."""
    expression = re.compile(".*".join(map(re.escape, pattern.split("*"))))
    return [name for name in names if expression.fullmatch(name)]


def main(arguments: Sequence[str] | None = None, history: Path = HISTORY) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.history", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("figure", nargs="+", help="its name; * stands for any text")
    patterns = parser.parse_args(arguments).figure
    measured = entries(history=history)
    names = list(dict.fromkeys(name for entry in measured for name in figures(entry)))
    for pattern in patterns:
        if not chosen(pattern, names):
            known = "\n".join(f"  {name}" for name in names)
            print(f"No figure is called {pattern!r}. These have been measured:\n{known}", file=sys.stderr)
            return 2
    for name in dict.fromkeys(name for pattern in patterns for name in chosen(pattern, names)):
        print(f"{name}\n{table(moves(name, measured))}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
