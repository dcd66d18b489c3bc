"""Operators whose kernels the backend has for fewer data types than CUDA: those of the other types are computed in another way.

torch_musa 2.7.1 makes no ranges of doubles, for instance, and takes no gradient of `avg_pool2d` in half precision
(csrc/aten/ops). Halves are computed in single precision on the device, everything else on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels._gates import rules
from torchada.areas.kernels._selection import Gated, Selection, need_own_kernels
from torchada.areas.kernels._substitutes import Range, elsewhere
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

if TYPE_CHECKING:
    from torch._C import DispatchKeySet

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
        replacements[name] = elsewhere(torch, name), "single precision for halves, the CPU for other types"
    for name, (replacement, how) in replacements.items():
        to = f"{how}, where {context.backend.adapter}'s kernel refuses a data type"
        yield Patch(kernels, name, _Kernel(context, name, replacement), None, "emulated", to, note=f"aten::{name}")


class _Kernel(Gated):
    """One operator: the backend's kernel, and `replacement` for the data types that it has refused."""

    rule = rules.REFUSED

    def __init__(self, context: Context, name: str, replacement: Function) -> None:
        super().__init__(context, name)
        self._replacement = replacement
        self._refused: set[tuple[Any, ...]] = set()
        torch = context.torch
        self._common = {torch.float32, torch.int64, torch.int32, torch.bool}

    @property
    def state(self) -> str:
        """What `torchada status` says of the kernel."""
        adapter = self._context.backend.adapter
        if not self._refused:
            return f"{adapter}'s kernel has refused no data type"
        types = sorted({str(dtype).removeprefix("torch.") for refused in self._refused for dtype in refused[1:]})
        return f"{adapter}'s kernel has refused {', '.join(types)}"

    def __call__(self, keys: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        if self._refused and self._types(args, kwargs) in self._refused:
            return self._replacement(*args, **kwargs)
        try:
            return self._own(keys)(*args, **kwargs)
        except RuntimeError as error:
            types = self._types(args, kwargs)
            if types is None or isinstance(error, self._context.torch.OutOfMemoryError):
                raise
            refusal = error
        try:
            result = self._replacement(*args, **kwargs)
        except Exception:
            # The data type was not the reason, or the replacement does not support it either.
            raise refusal from None
        # Types that every kernel takes were refused for another reason, such as nine dimensions, and are tried again next time.
        if not self._common.issuperset(types[1:]):
            self._refused.add(types)
        return result

    def _types(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
        """Whether all tensors are dense, and then their data types; None unless all are on one device of the backend."""
        torch = self._context.torch
        tensors = [argument for argument in (*args, *kwargs.values()) if isinstance(argument, torch.Tensor)]
        devices = {tensor.device for tensor in tensors}
        if len(devices) != 1 or devices.pop().type != self._context.backend.device_type:
            return None
        # Kernels of other tensors call this one, or another, for what those are made of.
        is_dense = all(tensor.layout == torch.strided and not tensor.is_nested for tensor in tensors)
        return is_dense, *(tensor.dtype for tensor in tensors)
