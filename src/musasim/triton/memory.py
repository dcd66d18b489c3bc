"""Which addresses a kernel may use: those of its arguments' memory, and of whatever else the device's allocator has given out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

__all__ = ["IllegalAccess", "Memory"]

# The allocator rounds sizes up to this, and a device does not notice an access in between.
_GRANULE = 512


class IllegalAccess(RuntimeError):
    """A kernel used an address that belongs to no allocation."""


class Memory:
    """The memory that one launch may use. `pointers` are the arguments' memory: a name, an address, and a number of bytes."""

    def __init__(self, pointers: Iterable[tuple[str, int, int]], device: torch.device) -> None:
        self._device = device
        self._named = [(name, address, nbytes) for name, address, nbytes in pointers if nbytes]
        self._ranges = sorted((address, address + _rounded(nbytes)) for _, address, nbytes in self._named)
        self._complete = False

    def check(self, addresses: Any, mask: Any, size: int, what: str) -> None:
        """Raise IllegalAccess if one of `addresses`, each of `size` bytes, that `mask` selects is in no allocation."""
        used = np.asarray(addresses)
        if mask is not None and not np.all(mask):
            used = used[np.broadcast_to(mask, used.shape)]
        if used.size == 0:
            return
        low, high = int(used.min()), int(used.max()) + size
        if any(begin <= low and high <= end for begin, end in self._ranges):
            return
        wrong = self._outside(used, size)
        if wrong is not None and not self._complete:
            self._add_every_allocation()
            wrong = self._outside(used, size)
        if wrong is not None:
            raise IllegalAccess(
                f"an illegal memory access was encountered: it {what} {size} bytes at {self._describe(wrong)}"
            )

    def _outside(self, used: Any, size: int) -> int | None:
        flat = used.reshape(-1).astype(np.uint64)
        inside = np.zeros(flat.shape, bool)
        for begin, end in self._ranges:
            inside |= (flat >= np.uint64(begin)) & (flat <= np.uint64(max(end - size, 0)))
        return None if inside.all() else int(flat[~inside][0])

    def _add_every_allocation(self) -> None:
        self._complete = True
        for segment in torch.musa.memory_snapshot():  # type: ignore[attr-defined]
            if segment["device"] == self._device.index:
                for block in segment["blocks"]:
                    if block["state"] != "inactive":
                        self._ranges.append((block["address"], block["address"] + block["size"]))

    def _describe(self, address: int) -> str:
        if not self._named:
            return f"{address:#x}"
        name, begin, nbytes = min(self._named, key=lambda named: _distance(address, named[1], named[2]))
        if address < begin:
            return f"{address:#x}, {begin - address} bytes before the memory of argument {name!r}"
        return f"{address:#x}, {address - begin - nbytes} bytes after the {nbytes} bytes of memory of argument {name!r}"


def _rounded(nbytes: int) -> int:
    return (nbytes + _GRANULE - 1) // _GRANULE * _GRANULE


def _distance(address: int, begin: int, nbytes: int) -> int:
    return begin - address if address < begin else max(0, address - begin - nbytes)
