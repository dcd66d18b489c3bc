"""tl.reduce and tl.associative_scan with a function of the kernel, on whole slices.

The interpreter calls the function for each pair of numbers. It is associative, so that pairs of slices give the same with as many
calls as the length has binary digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter

__all__ = ["entries"]


def _tensor(array: Any, dtype: Any) -> Any:
    block = tl.block_type(dtype.scalar, list(array.shape)) if array.shape else dtype.scalar
    return tl.core.tensor(interpreter.TensorHandle(array if array.shape else array.reshape(1), dtype.scalar), block)


def _combined(combine: Any, left: list[Any], right: list[Any], types: list[Any]) -> list[Any]:
    tensors = [_tensor(array, dtype) for array, dtype in zip(left + right, types * 2)]
    result = combine(*tensors)
    result = result if isinstance(result, tuple) else (result,)
    shape = left[0].shape
    arrays = (part.handle.data if isinstance(part, tl.core.tensor) else np.asarray(part) for part in result)
    return [
        np.broadcast_to(array.reshape(shape) if array.size == left[0].size else array, shape).astype(old.dtype)
        for array, old in zip(arrays, left)
    ]


def _halved(combine: Any, arrays: list[Any], types: list[Any]) -> list[Any]:
    """Combine along the first axis."""
    while (length := arrays[0].shape[0]) > 1:
        even = length - length % 2
        pairs = _combined(combine, [a[0:even:2] for a in arrays], [a[1:even:2] for a in arrays], types)
        arrays = [np.concatenate([pair, a[even:]]) for pair, a in zip(pairs, arrays)]
    return arrays


def _generic_reduce(self: Any, input: tuple[Any, ...]) -> list[Any]:
    types, axis = [tensor.dtype for tensor in input], self.axis
    arrays = [tensor.handle.data for tensor in input]
    rank = arrays[0].ndim
    arrays = [a.reshape(-1) for a in arrays] if axis is None else [np.moveaxis(a, axis, 0) for a in arrays]
    combine = _callable(self.combine_fn)
    results = [a[0] for a in _halved(combine, arrays, types)]
    if self.keep_dims:
        results = [
            a.reshape((1,) * rank) if axis is None else np.expand_dims(a, axis) for a in map(np.asarray, results)
        ]
    return [self.to_tensor(np.asarray(a) if np.ndim(a) else a.item(), dtype) for a, dtype in zip(results, types)]


def _generic_scan(self: Any, input: Any) -> list[Any]:
    types = [tensor.dtype for tensor in input]
    arrays = [np.moveaxis(tensor.handle.data, self.axis, 0) for tensor in input]
    combine, length, step = _callable(self.combine_fn), arrays[0].shape[0], 1
    while step < length:
        # Whole arrays, because a block's length is a power of two; what has no predecessor at this distance keeps its value.
        news = _combined(combine, [np.roll(a, step, 0) for a in arrays], arrays, types)
        arrays = [np.concatenate([old[:step], new[step:]]) for old, new in zip(arrays, news)]
        step *= 2
    return [self.to_tensor(np.moveaxis(a, 0, self.axis), dtype) for a, dtype in zip(arrays, types)]


def _callable(combine: Any) -> Any:
    from musasim.triton.functions import interpreted

    return interpreted(combine)


def _apply(own: Any) -> Any:
    """Up to Triton 3.3 the results are a list, or one tensor where there is one."""

    def apply(self: Any, input: Any) -> Any:
        result = own(self, input)
        results = tuple(result) if isinstance(result, (list, tuple)) else (result,)
        return results if isinstance(input, tuple) else results[0]

    return apply


def entries() -> list[tuple[Any, str, Any]]:
    """What takes the place of the interpreter's methods: class, name, function."""
    return [
        (interpreter.ReduceScanOpInterface, "apply", _apply(interpreter.ReduceScanOpInterface.apply)),
        (interpreter.ReduceOps, "generic_reduce", _generic_reduce),
        (interpreter.ScanOps, "generic_scan", _generic_scan),
    ]
