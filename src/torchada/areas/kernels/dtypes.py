"""Operators whose kernels the backend has for fewer data types than CUDA: those of the other types are computed in another way.

torch_musa 2.7.1 makes no ranges of doubles, for instance, and takes no gradient of `avg_pool2d` in half precision
(csrc/aten/ops). Halves are computed in single precision on the device, everything else on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels._selection import Refusing, Selection, need_own_kernels
from torchada.areas.kernels._substitutes import Range, elsewhere
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

if TYPE_CHECKING:
    Function = Callable[..., Any]

_OPERATORS = (
    *("avg_pool2d_backward", "avg_pool2d_backward.grad_input"),
    *("bucketize.Tensor", "bucketize.Tensor_out", "histc", "histc.out", "bincount"),
    *("norm.ScalarOpt_dim", "norm.out", "norm.ScalarOpt_dim_dtype", "norm.dtype_out"),
    # Gradients are clipped by a norm that is often summed up in double precision, as in DeepSpeed's ZeRO-3.
    *(f"{name}{form}" for name in ("clamp", "clamp_min", "clamp_max") for form in ("", "_", ".out")),
    *("convolution_overrideable", "convolution_backward_overrideable"),
    *("native_layer_norm", "native_layer_norm_backward", "native_group_norm", "native_group_norm_backward"),
    *("native_batch_norm", "native_batch_norm_backward", "batch_norm_backward"),
    *("_native_batch_norm_legit", "_native_batch_norm_legit.no_stats", "_batch_norm_with_update"),
    *("native_dropout", "native_dropout_backward"),
    *("_softmax_backward_data", "_log_softmax_backward_data"),
    *("hardtanh", "hardtanh_", "hardtanh.out"),
    *("addcdiv", "addcdiv_", "addcdiv.out", "baddbmm", "baddbmm_", "baddbmm.out"),
)


def patches(context: Context) -> Iterator[Patch]:
    need_own_kernels(context)
    if not context.settings.all_dtypes:
        raise Skip("TORCHADA_ALL_DTYPES=0 leaves them to the backend")
    kernels, torch = Selection(context), context.torch
    of_range = "a range of whole numbers, on the device"
    replacements: dict[str, tuple[Function, str]] = {"arange.start_out": (Range(torch), of_range)}
    for name in _OPERATORS:
        replacements[name] = elsewhere(context, name), "single precision for halves, the CPU for other types"
    for name, (replacement, how) in replacements.items():
        to = f"{how}, where {context.backend.adapter}'s kernel refuses a data type"
        yield Patch(kernels, name, Refusing(context, name, replacement), None, "emulated", to, note=f"aten::{name}")
