"""nn.TransformerEncoder with src_key_padding_mask in evaluation: torch packs the sequences into a nested tensor, for any backend.

torch_musa 2.7.1 makes nested tensors of padded ones and back, but has the kernel of a layer for ordinary tensors only
(musa_functions.yaml), where torch would raise NotImplementedError. It is given one for nested tensors.

Where the backend has no nested tensors at all, torch gets the answer that the mask is not aligned to the left, and so goes on with
padded tensors. An encoder that was made with `mask_check=False` checks its mask as well. Padded positions are then computed,
whereas nested tensors leave zeros there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Concatenate

from torchada.areas.kernels._overloads import overload
from torchada.areas.kernels._selection import Selection
from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.dispatch_keys import DispatchKeys
from torchada.redirect.engine import Patch, Skip

if TYPE_CHECKING:
    from torch._C import DispatchKeySet
    from torch.nn import TransformerEncoder

    from torchada.redirect.types import P, Tensor

_LAYER = "_transformer_encoder_layer_fwd"
_BACK = "to_padded_tensor"  # the last kernel that the encoder needs
_KEYS_ARE_MASKED = 1  # a layer's `mask_type`


def patches(context: Context) -> Iterator[Patch]:
    has_kernel = context.torch._C._dispatch_has_kernel_for_dispatch_key
    key = DispatchKeys(context).names.get("NestedTensorCUDA")
    if key is None or not has_kernel(f"aten::{_BACK}", key):
        yield from _padded(context)
    elif has_kernel(f"aten::{_LAYER}", key):
        raise Skip("the backend has kernels for nested tensors")
    else:
        note = "nn.TransformerEncoder(src_key_padding_mask=...)"
        layer = _Layer(context.torch, key)
        yield Patch(Selection(context), _LAYER, layer, None, "emulated", "a layer of padded tensors", note=note)


class _Layer:
    """The kernel of a layer for nested tensors: they are padded up to the longest one, and what was added is masked."""

    def __init__(self, torch: Any, key: str) -> None:
        self._torch, self.key = torch, key

    @cached_property
    def _parameters(self) -> int:
        return len(overload(self._torch, _LAYER)._schema.arguments) - len(("src", "mask", "mask_type"))

    def __call__(self, keys: DispatchKeySet, src: Tensor, *arguments: Any) -> Tensor:
        torch, parameters = self._torch, arguments[: self._parameters]
        if any(option is not None for option in arguments[self._parameters :]):
            raise RuntimeError("NestedTensor with mask is not supported yet")  # PyTorch's words
        padded = src.to_padded_tensor(0.0)
        lengths = torch.tensor([len(sequence) for sequence in src.unbind()], device=src.device)
        padding = torch.arange(padded.size(1), device=src.device) >= lengths[:, None]
        computed = getattr(torch, _LAYER)(padded, *parameters, padding, _KEYS_ARE_MASKED)
        cut: Tensor = torch._nested_tensor_from_mask(computed, ~padding, mask_check=False)
        return cut


def _padded(context: Context) -> Iterator[Patch]:
    """Patches by which an encoder goes on with padded tensors."""
    torch = context.torch
    aligned = _left_aligned(context, torch._nested_tensor_from_mask_left_aligned)
    note = "nn.TransformerEncoder(src_key_padding_mask=...)"
    for owner in (torch, torch._C._VariableFunctionsClass):
        yield Patch(owner, "_nested_tensor_from_mask_left_aligned", aligned, None, "emulated", note=note)
    encoder = torch.nn.TransformerEncoder
    made = _checking_mask(encoder.__init__)
    yield Patch(encoder, "__init__", made, None, "emulated", note="nn.TransformerEncoder(mask_check=False)")


def _left_aligned(context: Context, original: Callable[[Tensor, Tensor], bool]) -> Callable[[Tensor, Tensor], bool]:
    device_type = context.backend.device_type

    def _nested_tensor_from_mask_left_aligned(t: Tensor, mask: Tensor) -> bool:
        return t.device.type != device_type and original(t, mask)

    return disguise(_nested_tensor_from_mask_left_aligned, original)


def _checking_mask(
    original: Callable[Concatenate[TransformerEncoder, P], None],
) -> Callable[Concatenate[TransformerEncoder, P], None]:
    def __init__(self: TransformerEncoder, *args: P.args, **kwargs: P.kwargs) -> None:
        original(self, *args, **kwargs)
        self.mask_check = True

    return disguise(__init__, original)
