"""Devices: their number, the current one, and their properties."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal

import torch

from .. import _MUSAC, torch_musa
from ._lazy_init import _lazy_init
from ._utils import DeviceUnion as _device_t
from ._utils import _get_musa_device_index

_MusaDeviceProperties = _MUSAC._MusaDeviceProperties
_exchange_device = _MUSAC._musa_exchangeDevice
_maybe_exchange_device = _MUSAC._musa_maybeExchangeDevice


class Device:
    """Make `device` current inside the block.

    A negative index is documented as "do nothing", but torch_musa 2.7.1 does not check for it, and the runtime refuses
    device -1. Programs that run here must run there, so this class does not check for it either.
    """

    def __init__(self, device: Any) -> None:
        self.idx = _get_musa_device_index(device, optional=True)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = torch_musa._exchange_device(self.idx)

    def __exit__(self, *args: Any) -> Literal[False]:
        self.idx = torch_musa._maybe_exchange_device(self.prev_idx)
        return False


class DeviceOf(Device):
    """Make the device of `obj` current inside the block. For objects that are on no device, see Device."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.device.type == "musa" else -1)


class _DeviceGuard:
    """The same as Device, for callers that already know the index."""

    def __init__(self, index: int) -> None:
        self.idx = index
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = torch_musa._exchange_device(self.idx)

    def __exit__(self, type: Any, value: Any, traceback: Any) -> Literal[False]:
        self.idx = torch_musa._maybe_exchange_device(self.prev_idx)
        return False


@lru_cache(maxsize=1)
def device_count() -> int:
    """Number of devices that MUSA_VISIBLE_DEVICES leaves visible, determined once for each process."""
    return int(_MUSAC._musa_getDeviceCount())


def is_available() -> bool:
    """Whether there is a device."""
    return int(_MUSAC._musa_getDeviceCount()) > 0


def current_device() -> int:
    """Index of the current device."""
    _lazy_init()
    return int(_MUSAC._musa_getDevice())


def set_device(device: _device_t) -> None:
    """Make `device` current; a negative index changes nothing."""
    index = _get_musa_device_index(device)
    if index >= 0:
        _lazy_init()
        _MUSAC._musa_setDevice(index)


def synchronize(device: _device_t = None) -> None:
    """Wait for all work on `device`, in every stream."""
    _lazy_init()
    with Device(device):
        _MUSAC._musa_synchronize()


def get_device_properties(device: _device_t) -> Any:
    """Name, capability, size and the like. `device` has no default, unlike the one in torch.cuda."""
    _lazy_init()
    index = _get_musa_device_index(device, optional=True)
    if not 0 <= index < device_count():
        raise AssertionError("Invalid device id")
    return torch_musa._get_device_properties(index)


def get_device_name(device: _device_t = None) -> str:
    """Marketing name of `device`."""
    return str(get_device_properties(device).name)


def get_device_capability(device: _device_t = None) -> tuple[int, int]:
    """Compute architecture of `device`, such as (2, 2). The numbers do not compare with NVIDIA's."""
    properties = get_device_properties(device)
    return properties.major, properties.minor


def can_device_access_peer(device: _device_t, peer_device: _device_t) -> bool:
    """Whether `device` can read the memory of `peer_device`; False for a device and itself."""
    _lazy_init()
    index = _get_musa_device_index(device, optional=True)
    peer = _get_musa_device_index(peer_device)
    if not 0 <= index < device_count():
        raise AssertionError("Invalid device id")
    if not 0 <= peer < device_count():
        raise AssertionError("Invalid peer device id")
    return bool(_MUSAC._musa_canDeviceAccessPeer(index, peer))


def register_musa_hook() -> None:
    """Register the hooks through which torch's core gets this backend's pinned memory, generators and so on."""
    _MUSAC._musa_register_device_hook()


def get_arch_list() -> list[str]:
    """Architectures the library was built for, plain digits; none without a device."""
    if not is_available():
        return []
    flags = _MUSAC._musa_getArchFlags()
    return flags.split() if flags else []


@lru_cache(maxsize=16)
def _check_bf16_tensor_supported(device: _device_t) -> bool:
    try:
        torch.tensor([1.0], dtype=torch.bfloat16, device=device)
        return True
    except Exception:
        return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether bfloat16 works on the current device, natively or, with `including_emulation`, in any way; False without one."""
    if not is_available():
        return False
    device = current_device()
    major, minor = get_device_capability(device)
    if major * 10 + minor >= 22:
        return True
    # The index alone is the device of torch's accelerator, which is this one.
    return including_emulation and _check_bf16_tensor_supported(device)


def is_tf32_supported() -> bool:
    """Whether matrix products can use TF32."""
    return is_bf16_supported(including_emulation=False)
