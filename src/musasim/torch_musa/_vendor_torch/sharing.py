"""Tensors of the device sent to another process.

A driver can open another process's device memory; host memory has to be made for sharing. So the first time a tensor
is sent, its contents move to shared memory, which torch knows how to send, and the tensor is put on top of that. Both
processes then see each other's writes, as with real devices. Other tensors over the old memory would be left behind
without a word, and that is refused.
"""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch
from torch.multiprocessing import reductions as _reductions

from . import foreign_memory

reductions: Any = _reductions


def _reduce_tensor(tensor: Any) -> Any:
    if tensor.device.type != "musa" or tensor.layout != torch.strided:
        return reductions.reduce_tensor(tensor)
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
            "crossing process boundaries. If you just want to transfer the data, call detach() on the tensor first."
        )
    torch.utils.hooks.warn_if_has_hooks(tensor)
    layout = (tensor.storage_offset(), tensor.size(), tensor.stride())
    memory = _shared_memory_of(tensor)
    return _rebuild_tensor, (type(tensor), memory, tensor.device.index, tensor.dtype, *layout, tensor.requires_grad)


def _rebuild_tensor(
    kind: Any, memory: Any, index: int, dtype: torch.dtype, offset: int, size: Any, stride: Any, requires_grad: bool
) -> Any:
    tensor = _on_top_of(memory, index, dtype, offset, size, stride)
    if kind is torch.nn.Parameter:
        return torch.nn.Parameter(tensor, requires_grad=requires_grad)
    return tensor.requires_grad_(requires_grad)


def _shared_memory_of(tensor: Any) -> Any:
    """The shared host memory under `tensor`, which is moved there if need be."""
    storage = tensor.untyped_storage()
    memory = foreign_memory.host_memory_of(storage)
    if memory is None:
        _refuse_if_others_use(storage)
        memory = torch.UntypedStorage._new_shared(storage.nbytes())  # type: ignore[no-untyped-call]
        moved = _on_top_of(
            memory, tensor.device.index, tensor.dtype, tensor.storage_offset(), tensor.size(), tensor.stride()
        )
        moved.untyped_storage().copy_(storage, False)
        tensor.data = moved
    return memory


def _refuse_if_others_use(storage: Any) -> None:
    from .. import _MUSAC

    # One reference is the tensor's and one belongs to the Python object asked here.
    if _MUSAC._storage_Use_Count(storage._cdata) > 2:
        raise RuntimeError(
            "this tensor shares its memory with other tensors, and memory of the simulated device can be sent to "
            "another process only as a whole: send tensor.clone(), or tensor.cpu()"
        )


def _on_top_of(memory: Any, index: int, dtype: torch.dtype, offset: int, size: Any, stride: Any) -> Any:
    storage = foreign_memory.as_device_storage(memory, index)
    return torch.empty(0, dtype=dtype, device=f"musa:{index}").set_(storage, offset, size, stride)


def install() -> None:
    for kind in (torch.Tensor, torch.nn.parameter.Parameter):
        ForkingPickler.register(kind, _reduce_tensor)
