"""Operators whose kernels the backend has for fewer data types than CUDA: those of the other types are computed in another way.

torch_musa 2.7.1 makes no ranges of doubles, for instance, and takes no gradient of `avg_pool2d` in half precision
(csrc/aten/ops). Halves are computed in single precision on the device, everything else on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels._gates import gates
from torchada.areas.kernels._selection import Refusing, Selection, need_own_kernels
from torchada.areas.kernels._substitutes import Range, elsewhere
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

if TYPE_CHECKING:
    from torch import Tensor
    from torch._C import DispatchKeySet

    Function = Callable[..., Any]

_OPERATORS = (
    *("avg_pool2d_backward", "avg_pool2d_backward.grad_input"),
    *("bucketize.Tensor", "bucketize.Tensor_out", "histc", "histc.out", "bincount"),
    *("norm.ScalarOpt_dim", "norm.out", "norm.ScalarOpt_dim_dtype", "norm.dtype_out"),
    *("convolution_overrideable", "convolution_backward_overrideable"),
    *("native_layer_norm", "native_layer_norm_backward", "native_group_norm", "native_group_norm_backward"),
    *("native_batch_norm", "native_batch_norm_backward", "batch_norm_backward"),
    *("_native_batch_norm_legit", "_native_batch_norm_legit.no_stats", "_batch_norm_with_update"),
    *("native_dropout", "native_dropout_backward"),
    *("_softmax_backward_data", "_log_softmax_backward_data"),
    *("hardtanh", "hardtanh_", "hardtanh.out"),
    *("addcdiv", "addcdiv_", "addcdiv.out", "baddbmm", "baddbmm_", "baddbmm.out"),
    *("embedding_dense_backward", "_unique2"),  # with scale_grad_by_freq; of booleans
    *(
        f"{kind}_pad{dimensions}d{form}"
        for kind in ("reflection", "replication")
        for dimensions in (1, 2, 3)
        for form in ("", ".out", "_backward", "_backward.grad_input")
    ),
    # muDNN takes no integers of eight or sixteen bits and no booleans (MUSA_TENSOR_TYPE_CHECK).
    *("abs", "abs_", "abs.out", "neg", "neg_", "neg.out", "relu", "round"),
    # With `antialias`. No type is checked before muDNN is called.
    *("_upsample_bilinear2d_aa", "_upsample_bilinear2d_aa.out", "_upsample_bicubic2d_aa", "_upsample_bicubic2d_aa.out"),
)
# Gradients are clipped by a norm that is often summed up in double precision, as in DeepSpeed's ZeRO-3.
_CLAMPS = tuple(f"{name}{form}" for name in ("clamp", "clamp_min", "clamp_max") for form in ("", "_", ".out"))


def patches(context: Context) -> Iterator[Patch]:
    need_own_kernels(context)
    if not context.settings.all_dtypes:
        raise Skip("TORCHADA_ALL_DTYPES=0 leaves them to the backend")
    kernels, torch = Selection(context), context.torch
    of_range = "a range of whole numbers, on the device"
    replacements: dict[str, tuple[Function, str]] = {"arange.start_out": (Range(torch), of_range)}
    elsewhere_too = "single precision for halves, the CPU for other types"
    for name in (*_OPERATORS, *_CLAMPS):
        replacements[name] = elsewhere(context, name), elsewhere_too
    for name, (replacement, how) in replacements.items():
        to = f"{how}, where {context.backend.adapter}'s kernel refuses a data type"
        kind = _Clamp if name in _CLAMPS else Refusing
        yield Patch(kernels, name, kind(context, name, replacement), None, "emulated", to, note=f"aten::{name}")


class _Clamp(Refusing):
    """Of integers and a bound with a fraction: the result has a floating type. torch_musa 2.7.1 cuts the bound off (Clamp.cpp)."""

    rule = gates.REFUSED | gates.FRACTIONAL

    def __call__(self, keys: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        self_, *bounds = args
        fraction = next((bound for bound in (*bounds, *kwargs.values()) if isinstance(bound, float)), None)
        is_ours = self_.device.type == self._context.backend.device_type
        if fraction is None or not is_ours or self_.is_floating_point() or self_.is_complex():
            return super().__call__(keys, *args, **kwargs)
        return self._promoted(self_, fraction, *bounds, **kwargs)

    def _promoted(self, self_: Tensor, fraction: float, *bounds: Any, out: Tensor | None = None, **named: Any) -> Any:
        torch = self._context.torch
        if out is None:
            # In place, PyTorch refuses it, in words that the CPU has as well.
            of_nothing = self._operator(torch.empty(0, dtype=self_.dtype), *bounds, **named)
            return self._operator(self_.to(of_nothing.dtype), *bounds, **named)
        self._operator(torch.empty(0, dtype=self_.dtype), *bounds, **named, out=torch.empty(0, dtype=out.dtype))
        wide = self_.to(torch.result_type(self_, fraction))
        result = self._operator(wide, *bounds, **named, out=torch.empty_like(wide))
        return out.resize_(result.shape).copy_(result)
