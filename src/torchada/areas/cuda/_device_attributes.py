"""Attributes of a device that torch does not show, read from the backend's runtime library, which numbers them as CUDA does.

Before any value is used, the numbering is checked on the device itself: torch also reports the number of multiprocessors and the
compute capability, and both sources have to agree.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING

from torchada.redirect.context import Context
from torchada.redirect.library_names import NativeLibraries
from torchada.redirect.unsupported import UnsupportedAttributeError, error

if TYPE_CHECKING:
    Status = Callable[..., int]

# cudaDeviceAttr, from CUDA's driver_types.h, by the names of torch.cuda.get_device_properties().
NUMBERS = {
    "max_threads_per_block": 1,
    "shared_memory_per_block": 8,
    "warp_size": 10,
    "clock_rate": 13,  # kHz
    "pci_bus_id": 33,
    "pci_device_id": 34,
    "memory_clock_rate": 36,  # kHz
    "memory_bus_width": 37,  # bits
    "L2_cache_size": 38,  # bytes
    "max_threads_per_multi_processor": 39,
    "pci_domain_id": 50,
    "shared_memory_per_multiprocessor": 81,
    "regs_per_multiprocessor": 82,
    "shared_memory_per_block_optin": 97,
}
_KNOWN_TO_TORCH = {"multi_processor_count": 16, "major": 75, "minor": 76}


class DeviceAttributes:
    """`read(name, properties)`: one attribute of the device that has these properties of torch's."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._function: Status | None = None
        self._doubt = ""

    def read(self, name: str, properties: object) -> int:
        """The value, in the unit of cudaDeviceProp. Raises UnsupportedAttributeError if the runtime does not report it."""
        index = index_of(properties, self._context)
        if self._function is None and not self._doubt:
            self._doubt = self._find() or self._compare(index, properties)
        value = None if self._doubt else self._ask(NUMBERS[name], index)
        if value is None:
            why = self._doubt or "the runtime does not know this attribute"
            raise UnsupportedAttributeError(error(self._context, f"torch.cuda.get_device_properties().{name}", why))
        return value

    def _find(self) -> str:
        libraries = NativeLibraries(self._context.backend)
        runtime, missing = libraries.called("cudart"), "it has none"
        (name,) = libraries.symbols("cudaDeviceGetAttribute")
        for file in libraries.files(runtime) if runtime else ():
            try:
                self._function = getattr(ctypes.CDLL(file), name)
            except (OSError, AttributeError) as failure:
                missing = str(failure)
            else:
                return ""
        return f"torch does not show it, and the runtime cannot be called ({missing})"

    def _compare(self, index: int, properties: object) -> str:
        for name, number in _KNOWN_TO_TORCH.items():
            value, expected = self._ask(number, index), getattr(properties, name)
            if value != expected:
                return f"the runtime numbers its attributes differently ({name}: {value}, but torch reports {expected})"
        return ""

    def _ask(self, number: int, index: int) -> int | None:
        value = ctypes.c_int(-1)
        assert self._function is not None  # read() has found it
        status = self._function(ctypes.byref(value), ctypes.c_int(number), ctypes.c_int(index))
        return value.value if status == 0 else None


def index_of(properties: object, context: Context) -> int:
    """The device that has these properties. torch returns one object for each device; a copy counts as the current device's."""
    namespace = context.namespace
    for index in range(namespace.device_count()):
        if namespace.get_device_properties(index) is properties:
            return index
    return int(namespace.current_device())
