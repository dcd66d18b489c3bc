"""`musa` names of torch.UntypedStorage.

To share storages between processes, torch also calls the names for CUDA, because it takes device memory for CUDA memory.
"""

from __future__ import annotations

from typing import Any

import torch

from .. import _MUSAC
from ._utils import _get_musa_device_index


@property  # type: ignore[misc]
def _is_musa(self: Any) -> bool:
    return bool(self.device.type == "musa")


def _musa(self: Any, device: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
    """This storage, or a copy of it, on `device`."""
    index = _get_musa_device_index(device, optional=True)
    return self.to(device=torch.device("musa", index), non_blocking=non_blocking)


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
