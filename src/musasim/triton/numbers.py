"""Arithmetic of the narrow floating-point types, which numpy does not have.

The interpreter keeps bfloat16 and float8 as integers of that width, computes with the integers in many places, and rounds in its
own way in others. Here such an operation computes in float32 and rounds the result once, as a GPU does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import triton.language as tl
from triton.runtime import interpreter

from musasim.triton import libdevice

__all__ = ["entries"]

_TORCH_TYPES = {
    "bf16": torch.bfloat16,
    "fp8e4nv": torch.float8_e4m3fn,
    "fp8e5": torch.float8_e5m2,
    "fp8e4b8": torch.float8_e4m3fnuz,
    "fp8e5b16": torch.float8_e5m2fnuz,
}
Handle: Any = interpreter.TensorHandle


def _torch_type(dtype: Any) -> torch.dtype | None:
    return _TORCH_TYPES.get(dtype.scalar.name) if not dtype.scalar.is_ptr() else None


def widened(handle: Any) -> Any:
    """The numbers of a handle, as float32 where numpy has no such type."""
    narrow = _torch_type(handle.dtype)
    if narrow is None:
        return handle.data
    array = np.ascontiguousarray(handle.data)
    if narrow is torch.bfloat16:
        return (array.astype(np.uint32) << 16).view(np.float32)
    return torch.from_numpy(array).view(narrow).float().numpy()


def narrowed(array: Any, dtype: Any) -> Any:
    """float32 numbers as the interpreter keeps `dtype`."""
    narrow = _torch_type(dtype)
    if narrow is None:
        return array.astype(interpreter._get_np_dtype(dtype.scalar))
    values = torch.from_numpy(np.array(array, np.float32, copy=True))
    if narrow.itemsize == 1:
        largest = torch.finfo(narrow).max  # conversions to float8 saturate
        values = torch.where(values.isnan(), values, values.clamp(-largest, largest))
    return values.to(narrow).view(torch.uint8 if narrow.itemsize == 1 else torch.uint16).numpy()


def _cast(self: Any, source: Any, dtype: Any, *rest: Any) -> Any:
    scalar = dtype.scalar
    if _torch_type(source.dtype) is None and _torch_type(scalar) is None:
        return Handle(source.data.astype(interpreter._get_np_dtype(scalar)), scalar)
    return Handle(narrowed(widened(source), scalar), scalar)


def _fp_to_fp(self: Any, source: Any, dtype: Any, rounding: Any = None) -> Any:
    if rounding == interpreter._ir.ROUNDING_MODE.RTZ and _torch_type(dtype) is torch.bfloat16:
        bits = np.ascontiguousarray(widened(source).astype(np.float32)).view(np.uint32)
        return Handle((bits >> 16).astype(np.uint16), dtype.scalar)
    return _cast(self, source, dtype)


def _in_float32(own: Callable[..., Any]) -> Callable[..., Any]:
    """A method of the builder that takes handles and a function of numpy: narrow numbers go through it as float32."""

    def method(self: Any, *operands: Any) -> Any:
        *handles, operation = operands
        if not any(_torch_type(handle.dtype) for handle in handles):
            return _of_its_type(own(self, *operands))
        result = operation(*(widened(handle) for handle in handles))
        dtype = handles[-1].dtype.scalar
        return Handle(result, tl.int1) if result.dtype == bool else Handle(narrowed(result, dtype), dtype)

    return method


def _of_its_type(handle: Any) -> Any:
    """A comparison's result says that it is of its operands' type. A scalar that is made a block then becomes one of numbers."""
    return Handle(handle.data, tl.int1) if handle.data.dtype == bool else handle


def _select(self: Any, condition: Any, left: Any, right: Any) -> Any:
    return Handle(np.where(condition.data, left.data, right.data), right.dtype.scalar)


def _fma(self: Any, x: Any, y: Any, z: Any) -> Any:
    if _torch_type(z.dtype) is None:
        return Handle(x.data * y.data + z.data, z.dtype.scalar)
    return Handle(narrowed(widened(x) * widened(y) + widened(z), z.dtype.scalar), z.dtype.scalar)


def _dot(self: Any, a: Any, b: Any, d: Any, *rest: Any) -> Any:
    left, right = widened(a), widened(b)
    if left.dtype.kind == "f" and left.dtype.itemsize < 4:
        left, right = left.astype(np.float32), right.astype(np.float32)
    elif left.dtype.kind in "iu":
        left, right = left.astype(d.data.dtype), right.astype(d.data.dtype)
    return Handle(narrowed(np.matmul(left, right) + widened(d), d.dtype.scalar), d.dtype.scalar)


def _extern_elementwise(self: Any, name: str, path: str, symbol: str, handles: Any, dtype: Any, pure: bool) -> Any:
    function = libdevice.function(symbol)
    if function is None:
        raise NotImplementedError(f"musasim does not have {symbol} of libdevice")
    arrays = np.broadcast_arrays(*(widened(handle) for handle in handles))
    return Handle(narrowed(np.asarray(function(*arrays)), dtype.scalar), dtype.scalar)


def _refuse_assembly(self: Any, assembly: str, *rest: Any) -> Any:
    raise NotImplementedError(f"inline assembly for NVIDIA GPUs cannot run on a MUSA device: {assembly.strip()!r}")


def _get_bf16(self: Any, value: float) -> Any:
    return scalar(value, tl.bfloat16)


def _atomic_rmw(own: Callable[..., Any]) -> Callable[..., Any]:
    """The builder's method, which would add the bits of narrow numbers."""

    def create_atomic_rmw(self: Any, operation: Any, pointers: Any, value: Any, mask: Any, *rest: Any) -> Any:
        dtype = value.dtype.scalar
        exchanges = operation == interpreter._ir.ATOMIC_OP.XCHG
        if exchanges and value.data.dtype.kind == "f":  # the interpreter exchanges integers alone
            bits = {4: tl.uint32, 8: tl.uint64}[value.data.dtype.itemsize]
            given = Handle(value.data.view(f"u{value.data.dtype.itemsize}"), bits)
            old = own(self, operation, pointers, given, mask, *rest)
            return Handle(old.data.view(value.data.dtype), dtype)
        if _torch_type(dtype) is None or exchanges:
            return own(self, operation, pointers, value, mask, *rest)
        if operation != interpreter._ir.ATOMIC_OP.FADD:
            raise NotImplementedError(f"atomic {operation} is for integers and for float32, not for {dtype}")
        before = np.zeros(pointers.data.shape, value.data.dtype)
        for place in np.ndindex(pointers.data.shape):
            if np.broadcast_to(mask.data, pointers.data.shape)[place]:
                before[place] = _add(pointers.data[place], value.data[place], dtype)
        return Handle(before, dtype)

    return create_atomic_rmw


