"""The report of `torchada bench` for people at a terminal."""

from __future__ import annotations

from torchada.report.severity import ERROR, OK
from torchada.report.terminal import Terminal
from torchada.tools.bench.report import Document
from torchada.tools.runner import environment_text

NO_MEANING = "The device is simulated, so these figures say nothing about hardware: both sides are times of the CPU."
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_HEAD = ("", "device", "CPU", "ratio (range)", "size")


def lines(document: Document, terminal: Terminal, verbosity: int = 0) -> list[str]:
    """The report as lines. Quiet: the table alone; verbose: what each benchmark does, and the range of its times."""
    if document["problem"]:
        return environment_text.problem(document, "bench")
    rows = [_HEAD, *(cells(row) for row in document["benchmarks"])]
    looks = [OK, *(OK if row["outcome"] == "measured" else ERROR for row in document["benchmarks"])]
    table = terminal.table(rows, indent="  ", looks=looks)
    head = [] if verbosity < 0 else [*_surroundings(document), ""]
    details = ["", *terminal.table(map(_detail, document["benchmarks"]), indent="  ")] if verbosity > 0 else []
    return [*head, *table, *details, *([NO_MEANING] if document["simulated"] else [])]


def _surroundings(document: Document) -> list[str]:
    return [
        f"torchada {document['torchada']} bench, {document['seconds_each']:g} s for each",
        f"device    {environment_text.device(document)}",
        f"CPU       {document['processor']}, {document['cores']} cores",
        f"versions  {environment_text.versions(document)}",
    ]


def cells(row: Document) -> tuple[str, ...]:
    """Name, speed on the device, speed on the CPU, ratio with its range, size."""
    if row["outcome"] != "measured":
        return row["name"], row["outcome"], "", "", row["detail"]
    ratio = row["ratio"]
    spread = f"{times(ratio['median'])} ({times(ratio['low'])} to {times(ratio['high'])})"
    return row["name"], speed(row, "device"), speed(row, "cpu"), spread, f"{row['size']:,}"


def times(ratio: float) -> str:
    """How many times as fast, to three digits, or to a whole number."""
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.3g}"


def speed(row: Document, side: str) -> str:
    """How much is done in a second, or, of calls and steps, how long one takes."""
    seconds = row[side]["median"]
    if row["unit"] in ("call", "step"):
        return f"{seconds * 1e6:.3g} us/{row['unit']}" if seconds < 1e-3 else f"{seconds * 1e3:.3g} ms/{row['unit']}"
    rate = row["amount"] / seconds
    scale, prefix = next(entry for entry in _PREFIXES if rate >= entry[0] or entry[0] == 1.0)
    return f"{rate / scale:.3g} {prefix}{row['unit']}/s"


def _detail(row: Document) -> tuple[str, str]:
    if row["outcome"] != "measured":
        return row["name"], row["what"]
    return row["name"], f"{row['what']}; device {_range(row['device'])}, CPU {_range(row['cpu'])}"


def _range(times: Document) -> str:
    low, high = times["low"] * 1e3, times["high"] * 1e3
    return f"{low:.3g} to {high:.3g} ms in {times['samples']} samples"
