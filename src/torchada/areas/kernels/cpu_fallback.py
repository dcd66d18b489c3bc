"""Operators that CUDA has and the backend has not: they are computed on the CPU, with copies there and back.

The list is of what torch_musa 2.7.1 does not register (musa_functions.yaml); 2.9.1 has nearly all of it, and keeps its kernels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels._overloads import overload
from torchada.areas.kernels._selection import Selection
from torchada.redirect.context import Context
from torchada.redirect.dispatch_keys import DispatchKeys
from torchada.redirect.engine import Patch, Skip

if TYPE_CHECKING:
    from torch import Tensor
    from torch._C import DispatchKeySet

_POLYNOMIALS = (
    *("chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w"),
    *("hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"),
    *("shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u"),
    *("shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w"),
)
_BESSEL = (
    *("modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1"),
    *("scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0"),
)
_OPERATORS = (
    *("_int_mm", "_int_mm.out", "linalg_matrix_exp", "_logcumsumexp", "_logcumsumexp.out"),
    *("nonzero_static", "nonzero_static.out", "segment_reduce", "_segment_reduce_backward"),
    *("_jagged_to_padded_dense_forward", "_padded_dense_to_jagged_forward"),
    *("_fused_adagrad_", "_fused_adagrad_.tensor_lr", "hash_tensor", "hash_tensor.out"),
    *("_weight_int8pack_mm", "_to_sparse_csr", "_to_sparse_csc", "_to_sparse_bsr", "_to_sparse_bsc"),
    # Neither has any release that was read. Convolutions by other names come to the backend's own kernel.
    *("slow_conv_dilated2d", "slow_conv_dilated3d", "slow_conv_transpose3d"),
    # PyTorch makes the result, and calls the variant that fills it.
    *(f"special_{name}.out" for name in (*_POLYNOMIALS, *_BESSEL)),
)


def patches(context: Context) -> Iterator[Patch]:
    key = DispatchKeys(context).names.get("CUDA")
    lacking = [name for name in _OPERATORS if key is not None and _is_lacking(context, name, key)]
    if key is None or not lacking:
        raise Skip("the backend has them all")
    kernels = Selection(context)
    for name in lacking:
        kernel = _OnTheCpu(context, name, key)
        yield Patch(kernels, name, kernel, None, "emulated", "the CPU", note="torch.ops.aten, on the CPU")


def _is_lacking(context: Context, name: str, key: str) -> bool:
    native, operator = context.torch._C, f"aten::{name}"
    has_kernel = native._dispatch_has_kernel_for_dispatch_key
    return native._dispatch_has_kernel(operator) and has_kernel(operator, "CPU") and not has_kernel(operator, key)


class _OnTheCpu:
    """One operator's kernel."""

    def __init__(self, context: Context, name: str, key: str) -> None:
        self.key = key
        self._context, self._torch, self._name = context, context.torch, name

    @cached_property
    def _operator(self) -> Any:
        # All overloads: a number that PyTorch has made a tensor of arrives here as a number again.
        return getattr(self._torch.ops.aten, self._name.partition(".")[0])

    @cached_property
    def _written(self) -> list[int]:
        arguments = overload(self._torch, self._name)._schema.arguments
        return [place for place, argument in enumerate(arguments) if argument.is_write and not argument.is_out]

    def __call__(self, keys: DispatchKeySet, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Any:
        from torchada.redirect import cpu_fallbacks

        cpu_fallbacks.note(
            self._context, f"aten::{self._name}", f"{self._context.backend.adapter} has no kernel for it"
        )
        here = self._moved([args, kwargs], "cpu")
        if self._written:
            self._operator(*here[0], **here[1])
            return self._written_back(args, here[0])
        if out is None:
            return self._moved(self._operator(*here[0], **here[1]), args[0].device)
        result = self._operator(*here[0], **here[1], out=out.cpu())
        return out.resize_(result.shape).copy_(result)

    def _written_back(self, args: Sequence[Any], here: Sequence[Any]) -> None:
        """The lists of tensors that an optimizer's step has written to."""
        for place in self._written:
            for tensor, written in zip(args[place], here[place], strict=True):
                tensor.copy_(written)

    def _moved(self, value: Any, device: Any) -> Any:
        """`value` with its tensors on `device`."""
        if isinstance(value, self._torch.Tensor):
            return value.to(device)
        if isinstance(value, (list, tuple)):
            return type(value)(self._moved(item, device) for item in value)
        if isinstance(value, dict):
            return {name: self._moved(item, device) for name, item in value.items()}
        return value
