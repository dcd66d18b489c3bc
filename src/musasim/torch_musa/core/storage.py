"""`musa` names of torch.UntypedStorage.

To share storages between processes, torch also calls the names for CUDA, because it takes device memory for CUDA memory.
"""

from __future__ import annotations

from typing import Any

import torch

from .. import _MUSAC
from .device import Device, current_device


@property  # type: ignore[misc]
def _is_musa(self: Any) -> bool:
    return bool(self.device.type == "musa")


def _musa(self: Any, device: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
    """A copy of this storage on `device`, or the storage itself where it is on the device of that index.

    None is the current device for a storage of a device, and -1 for one of the host, which the runtime refuses.
    """
    non_blocking = torch._utils._get_async_or_non_blocking("musa", non_blocking, kwargs)  # type: ignore[no-untyped-call]
    if device is None:
        device = current_device() if self.is_musa else -1
    if self.is_musa and self.get_device() == device:
        return self
    with Device(device):
        copy: Any = torch.UntypedStorage(self.size(), device=torch.device("musa"))  # type: ignore[no-untyped-call]
        return copy.copy_(self, non_blocking)


def _edit_device(self: Any, device: Any) -> None:
    """Let this storage be on `device`, without a copy.

    Its memory has to be unified memory. The real package does not check that, and crashes when the memory is used.
    """
    _MUSAC._edit_device_musa(self, device)


@classmethod  # type: ignore[misc]
def _new_shared_musa(cls: Any, *args: Any, **kwargs: Any) -> Any:
    return _MUSAC._new_shared_musa(*args, **kwargs)


def _share_musa(self: Any, *args: Any, **kwargs: Any) -> Any:
    return _MUSAC._share_musa_(self, *args, **kwargs)


@classmethod  # type: ignore[misc]
def _release_ipc_counter_musa(cls: Any, *args: Any, device: Any = None, **kwargs: Any) -> Any:
    return _MUSAC._release_ipc_counter_musa(*args, **kwargs)


def _is_shared(self: Any) -> bool:
    """Device memory can always be shared."""
    return bool(self.is_musa or self.is_shared_old())


def set_storage_attributes() -> None:
    storage: Any = torch.UntypedStorage
    storage.musa = _musa
    storage.is_musa = storage.is_cuda = _is_musa
    storage._share_musa_ = storage._share_cuda_ = _share_musa
    storage._new_shared_musa = storage._new_shared_cuda = _new_shared_musa
    storage._release_ipc_counter_musa = storage._release_ipc_counter_cuda = _release_ipc_counter_musa
    storage.edit_device = _edit_device
    if not hasattr(storage, "is_shared_old"):
        storage.is_shared_old = storage.is_shared
    storage.is_shared = _is_shared
