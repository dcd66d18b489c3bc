"""Tensors of this process for others: torch.musa.ipc, since torch_musa 2.11.0."""

from __future__ import annotations

import base64
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from typing import Any

import torch

from musasim.base import release as _release

from ._utils import DeviceUnion as _device_t
from .device import device_count, get_device_properties, is_available

if not _release.since("2.11.0"):
    raise ModuleNotFoundError(f"No module named {__name__!r}", name=__name__)

__all__ = ["MUSAIPCTensor", "MUSAIPCTensorHandle", "export_tensor", "open_tensor"]

#: The eight items that a storage is shared by. Those that are bytes become text in a dictionary.
_ITEMS = (
    "device_index",
    "storage_handle",
    "storage_size",
    "storage_offset",
    "ref_counter_handle",
    "ref_counter_offset",
    "event_handle",
    "event_sync_required",
)
_BYTES = (1, 4, 6)


@dataclass(frozen=True, repr=False)
class MUSAIPCTensorHandle:
    """What another process needs to open a tensor."""

    shared_storage_info: tuple[Any, ...]
    dtype: torch.dtype
    size: tuple[int, ...]
    stride: tuple[int, ...]
    storage_offset: int
    requires_grad: bool
    device_uuid: str

    def to_dict(self) -> dict[str, Any]:
        """The handle as values that JSON can hold."""
        as_text = [_text(item) if at in _BYTES else item for at, item in enumerate(self.shared_storage_info)]
        return {
            "shared_storage_info": as_text,
            "dtype": str(self.dtype),
            "size": list(self.size),
            "stride": list(self.stride),
            "storage_offset": self.storage_offset,
            "requires_grad": self.requires_grad,
            "device_uuid": self.device_uuid,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> MUSAIPCTensorHandle:
        """The handle that to_dict() was called on."""
        info = enumerate(data["shared_storage_info"])
        return cls(
            shared_storage_info=tuple(base64.b64decode(item) if at in _BYTES else item for at, item in info),
            dtype=getattr(torch, data["dtype"].removeprefix("torch.")),
            size=tuple(data["size"]),
            stride=tuple(data["stride"]),
            storage_offset=data["storage_offset"],
            requires_grad=data["requires_grad"],
            device_uuid=data["device_uuid"],
        )

    def _format_shared_storage_info(self) -> str:
        if len(self.shared_storage_info) != len(_ITEMS):
            return repr(self.shared_storage_info)
        items = zip(_ITEMS, map(self._format_blob, self.shared_storage_info))
        return f"({', '.join(f'{name}={text}' for name, text in items)})"

    @staticmethod
    def _format_blob(value: Any) -> str:
        return repr(f"len={len(value)}, hex={value.hex()}" if isinstance(value, bytes) else value)

    def __repr__(self) -> str:
        texts = {field.name: repr(getattr(self, field.name)) for field in fields(self)}
        texts["shared_storage_info"] = self._format_shared_storage_info()
        return f"{type(self).__qualname__}({', '.join(f'{name}={text}' for name, text in texts.items())})"

    __str__ = __repr__


def _text(item: bytes) -> str:
    return base64.b64encode(item).decode("ascii")


class MUSAIPCTensor:
    """Keeps a tensor of another process open."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self._tensor: torch.Tensor | None = tensor

    @property
    def tensor(self) -> torch.Tensor:
        """The tensor. Raises RuntimeError once it is closed."""
        if self._tensor is None:
            raise RuntimeError("MUSA IPC tensor owner is closed")
        return self._tensor

    @property
    def closed(self) -> bool:
        """Whether close() has been called."""
        return self._tensor is None

    def close(self) -> None:
        """Let the tensor go."""
        self._tensor = None

    def __del__(self) -> None:
        self.close()

    def __enter__(self) -> MUSAIPCTensor:
        if self.closed:
            raise RuntimeError("MUSA IPC tensor owner is closed")
        return self

    def __exit__(self, _exc_type: Any, _exc: Any, _traceback: Any) -> None:
        self.close()


def _get_device_uuid(device: _device_t = None) -> str:
    return str(get_device_properties(device).uuid)


@lru_cache(maxsize=1)
def _visible_device_uuids() -> dict[int, str]:
    if not is_available():
        raise RuntimeError("Cannot open MUSA IPC handle: MUSA is not available")
    return {index: _get_device_uuid(index) for index in range(device_count())}


@cache
def _resolve_device(device_uuid: str) -> int:
    visible = _visible_device_uuids()
    for index, uuid in visible.items():
        if uuid == device_uuid:
            return index
    raise RuntimeError(
        f"Could not resolve MUSA IPC handle device UUID {device_uuid!r}. visible receiver UUIDs are {visible}"
    )


def export_tensor(tensor: torch.Tensor) -> MUSAIPCTensorHandle:
    """The handle by which another process opens `tensor`, which has to be on a device."""
    if not isinstance(tensor, torch.Tensor):
        raise TypeError("tensor must be a torch.Tensor")
    if tensor.device.type != torch._C._get_privateuse1_backend_name():
        raise RuntimeError("MUSA IPC tensor export requires a MUSA tensor")
    return MUSAIPCTensorHandle(
        shared_storage_info=tensor.untyped_storage()._share_musa_(),  # type: ignore[attr-defined]
        dtype=tensor.dtype,
        size=tuple(tensor.size()),
        stride=tuple(tensor.stride()),
        storage_offset=int(tensor.storage_offset()),
        requires_grad=tensor.requires_grad,
        device_uuid=_get_device_uuid(tensor.device),
    )


def _open_storage(handle: MUSAIPCTensorHandle) -> Any:
    if len(handle.shared_storage_info) != len(_ITEMS):
        raise ValueError("MUSA shared storage metadata must contain 8 items")
    # The exporting process may number its devices otherwise.
    index, storage = _resolve_device(handle.device_uuid), torch.UntypedStorage
    return storage._new_shared_musa(index, *handle.shared_storage_info[1:])  # type: ignore[attr-defined]


def open_tensor(handle: MUSAIPCTensorHandle) -> MUSAIPCTensor:
    """The tensor of another process, as long as the result is not closed."""
    storage = _open_storage(handle)
    tensor = torch.empty(0, device=storage.device, dtype=handle.dtype)
    tensor = tensor.set_(storage, handle.storage_offset, handle.size, handle.stride)
    return MUSAIPCTensor(tensor.requires_grad_(handle.requires_grad))
