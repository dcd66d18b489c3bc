"""NVML's C functions, as pynvml (nvidia-ml-py) calls them, over the module with these functions' names for the backend's devices.

A handle of a device is its number, counted from 1. What the module has no answer for is "not supported", as on a GPU
that lacks it: pymtml 2.4.3 answers much of that with a constant.
"""

from __future__ import annotations

from collections.abc import Callable
from ctypes import c_void_p, cast, sizeof
from importlib import import_module
from typing import Any


class Failure(Exception):
    """The text follows NVML_ERROR_ in the name of an error."""


class Module:
    """The backend's module, with functions by their names after "nvml"."""

    def __init__(self, name: str) -> None:
        self._module = import_module(name)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = getattr(self._module, f"nvml{name}", None)
        if function is None:
            raise Failure("NOT_SUPPORTED")
        answer: Callable[..., Any] = function
        return answer

    def device(self, handle: Any) -> Any:
        """The module's handle for one of ours."""
        return self.DeviceGetHandleByIndex(int(cast(handle, c_void_p).value or 0) - 1)

    def number(self, handle: Any) -> int:
        """Our handle for one of the module's."""
        return int(self.DeviceGetIndex(handle)) + 1

    def error_name(self, error: Exception) -> str:
        """What follows NVML_ERROR_ in the name of an error of the module's, which numbers them in its own way."""
        value = getattr(error, "value", None)
        names = [name for name, number in vars(self._module).items() if "_ERROR_" in name and number == value]
        return names[0].partition("_ERROR_")[2] if names else "UNKNOWN"


def _put(reference: Any, value: Any) -> None:
    """Write to what byref() refers to."""
    reference._obj.value = value


def _put_handle(reference: Any, number: int) -> None:
    c_void_p.from_buffer(reference._obj).value = number


def _number(value: Any) -> int:
    return int(getattr(value, "value", value))


def _text(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def not_supported(module: Module, *arguments: object) -> None:
    """In the place of every function that is not among FUNCTIONS."""
    raise Failure("NOT_SUPPORTED")


def _init(module: Module, *flags: object) -> None:
    module.Init()


def _shutdown(module: Module) -> None:
    module.Shutdown()


def _error_string(module: Module, code: object) -> bytes:
    return b"an error that only the vendor's library knows"


def _system_text(name: str) -> Callable[..., None]:
    def call(module: Module, buffer: Any, length: object) -> None:
        buffer.value = _text(getattr(module, name)())

    return call


def _count(module: Module, count: Any) -> None:
    _put(count, module.DeviceGetCount())


def _by_index(module: Module, index: Any, device: Any) -> None:
    if not 0 <= _number(index) < module.DeviceGetCount():
        raise Failure("INVALID_ARGUMENT")
    _put_handle(device, _number(index) + 1)


def _by_text(name: str) -> Callable[..., None]:
    def call(module: Module, text: Any, device: Any) -> None:
        _put_handle(device, module.number(getattr(module, name)(text.value.decode())))

    return call


def _device_text(name: str) -> Callable[..., None]:
    def call(module: Module, device: Any, buffer: Any, length: object) -> None:
        buffer.value = _text(getattr(module, name)(module.device(device)))

    return call


def _figure(name: str) -> Callable[..., None]:
    """A number of a device, or of some part of it that further arguments name."""

    def call(module: Module, device: Any, *arguments: Any) -> None:
        *which, into = arguments
        _put(into, getattr(module, name)(module.device(device), *map(_number, which)))

    return call


def _of_two(name: str) -> Callable[..., None]:
    """A number of a pair of devices."""

    def call(module: Module, one: Any, other: Any, *arguments: Any) -> None:
        *which, into = arguments
        _put(into, getattr(module, name)(module.device(one), module.device(other), *map(_number, which)))

    return call


def _pair(name: str) -> Callable[..., None]:
    def call(module: Module, device: Any, first: Any, second: Any) -> None:
        for into, value in zip((first, second), getattr(module, name)(module.device(device))):
            _put(into, value)

    return call


def _fields(name: str, **renames: str) -> Callable[..., None]:
    """A structure: each of its fields that the module has, by the same name or by the one in `renames`."""

    def call(module: Module, device: Any, into: Any) -> None:
        answer = getattr(module, name)(module.device(device))
        for field, *_ in type(into._obj)._fields_:
            value = getattr(answer, renames.get(field, field), None)
            if field != "version" and value is not None:
                getattr(type(into._obj), field).__set__(into._obj, _text(value) if isinstance(value, str) else value)

    return call


def _nearest(module: Module, device: Any, level: Any, count: Any, devices: Any) -> None:
    """Called twice: without an array, for its size."""
    near = module.DeviceGetTopologyNearestGpus(module.device(device), _number(level))
    if devices is not None:
        for position, handle in enumerate(near):
            c_void_p.from_buffer(devices, position * sizeof(c_void_p)).value = module.number(handle)
    _put(count, len(near))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "nvmlInit": _init,
    "nvmlInitWithFlags": _init,
    "nvmlShutdown": _shutdown,
    "nvmlErrorString": _error_string,
    "nvmlSystemGetDriverVersion": _system_text("SystemGetDriverVersion"),
    "nvmlDeviceGetCount": _count,
    "nvmlDeviceGetHandleByIndex": _by_index,
    "nvmlDeviceGetHandleByUUID": _by_text("DeviceGetHandleByUuid"),
    "nvmlDeviceGetHandleByPciBusId": _by_text("DeviceGetHandleByPciBusId"),
    "nvmlDeviceGetIndex": _figure("DeviceGetIndex"),
    "nvmlDeviceGetName": _device_text("DeviceGetName"),
    "nvmlDeviceGetUUID": _device_text("DeviceGetUUID"),
    "nvmlDeviceGetSerial": _device_text("DeviceGetSerial"),
    "nvmlDeviceGetPciInfo": _fields(
        "DeviceGetPciInfo", busIdLegacy="busId", domain="segment", pciSubSystemId="pciSubsystemId"
    ),
    "nvmlDeviceGetMemoryInfo": _fields("DeviceGetMemoryInfo"),
    "nvmlDeviceGetUtilizationRates": _fields("DeviceGetUtilizationRates"),
    "nvmlDeviceGetClockInfo": _figure("DeviceGetClockInfo"),
    "nvmlDeviceGetMaxClockInfo": _figure("DeviceGetMaxClockInfo"),
    "nvmlDeviceGetTemperature": _figure("DeviceGetTemperature"),
    "nvmlDeviceGetPowerUsage": _figure("DeviceGetPowerUsage"),
    "nvmlDeviceGetNumGpuCores": _figure("DeviceGetNumGpuCores"),
    "nvmlDeviceGetMemoryBusWidth": _figure("DeviceGetMemoryBusWidth"),
    "nvmlDeviceGetMinorNumber": _figure("DeviceGetMinorNumber"),
    "nvmlDeviceGetCudaComputeCapability": _pair("DeviceGetCudaComputeCapability"),
    "nvmlDeviceGetTopologyCommonAncestor": _of_two("DeviceGetTopologyCommonAncestor"),
    "nvmlDeviceGetP2PStatus": _of_two("DeviceGetP2PStatus"),
    "nvmlDeviceGetTopologyNearestGpus": _nearest,
    "nvmlDeviceGetNvLinkState": _figure("DeviceGetNvLinkState"),
}
