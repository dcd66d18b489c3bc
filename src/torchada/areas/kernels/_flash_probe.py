"""Whether a backend's kernel of flash attention agrees with ours, on small examples with sequences of different lengths."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

_QUERIES, _KEYS, _SIZE, _PAGE = (0, 2, 5), (0, 3, 7), 8, 256


class Example:
    """Arguments that have these features. Without a window of one on each side, queries see the keys up to their own place."""

    def __init__(self, torch: Any, device: Any, features: tuple[str, ...]) -> None:
        self._torch, self._device = torch, device
        is_packed, is_paged, window = "packed" in features, "block_table" in features, "window" in features
        query, key = ((5, 2, _SIZE), (7, 1, _SIZE)) if is_packed else ((2, 3, 2, _SIZE), (2, 4, 1, _SIZE))
        key = (2, _PAGE, 1, _SIZE) if is_paged else key
        offsets = (_QUERIES, (0, _PAGE, 2 * _PAGE) if is_paged else _KEYS) if is_packed else (None, None)
        lengths = [None if values is None else self._integers(*values) for values in offsets]
        tensors = [self._numbers(*shape) for shape in (query, key, key)]
        self.out, self.gradient = self._numbers(*query), self._numbers(*query)
        self.inputs = (*tensors, *lengths, 3, _PAGE if is_paged else 4)
        self.rest = 0.0, not window, False
        sides = ("window_size_left", "window_size_right")
        self.options: dict[str, Any] = {"scale": 0.5, **dict.fromkeys(sides, 1 if window else -1)}
        self.used = {"seqused_k": self._integers(2, 3)} if is_paged or "seqused_k" in features else {}
        if is_paged:
            self.used["block_table"] = self._integers(1, 0).view(2, 1)

    def forward(self, kernel: Callable[..., Any]) -> list[Tensor]:
        """The output and the sums."""
        return list(kernel(*self.inputs, *self.rest, **self.options, **self.used)[:2])

    def in_place(self, kernel: Callable[..., Any]) -> list[Tensor]:
        """The same, of the operator that writes to a tensor."""
        sums = kernel(self.out, *self.inputs, *self.rest, **self.options, **self.used)
        return [self.out.clone(), sums]

    def backward(self, kernel: Callable[..., Any], forward: Callable[..., Any]) -> list[Tensor]:
        """The gradients, where `forward` has made the output and the sums."""
        tensors, lengths = self.inputs[:3], self.inputs[3:]
        output, sums, *random, _ = forward(*self.inputs, *self.rest, **self.options)
        return list(kernel(self.gradient, *tensors, output, sums, *lengths, *self.rest[:2], *random, **self.options))

    def _numbers(self, *shape: int) -> Tensor:
        numbers: Tensor = self._torch.arange(prod(shape), device=self._device) * 37 % 101
        return (numbers.float() / 25 - 2).half().view(shape)

    def _integers(self, *numbers: int) -> Tensor:
        made: Tensor = self._torch.tensor(numbers, dtype=self._torch.int32, device=self._device)
        return made


def agree(torch: Any, computed: list[Any], wanted: list[Tensor]) -> bool:
    """Whether the results are equal, up to the rounding of half precision."""
    for one, other in zip(computed, wanted, strict=True):
        if one is None or (one.shape, one.dtype) != (other.shape, other.dtype):
            return False
        if not torch.allclose(one.cpu().float(), other.cpu().float(), rtol=1e-2, atol=1e-2):
            return False
    return True
