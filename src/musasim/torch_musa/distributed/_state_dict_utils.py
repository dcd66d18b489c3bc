"""Room on the host for a copy of a state dict: shared memory is pinned by this device's runtime.

DTensors are left as they are, where torch's own function makes room for their shards too.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.distributed import _state_dict_utils as torchs
from torch.distributed._state_dict_utils import _identity_func, _iterate_state_dict

_PORTABLE = 1  # musaHostRegisterPortable


def _create_cpu_state_dict(
    state_dict: dict[str, Any], pin_memory: bool = False, share_memory: bool = False
) -> dict[str, Any]:
    """A state dict of the same structure, whose tensors are new ones on the host, with any contents."""
    room = _room(pin_memory, share_memory)
    return _iterate_state_dict(
        state_dict, _identity_func, _identity_func, room, pg=None, device=None, ranks_only=(), type_check=False
    )


def _room(pin_memory: bool, share_memory: bool) -> Callable[..., Tensor]:
    def room(tensor: Tensor, *_: Any) -> Tensor:
        if tensor.dim() == 0:
            return torch.tensor(0, dtype=tensor.dtype)
        empty = torch.empty(tensor.shape, dtype=tensor.dtype)
        if not share_memory:
            return empty.pin_memory() if pin_memory else empty
        shared: Tensor = empty.share_memory_()  # type: ignore[no-untyped-call]
        return _pinned(shared) if pin_memory else shared

    return room


def _pinned(tensor: Tensor) -> Tensor:
    """The tensor itself, whose memory is pinned as long as it lives."""
    runtime: Any = torch.musa.musart()  # type: ignore[attr-defined]
    address = tensor.data_ptr()
    _check("Pinning", runtime.musaHostRegister(address, tensor.nbytes, _PORTABLE))
    weakref.finalize(tensor, lambda: _check("Unpinning", runtime.musaHostUnregister(address)))
    return tensor


def _check(what: str, result: Any) -> None:
    assert int(result) == 0, f"{what} shared memory failed with error-code: {int(result)}"


def _apply_state_dict_utils_patch() -> None:
    torchs._create_cpu_state_dict = _create_cpu_state_dict


_apply_state_dict_utils_patch()
