"""torch.cuda.utilization, temperature, power_draw, clock_rate, memory_usage, device_memory_used and list_gpu_processes.

They are torch's own functions, which call a module under the name pynvml; the backend's module of that kind is put there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchada.areas.cuda._management import Management
from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torchada.redirect.types import AnyFunction, DeviceLike


def patches(context: Context) -> Iterator[Patch]:
    cuda, management = context.torch.cuda, Management(context)
    to = context.backend.management.module if context.backend.management else "pynvml"
    yield Patch(cuda, "pynvml", management, "torch.cuda.pynvml", to=to)
    for name, make in _FUNCTIONS.items():
        if name in vars(cuda):
            yield Patch(cuda, name, make(management, vars(cuda)[name]), f"torch.cuda.{name}", to=to)
    used = _device_memory_used(context, cuda.device_memory_used)
    yield Patch(cuda, "device_memory_used", used, "torch.cuda.device_memory_used", to="mem_get_info")
    processes = _list_gpu_processes(context, cuda.memory.list_gpu_processes)
    for owner in (cuda, cuda.memory):
        yield Patch(owner, "list_gpu_processes", processes, "torch.cuda.list_gpu_processes", kind="emulated")


def _handler(management: Management, original: AnyFunction) -> AnyFunction:
    def _get_pynvml_handler(device: DeviceLike = None) -> object:
        return management.handle(device)

    return disguise(_get_pynvml_handler, original)


def _count(management: Management, original: AnyFunction) -> AnyFunction:
    """The number of devices, or -1 if the library does not report it; torch then calls the runtime."""

    def _raw_device_count_nvml() -> int:
        try:
            return management.count()
        except (ImportError, RuntimeError):
            return -1

    return disguise(_raw_device_count_nvml, original)


def _uuids(management: Management, original: AnyFunction) -> AnyFunction:
    def _raw_device_uuid_nvml() -> list[str] | None:
        try:
            return management.uuids()
        except (ImportError, RuntimeError):
            return None

    return disguise(_raw_device_uuid_nvml, original)


_FUNCTIONS = {
    "_get_pynvml_handler": _handler,
    "_raw_device_count_nvml": _count,
    "_raw_device_uuid_nvml": _uuids,
}


def _device_memory_used(context: Context, original: AnyFunction) -> AnyFunction:
    """Bytes in use on the whole device. The runtime reports them, without the management library."""
    namespace = context.namespace

    def device_memory_used(device: DeviceLike = None) -> int:
        free, total = namespace.mem_get_info(device)
        return int(total - free)

    return disguise(device_memory_used, original)


def _list_gpu_processes(context: Context, original: AnyFunction) -> AnyFunction:
    """The text names this process. The management library cannot list the others, and the text says so."""
    import os

    namespace = context.namespace

    def list_gpu_processes(device: DeviceLike = None) -> str:
        index = context.torch.cuda._get_device_index(device, optional=True)
        megabytes = namespace.memory_reserved(index) / (1024 * 1024)
        return (
            f"GPU:{index}\nprocess {os.getpid():>10d} uses {megabytes:>12.3f} MB GPU memory"
            "\nother processes cannot be listed on this platform"
        )

    return disguise(list_gpu_processes, original)
