"""The table of memory_summary(), laid out like the one of torch.cuda."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_WIDTH = 75
_THIN, _THICK = (f"|{line * _WIDTH}|" for line in "-=")
_COLUMNS = ("Cur Usage", "Peak Usage", "Tot Alloc", "Tot Freed")
_METRICS = ("current", "peak", "allocated", "freed")


def _size(value: int) -> str:
    units = ("B  ", "KiB", "MiB", "GiB", "TiB")
    unit = 0
    while value >= (768 * 1024 if unit else 1024) and unit < len(units) - 1:
        value //= 1024
        unit += 1
    return f"{value:6d} {units[unit]}"


def _count(value: int) -> str:
    return f"{value:7d}   "


_POOLED: tuple[tuple[str, str, Callable[[int], str]], ...] = (
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
    ("oversize_allocations", "Oversize allocations", _count),
    ("oversize_segments", "Oversize GPU segments", _count),
)


def _row(label: str, cells: list[str]) -> str:
    return "|".join([f"| {label:<21} ", *(f" {cell} " for cell in cells), ""])


def _rows(stats: dict[str, Any], abbreviated: bool) -> list[str]:
    lines = []
    for key, title, write in _POOLED:
        lines.append(_THIN)
        for pool, label in (
            ("all", title),
            ("large_pool", "      from large pool"),
            ("small_pool", "      from small pool"),
        ):
            if pool != "all" and abbreviated:
                continue
            lines.append(_row(label, [write(stats.get(f"{key}.{pool}.{metric}", 0)) for metric in _METRICS]))
    for key, title, write in _SINGLE:
        lines.append(_THIN)
        lines.append(_row(title, [write(stats.get(f"{key}.{metric}", 0)) for metric in _METRICS]))
    return lines


def table(index: int, stats: dict[str, Any], abbreviated: bool) -> str:
    """The statistics of device `index` as text."""
    ooms, retries = stats.get("num_ooms", 0), stats.get("num_alloc_retries", 0)
    head = [
        _THICK,
        f"| {'':16} Torch MUSA memory summary, device ID {index:<17d} |",
        _THIN,
        f"|{f'MUSA OOMs: {ooms}':^37}|{f'musaMalloc retries: {retries}':^37}|",
        _THICK,
        _row("Metric", [f"{column:<10}" for column in _COLUMNS]),
    ]
    return "\n".join([*head, *_rows(stats, abbreviated), _THICK, ""])
