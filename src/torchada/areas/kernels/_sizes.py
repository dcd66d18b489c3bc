"""The sizes of results, as `fit` in `_gates/csrc/gate.h` works them out.

PyTorch's own kernels for `meta` tensors are no help: the first one imports torch.compile. A backward pass calls it in a thread of
its own, and Inductor does not survive being imported there.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest
from typing import Any

Size = tuple[int, ...]


def of_pair(a: Any, b: Any) -> Size | None:
    """Of two tensors, or of one and a number; None where they do not fit together: the kernel says what is wrong."""
    shapes = (reversed(getattr(value, "shape", ())) for value in (a, b))
    pairs = list(zip_longest(*shapes, fillvalue=1))[::-1]
    if any(one != other and 1 not in (one, other) for one, other in pairs):
        return None
    return tuple(other if one == 1 else one for one, other in pairs)


def of_product(*arguments: Any) -> Size | None:
    """Of matrices, vectors or batches of matrices, after what they are added to; None as for pairs."""
    a, b = arguments[-2:]
    if b.dim() == 0 or a.dim() < b.dim() or a.shape[-1] != b.shape[0 if b.dim() == 1 else -2]:
        return None
    return (*a.shape[:-1], *(b.shape[-1:] if b.dim() > 1 else ()))


def of_reduction(x: Any, dims: Any = None, keepdim: bool = False) -> Size | None:
    """Over `dims`, or over all; None where there is no such dimension."""
    rank = max(x.dim(), 1)
    named = (dims,) if isinstance(dims, int) else tuple(dims or range(x.dim()))
    if any(not -rank <= dim < rank for dim in named):
        return None
    gone = {dim % rank for dim in named}
    return tuple(1 if dim in gone else size for dim, size in enumerate(x.shape) if keepdim or dim not in gone)


KINDS: dict[str, Callable[..., Size | None]] = {"pairwise": of_pair, "product": of_product, "reduced": of_reduction}