def _add(address: Any, value: Any, dtype: Any) -> Any:
    """Add one number to the one at `address`; return what was there."""
    where, always = np.array([address], np.uint64), np.ones(1, bool)
    old = interpreter._interpreter.load(where, always, np.zeros(1, value.dtype), value.dtype)
    total = widened(Handle(np.asarray(old), dtype)) + widened(Handle(np.array([value]), dtype))
    interpreter._interpreter.store(where, narrowed(total, dtype), always)
    return old[0]


def entries() -> dict[str, Any]:
    """Methods of the interpreter's builder, by name."""
    builder = interpreter.InterpreterBuilder
    return {
        **{name: _in_float32(vars(builder)[name]) for name in ("binary_op", "unary_op", "ternary_op")},
        "cast_impl": _cast,
        "create_fp_to_fp": _fp_to_fp,
        "create_select": _select,
        "create_fma": _fma,
        "create_dot": _dot,
        "create_atomic_rmw": _atomic_rmw(builder.create_atomic_rmw),
        "get_bf16": _get_bf16,
        "create_extern_elementwise": _extern_elementwise,
        "create_inline_asm": _refuse_assembly,
    }


def scalar(value: Any, dtype: Any) -> Any:
    """A number of a launch as the interpreter keeps it."""
    array = np.array([value])
    if dtype.is_floating():
        return Handle(narrowed(array.astype(np.float64 if dtype is tl.float64 else np.float32), dtype), dtype)
    return Handle(array.astype(interpreter._get_np_dtype(dtype)), dtype)
