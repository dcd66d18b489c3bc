"""Stands in for mthreads-ml-py, which needs Moore Threads' driver: pynvml's functions, for two devices that do not exist."""

from __future__ import annotations

from types import SimpleNamespace

NVML_CLOCK_SM = 1
_UUIDS = ("6a3d1c52-0f4e-4f0b-9b6e-2c8c5f1a0001", "6a3d1c52-0f4e-4f0b-9b6e-2c8c5f1a0002")
_started = False


def nvmlInit() -> None:
    global _started
    _started = True


def nvmlDeviceGetCount() -> int:
    return len(_UUIDS)


def nvmlDeviceGetHandleByIndex(index: int) -> int:
    if not _started:
        raise RuntimeError("nvmlInit() has not been called")
    return range(len(_UUIDS))[index]


def nvmlDeviceGetUUID(handle: int) -> str:
    return _UUIDS[handle]


def nvmlDeviceGetUtilizationRates(handle: int) -> SimpleNamespace:
    return SimpleNamespace(gpu=40 + handle, memory=20 + handle)


def nvmlDeviceGetTemperature(handle: int, sensor: int) -> int:
    return 50 + handle


def nvmlDeviceGetPowerUsage(handle: int) -> int:
    return 120_000 + handle


def nvmlDeviceGetClockInfo(handle: int, kind: int) -> int:
    assert kind == NVML_CLOCK_SM
    return 1700 + handle
