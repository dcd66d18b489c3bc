"""torch.nn.functional.embedding_bag where a gradient is asked for.

torch_musa 2.7.1's kernel takes no `per_sample_weights`, does not say where a maximum was, which the gradient needs, counts
elements at `padding_idx` in means, and computes in single precision only (EmbeddingBag.cpp). Its other kernel, for bags without
gradients, is CUDA's and returns the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from torchada.areas.kernels._selection import Kernel, Selection, need_own_kernels
from torchada.areas.kernels._verdicts import Function, Verdicts
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

_NAME, _OTHER = "_embedding_bag", "_embedding_bag_forward_only"


def patches(context: Context) -> Iterator[Patch]:
    need_own_kernels(context)
    other = getattr(context.torch.ops.aten, _OTHER).default
    kernel = Kernel(context, _NAME, other, partial(_is_right, context.torch), Verdicts(context))
    to = f"{_OTHER}, where {context.backend.adapter}'s kernel is not right"
    yield Patch(Selection(context), _NAME, kernel, None, "emulated", to, note="torch.nn.functional.embedding_bag")


def _is_right(torch: Any, kernel: Function, device: Any) -> bool:
    """Whether it weighs samples, finds maxima, leaves out padding, and takes halves."""
    weight = torch.tensor([[1.0], [4.0], [2.0]], device=device)
    indices, offsets = (torch.tensor(values, device=device) for values in ([0, 1, 2], [0]))
    scale_by_frequency, sparse, last_offset, total, mean, maximum = False, False, False, 0, 1, 2
    rest = last_offset, -1
    samples = torch.tensor([2.0, 0.5, 0.0], device=device)
    weighed = kernel(weight, indices, offsets, scale_by_frequency, total, sparse, samples, *rest)[0]
    places = kernel(weight, indices, offsets, scale_by_frequency, maximum, sparse, None, *rest)[3]
    sizes = kernel(weight, indices, offsets, scale_by_frequency, mean, sparse, None, last_offset, 1)[2]
    halves = kernel(weight.half(), indices, offsets, scale_by_frequency, total, sparse, None, *rest)[0]
    return [result.item() for result in (weighed, places, sizes, halves)] == [4.0, 1, 2, 7.0]
