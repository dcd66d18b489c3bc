"""nn.TransformerEncoder with src_key_padding_mask in evaluation: torch packs the sequences into a nested tensor, for any backend.

Where the backend has no kernels for nested tensors (torch_musa has them from 2.9 on), torch gets the answer that the mask is not
aligned to the left, and so goes on with padded tensors. An encoder that was made with `mask_check=False` checks its mask as well.
Padded positions are then computed, whereas nested tensors leave zeros there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Concatenate

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.names.dispatch_keys import DispatchKeys

if TYPE_CHECKING:
    from torch.nn import TransformerEncoder

    from torchada.redirect.types import P, Tensor

_KERNEL = "aten::to_padded_tensor"  # the last kernel that the encoder needs


def patches(context: Context) -> Iterator[Patch]:
    torch = context.torch
    key = DispatchKeys(context).names.get("NestedTensorCUDA")
    if key is not None and torch._C._dispatch_has_kernel_for_dispatch_key(_KERNEL, key):
        raise Skip("the backend has kernels for nested tensors")
    aligned = _left_aligned(context, torch._nested_tensor_from_mask_left_aligned)
    note = "nn.TransformerEncoder(src_key_padding_mask=...)"
    for owner in (torch, torch._C._VariableFunctionsClass):
        yield Patch(
            owner, "_nested_tensor_from_mask_left_aligned", aligned, None, "emulated", until="torch_musa 2.9", note=note
        )
    encoder = torch.nn.TransformerEncoder
    made = _checking_mask(encoder.__init__)
    yield Patch(
        encoder,
        "__init__",
        made,
        None,
        "emulated",
        until="torch_musa 2.9",
        note="nn.TransformerEncoder(mask_check=False)",
    )


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
