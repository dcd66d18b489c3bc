"""One call of flash attention's operators: its arguments are checked, laid out as batches, and the results as CUDA's kernels do."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels import _flash_checks as checks
from torchada.areas.kernels import _flash_sequences as sequences
from torchada.areas.kernels._flash_steps import Scores

if TYPE_CHECKING:
    from torch import Tensor

    from torchada.areas.kernels._flash_sequences import Sequences


@dataclass(frozen=True)
class Call:
    """Rows are packed, (rows, heads, size), with offsets, or dense, (sequences, length, heads, size). Names are the operators'."""

    torch: Any
    query: Tensor
    key: Tensor
    value: Tensor
    cum_seq_q: Tensor | None
    cum_seq_k: Tensor | None
    max_q: int
    max_k: int
    is_causal: bool
    scale: float | None = None
    window_size_left: int | None = None
    window_size_right: int | None = None
    seqused_k: Tensor | None = None
    block_table: Tensor | None = None

    def check(self) -> None:
        is_set = [offsets is not None for offsets in (self.cum_seq_q, self.cum_seq_k)]
        together = "cumulative_sequence_length_q and cumulative_sequence_length_k must be both set or both not set"
        checks.check(is_set[0] == is_set[1], together)
        given = self.query, self.key, self.value
        # CUDA's kernel of dense tensors is not given `seqused_k` and `block_table`.
        checks.check_devices(*given, self.cum_seq_q, self.cum_seq_k, self.seqused_k, self.block_table)
        checks.check_types(self.torch, self.query, key=self.key, value=self.value)
        checks.check_rows(*given)
        self._check_shapes()
        checks.check_heads(self.query, self.key)

    def _check_shapes(self) -> None:
        offsets, table, torch = self.cum_seq_q, self.block_table, self.torch
        if offsets is None:
            checks.check_dimensions(4, query=self.query, key=self.key)
            checks.check_shape("k", self.key, self.query.size(0), *self.key.shape[1:3], self.query.size(-1))
        else:
            count = offsets.numel() - 1
            checks.check(count > 0, "batch size must be positive")
            checks.check_integers(torch, (count + 1,), cu_seqlens_q=offsets, cu_seqlens_k=self.cum_seq_k)
            checks.check_integers(torch, (count,), seqused_k=self.seqused_k)
            checks.check_dimensions(3, query=self.query)
            checks.check_dimensions(3 if table is None else 4, key=self.key)
            if table is not None:
                checks.check_table(torch, table, count, self.key.size(1))
            checks.check_shape("k", self.key, *self.key.shape[:-1], self.query.size(-1))
        checks.check_shape("v", self.value, *self.key.shape)

    def check_like_query(self, **tensors: Tensor) -> None:
        checks.check_devices(self.query, *tensors.values())
        checks.check_types(self.torch, self.query, **tensors)
        for name, tensor in tensors.items():
            checks.check_shape(name, tensor, *self.query.shape)

    def output(self) -> tuple[Tensor, Tensor]:
        """The output in single precision, and the logarithms of the sums: (heads, rows), or (sequences, heads, length) if dense."""
        scores = self._scores
        output, sums = scores.in_steps(scores.output, *self._inputs)
        return self._queries.packed(self._rows(output, self._queries), len(self.query)), self._packed_sums(sums)

    def gradients(self, gradient: Tensor, output: Tensor, sums: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The gradients of the query, the key and the value, in single precision."""
        scores, of_queries = self._scores, (self._batches(tensor, self._queries) for tensor in (output, gradient))
        computed = scores.in_steps(scores.gradients, *self._inputs, self._filled_sums(sums), *of_queries)
        owners = self._queries, self._keys, self._keys
        arguments = self.query, self.key, self.value
        of_query, of_key, of_value = (
            owner.packed(self._rows(batches, owner), len(argument))
            for batches, owner, argument in zip(computed, owners, arguments)
        )
        return of_query, of_key, of_value

    @property
    def _heads(self) -> tuple[int, int]:
        """The number of heads of the keys, and how many heads of the queries share each of them."""
        heads = self.key.size(-2)
        return heads, self.query.size(-2) // heads

    @cached_property
    def _queries(self) -> Sequences:
        if self.cum_seq_q is None:
            return sequences.dense(self.torch, self.query)
        return sequences.packed(self.torch, self.query, self.cum_seq_q, self.max_q)

    @cached_property
    def _keys(self) -> Sequences:
        if self.cum_seq_k is None:
            return sequences.dense(self.torch, self.key)
        if self.block_table is None:
            return sequences.packed(self.torch, self.key, self.cum_seq_k, self.max_k, self.seqused_k)
        lengths = self.cum_seq_k.diff() if self.seqused_k is None else self.seqused_k
        return sequences.paged(self.torch, self.key, self.block_table, lengths, self.max_k)

    @property
    def _scores(self) -> Scores:
        scale = self.query.size(-1) ** -0.5 if self.scale is None else self.scale
        return Scores(self.torch, self._queries.longest, self._keys.longest, scale, *self._window)

    @property
    def _window(self) -> tuple[int, int]:
        """As CUDA's kernels see it: below 0 there is no limit."""
        longest = self.max_k if self.cum_seq_k is not None else self.key.size(1)
        left = -1 if self.window_size_left is None else self.window_size_left
        right = -1 if self.window_size_right is None else self.window_size_right
        right = 0 if self.is_causal else right
        left, right = (-1 if limit >= longest else limit for limit in (left, right))
        # So the first of many queries see nothing if there are few keys.
        return left, longest if left >= 0 > right else right

    @property
    def _inputs(self) -> list[Tensor]:
        keys = [self._batches(tensor, self._keys) for tensor in (self.key, self.value)]
        lengths = [self._of_batches(owner.lengths) for owner in (self._queries, self._keys)]
        return [self._batches(self.query, self._queries), *keys, *lengths]

    def _of_batches(self, lengths: Tensor) -> Tensor:
        return lengths[:, None].expand(-1, self._heads[0]).reshape(-1)

    def _batches(self, tensor: Tensor, owner: Sequences) -> Tensor:
        """(sequences * heads of keys, group * longest, size), in single precision."""
        filled, heads = owner.filled(tensor), self._heads[0]
        count, longest, all_heads, size = filled.shape
        grouped = filled.view(count, longest, heads, all_heads // heads, size).permute(0, 2, 3, 1, 4)
        return grouped.reshape(count * heads, all_heads // heads * longest, size).float()

    def _rows(self, batches: Tensor, owner: Sequences) -> Tensor:
        """(sequences, longest, heads, size) again."""
        heads, size = self._heads[0], batches.size(-1)
        count, longest = len(owner.lengths), owner.longest
        group = self._heads[1] if owner is self._queries else 1
        grouped = batches.view(count, heads, group, longest, size).permute(0, 3, 1, 2, 4)
        return grouped.reshape(count, longest, heads * group, size)

    def _packed_sums(self, sums: Tensor) -> Tensor:
        queries = self._queries
        by_head = sums.view(len(queries.lengths), self.query.size(-2), queries.longest)
        if self.cum_seq_q is None:
            return by_head
        return queries.packed(by_head.transpose(1, 2), len(self.query), inf).t().contiguous()

    def _filled_sums(self, sums: Tensor) -> Tensor:
        """Those behind the end of a sequence are infinite, which makes all weights zero."""
        queries = self._queries
        by_head = sums if self.cum_seq_q is None else queries.filled(sums.t(), inf).transpose(1, 2)
        heads, group = self._heads
        return by_head.reshape(len(queries.lengths) * heads, group * queries.longest)
