"""The sequences of one argument of flash attention, each filled up with zeros to the length of the longest, and taken apart again.

Lengths stay on the device, so nothing here makes the host wait, and a graph that is captured may be replayed with others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Sequences:
    """`places` are the indices of (sequences, longest) rows in the argument, one tensor for each of its first dimensions; None if
    these are its first dimensions. `is_own` is False behind the end of a sequence.
    """

    lengths: Tensor
    longest: int
    places: tuple[Tensor, ...] | None = None
    is_own: Tensor | None = None

    def filled(self, tensor: Tensor, fill: float = 0.0) -> Tensor:
        """The rows of `tensor`, (sequences, longest, ...)."""
        if self.places is None or self.is_own is None:
            return tensor
        # What is read behind the end of a sequence is any row, so there has to be one.
        rows = tensor if tensor.size(0) else tensor.new_zeros(1, *tensor.shape[1:])
        gathered = rows[self.places]
        return gathered.masked_fill_(~self._beside(gathered), fill)

    def packed(self, filled: Tensor, rows: int, fill: float = 0.0) -> Tensor:
        """The opposite of `filled`: `rows` rows. Those of no sequence are `fill`."""
        if self.places is None or self.is_own is None:
            return filled
        made = filled.new_full((rows + 1, *filled.shape[2:]), fill)
        # What is behind the end of a sequence goes to one more row.
        made[self.places[0].masked_fill(~self.is_own, rows)] = filled
        return made[:rows]

    def _beside(self, tensor: Tensor) -> Tensor:
        assert self.is_own is not None
        return self.is_own.view(*self.is_own.shape, *[1] * (tensor.dim() - 2))


def dense(torch: Any, tensor: Tensor) -> Sequences:
    """(sequences, length, heads, size): all are of one length."""
    sequences, longest = tensor.shape[:2]
    return Sequences(torch.full((sequences,), longest, device=tensor.device), longest)


def packed(torch: Any, tensor: Tensor, offsets: Tensor, longest: int, used: Tensor | None = None) -> Sequences:
    """(rows, heads, size). `used`: so many rows of each sequence count, where that is not all of them."""
    starts = offsets.long()
    lengths = starts.diff() if used is None else used.long()
    row = torch.arange(min(longest, tensor.size(0)), device=tensor.device)
    is_own = row < lengths[:, None]
    place = (starts[:-1, None] + row).masked_fill(~is_own, 0)
    return Sequences(lengths, len(row), (place,), is_own)


def paged(torch: Any, tensor: Tensor, table: Tensor, lengths: Tensor, longest: int) -> Sequences:
    """(pages, rows of a page, heads, size), of which the table names those of each sequence."""
    size = tensor.size(1)
    row = torch.arange(min(longest, table.size(1) * size), device=tensor.device)
    is_own = row < lengths[:, None]
    # The table may name anything behind the end of a sequence.
    page = table.long()[:, row // size].masked_fill(~is_own, 0)
    return Sequences(lengths.long(), len(row), (page, (row % size).expand_as(page)), is_own)
