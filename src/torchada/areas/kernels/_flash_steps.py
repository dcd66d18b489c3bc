"""The arithmetic of flash attention, by operators of dense tensors: which keys a query sees, the output, the gradients.

A batch here is one sequence and one head of keys with the queries of its group: (batch, group * queries, size) and
(batch, keys, size), in single precision. The scores of a step are whole in memory, up to a limit or those of one batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, nan
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

# Elements of the scores in one step, 512 MiB in single precision.
_SCORES = 1 << 27


@dataclass(frozen=True)
class Scores:
    """How scores are made. `left` and `right`: how many keys on either side of its own place a query sees, below 0 all.

    The last query's own place is that of the last key.
    """

    torch: Any
    queries: int
    keys: int
    scale: float
    left: int
    right: int

    def masked(self, query: Tensor, key: Tensor, query_lengths: Tensor, key_lengths: Tensor) -> Tensor:
        """(batch, group, queries, keys), -inf where a query does not see a key."""
        scores = self.torch.bmm(query, key.mT).mul_(self.scale)
        group = query.size(1) // max(1, self.queries)
        scores = scores.view(len(query), group, self.queries, self.keys)
        masked: Tensor = scores.masked_fill_(~self._seen(query_lengths, key_lengths)[:, None], -inf)
        return masked

    def _seen(self, query_lengths: Tensor, key_lengths: Tensor) -> Tensor:
        arange, device = self.torch.arange, query_lengths.device
        key = arange(self.keys, device=device)
        lengths = key_lengths[:, None, None]
        place = arange(self.queries, device=device)[:, None] + lengths - query_lengths[:, None, None]
        seen: Tensor = key < lengths
        if self.left >= 0:
            seen = seen & (key >= place - self.left)
        return seen & (key <= place + self.right) if self.right >= 0 else seen

    def output(
        self, query: Tensor, key: Tensor, value: Tensor, query_lengths: Tensor, key_lengths: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The output, and the logarithm of the sum of the exponentials: +inf for a query that sees no key, whose output is zero."""
        scores = self.masked(query, key, query_lengths, key_lengths)
        total = scores.logsumexp(-1)
        total = total.masked_fill(total == -inf, inf)
        # Not all keys are here, and a wrong result has to show.
        total.masked_fill_((key_lengths > self.keys)[:, None, None], nan)
        weights = scores.sub_(total[..., None]).exp_()
        return self.torch.bmm(weights.flatten(1, 2), value), total.flatten(1, 2)

    def gradients(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        query_lengths: Tensor,
        key_lengths: Tensor,
        total: Tensor,
        output: Tensor,
        gradient: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Of the query, the key and the value. Those of a group's queries add up, because they are rows of one matrix."""
        bmm = self.torch.bmm
        scores = self.masked(query, key, query_lengths, key_lengths).flatten(1, 2)
        weights = scores.sub_(total[..., None]).exp_()
        of_value = bmm(weights.mT, gradient)
        of_scores = bmm(gradient, value.mT).sub_((gradient * output).sum(-1, keepdim=True))
        of_scores.mul_(weights).mul_(self.scale)
        return bmm(of_scores, key), bmm(of_scores.mT, query), of_value

    def in_steps(self, compute: Callable[..., tuple[Tensor, ...]], *tensors: Tensor) -> list[Tensor]:
        """The results of `compute` for these batches, a few at a time."""
        query = tensors[0]
        batches = max(1, _SCORES // max(1, query.size(1) * self.keys))
        steps = [compute(*parts) for parts in zip(*(self.torch.split(tensor, batches) for tensor in tensors))]
        return [self.torch.cat(parts) for parts in zip(*steps)]
