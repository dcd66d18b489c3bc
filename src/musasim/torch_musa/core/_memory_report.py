"""The table of memory_summary(), laid out like the one of torch.cuda.

All rows of a metric have the unit that suits the row of both pools together, column by column.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_WIDTH = 75
_THIN, _THICK = (f"|{line * _WIDTH}|" for line in "-=")
_METRICS = ("current", "peak", "allocated", "freed")
_POOLS = (("all", ""), ("large_pool", "      from large pool"), ("small_pool", "      from small pool"))

#: What writes a number in the unit that suits another one.
Writer = Callable[[int, float], str]


def _size(value: int, suited: float) -> str:
    value, unit = _in_unit(value, suited, ("B  ", "KiB", "MiB", "GiB", "TiB", "PiB"), 768 * 1024, 1024)
    return f"{value:6d} {unit}"


def _count(value: int, suited: float) -> str:
    value, unit = _in_unit(value, suited, (" ", "K", "M"), 750 * 1000, 1000)
    return f"{value:7d} {unit} "


def _in_unit(value: int, suited: float, units: tuple[str, ...], limit: int, step: int) -> tuple[int, str]:
    """`value` in the first unit in which `suited` is below the limit."""
    place = 0
    while suited >= limit and place < len(units) - 1:
        place, suited, value = place + 1, suited / step, value // step
    return value, units[place]


_POOLED: tuple[tuple[str, str, Writer], ...] = (
    ("allocated_bytes", "Allocated memory", _size),
    ("active_bytes", "Active memory", _size),
    ("requested_bytes", "Requested memory", _size),
    ("reserved_bytes", "GPU reserved memory", _size),
    ("inactive_split_bytes", "Non-releasable memory", _size),
    ("allocation", "Allocations", _count),
    ("active", "Active allocs", _count),
    ("segment", "GPU reserved segments", _count),
    ("inactive_split", "Non-releasable allocs", _count),
)
_SINGLE = (
    ("oversize_allocations", "Oversize allocations"),
    ("oversize_segments", "Oversize GPU segments"),
)


def _row(label: str, cells: list[str]) -> str:
    return "|".join([f"| {label:<21} ", *(f" {cell} " for cell in cells), ""])


def _rows(stats: dict[str, Any], abbreviated: bool) -> list[str]:
    lines = []
    for key, title, write in _POOLED:
        lines.append(_THIN)
        suited = [stats[f"{key}.all.{metric}"] for metric in _METRICS]
        for pool, label in _POOLS[: 1 if abbreviated else None]:
            values = [stats[f"{key}.{pool}.{metric}"] for metric in _METRICS]
            lines.append(_row(label or title, list(map(write, values, suited))))
    for key, title in _SINGLE:
        values = [stats[f"{key}.{metric}"] for metric in _METRICS]
        lines += [_THIN, _row(title, list(map(_count, values, values)))]
    return lines


def table(index: int, stats: dict[str, Any], abbreviated: bool) -> str:
    """The statistics of device `index` as text. KeyError where there are none, before the device is initialised."""
    lines = _rows(stats, abbreviated)
    head = [
        _THICK,
        f"| {'':16} Torch MUSA memory summary, device ID {index:<17d} |",
        _THIN,
        f"|  {'':9} MUSA OOMs: {stats['num_ooms']:<12d} | {'':6} musaMalloc retries: {stats['num_alloc_retries']:<8d}  |",
        _THICK,
        _row("       Metric", [f"{column:<10}" for column in ("Cur Usage", "Peak Usage", "Tot Alloc", "Tot Freed")]),
    ]
    return "\n".join([*head, *lines, _THICK, ""])
