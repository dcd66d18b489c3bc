"""Products of groups of matrices of eight-bit floating-point numbers, which torch_musa has since 2.9.1 (GroupedMatmul.cpp).

Those of wider types need nothing here: PyTorch's own kernel, which is not CUDA's, calls the device's products.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from musasim.base import release

from ..device import get_device_capability

_NAME = "_scaled_grouped_mm"
_ALIGNED = 16
_library: Any = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]


def _scaled_grouped_mm(
    left: Tensor,
    right: Tensor,
    left_scale: Tensor,
    right_scale: Tensor,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    scale_result: Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    use_fast_accum: bool = False,
) -> Tensor:
    """`offs` has the end of each group, in the dimension that the two-dimensional operands share out."""
    _check_device(left)
    _check_shapes(left, right)
    _check_rest(left, right, offs, bias, scale_result)
    _check_types(left, right, left_scale, right_scale, out_dtype)
    ends = [] if offs is None else offs.tolist()
    out = left.new_empty(_sizes(left, right, len(ends)), dtype=torch.bfloat16)
    for number, (part, of_left, of_right) in enumerate(_groups(left, right, ends)):
        rows = _scale(left_scale, number, part, left, other=right, name="scale_a")
        columns = _scale(right_scale, number, part, right, other=left, name="scale_b")
        product = (of_left.float() * rows.reshape(-1, 1)) @ (of_right.float() * columns.reshape(1, -1))
        _place(out, left, right, number, part).copy_(product)
    return out


def _check_device(left: Tensor) -> None:
    if get_device_capability(left.device) < (3, 1):
        raise RuntimeError("scaled_grouped_gemm is only supported for MUSA_ARCH >= 310")


def _check_shapes(left: Tensor, right: Tensor) -> None:
    for name, given in ("mat_a", left), ("mat_b", right):
        if given.dim() not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d")
    if _is_transposed(left):
        raise RuntimeError("Expected mat1 to not be transposed")
    if not _is_transposed(right):
        raise RuntimeError("Expected mat2 to be transposed")
    if (left.dim(), right.dim()) != (2, 2) and left.shape[-1] != right.shape[-2]:
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    if left.shape[-1] % _ALIGNED:
        raise RuntimeError(
            f"Expected trailing dimension of mat_a to be divisible by 16 but got mat1 shape: ({list(left.shape)})."
        )
    if any(size % _ALIGNED for size in right.shape[-2:]):
        raise RuntimeError(f"Expected mat_b shape to be divisible by 16 but got mat_b shape: ({list(right.shape)}).")


def _is_transposed(given: Tensor) -> bool:
    """Whether columns lie together, not rows. Neither is refused, and so are rows that do not begin at multiples of 16 bytes."""
    if given.data_ptr() % _ALIGNED:
        raise RuntimeError("expected data_ptr to be aligned to 16 bytes")
    (rows, columns), (down, along) = given.shape[-2:], given.stride()[-2:]
    transposed = down == 1 and along >= max(1, rows)
    if not transposed and not (along == 1 and down >= max(1, columns)):
        raise RuntimeError(
            f"Invalid strides/sizes, got {list(given.stride())} for strides and {list(given.shape)} for sizes"
        )
    if (along if transposed else down) * given.element_size() % _ALIGNED:
        raise RuntimeError("strides should be multiple of 16 bytes")
    return transposed


def _check_rest(
    left: Tensor, right: Tensor, offs: Tensor | None, bias: Tensor | None, scale_result: Tensor | None
) -> None:
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if scale_result is not None:
        raise RuntimeError("Scale result not supported yet")
    if (offs is not None) != (2 in (left.dim(), right.dim())):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix")
    if offs is not None and offs.dim() != 1:
        raise RuntimeError("offs has to be 1D")
    if offs is not None and offs.dtype != torch.int32:
        raise RuntimeError("Offsets have to be int32")


def _check_types(
    left: Tensor, right: Tensor, left_scale: Tensor, right_scale: Tensor, out_dtype: torch.dtype | None
) -> None:
    if {left_scale.dtype, right_scale.dtype} != {torch.float32}:
        raise RuntimeError("For MUSA grouped scaled gemm, both scales must be float32 tensors.")
    for name, given in ("mat_a", left), ("mat_b", right):
        if not (given.dtype.is_floating_point and given.element_size() == 1):
            raise RuntimeError(f"Expected {name} to be Float8 matrix got {given.dtype}")
    if out_dtype not in (None, torch.bfloat16):
        raise RuntimeError("Only bf16 high precision output types are supported for grouped gemm")


def _sizes(left: Tensor, right: Tensor, groups: int) -> tuple[int, ...]:
    rows, columns = left.shape[-2], right.shape[-1]
    if left.dim() != right.dim():
        return rows, columns
    return (groups if left.dim() == 2 else left.shape[0]), rows, columns


def _groups(left: Tensor, right: Tensor, ends: list[int]) -> Iterator[tuple[slice, Tensor, Tensor]]:
    """Of each group: its part of the dimension that is shared out, and the two matrices."""
    count = (
        len(ends) if left.dim() == right.dim() == 2 else max(each.shape[0] for each in (left, right) if each.dim() == 3)
    )
    begins = [0, *ends]
    for number in range(count):
        part = slice(begins[number], ends[number]) if ends else slice(None)
        if left.dim() == right.dim() == 2:
            yield part, left[:, part], right[part]
        else:
            yield (
                part,
                left[number] if left.dim() == 3 else left[part],
                right[number] if right.dim() == 3 else right[:, part],
            )


def _scale(scale: Tensor, number: int, part: slice, of: Tensor, other: Tensor, name: str) -> Tensor:
    """The factors of one group: all of a single one, some of a row, or the row of the group."""
    if scale.numel() == 1:
        return scale
    if scale.dim() == 2:
        return scale[number]
    if scale.dim() != 1:
        raise RuntimeError(f"{name} must be 1D or 2D for grouped matmul, but got {scale.dim()}D")
    if of.dim() == other.dim() == 2:
        length = of.shape[0 if name == "scale_a" else 1]
        return scale[number * length : (number + 1) * length]
    return scale[part]


def _place(out: Tensor, left: Tensor, right: Tensor, number: int, part: slice) -> Tensor:
    if left.dim() == right.dim():
        return out[number]
    return out[part] if left.dim() == 2 else out[:, part]


# It is there already when the module is loaded again.
if release.since("2.9.1") and not torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{_NAME}", "PrivateUse1"):
    _library.impl(_NAME, _scaled_grouped_mm, "PrivateUse1")
