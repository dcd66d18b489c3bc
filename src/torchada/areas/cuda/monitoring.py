"""torch.cuda.utilization, temperature, power_draw, clock_rate, memory_usage, device_memory_used and list_gpu_processes.

They are torch's own functions, which ask a module they know as pynvml: they get the backend's module of that kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torchada.areas.cuda._management import Management
from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch


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


def _handler(management: Management, original: Callable[..., Any]) -> Callable[..., Any]:
    def _get_pynvml_handler(device: Any = None) -> Any:
        return management.handle(device)

    return disguise(_get_pynvml_handler, original)


def _count(management: Management, original: Callable[..., Any]) -> Callable[..., Any]:
    """-1 where the library cannot tell, upon which torch asks the runtime."""

    def _raw_device_count_nvml() -> int:
        try:
            return management.count()
        except (ImportError, RuntimeError):
            return -1

    return disguise(_raw_device_count_nvml, original)


def _uuids(management: Management, original: Callable[..., Any]) -> Callable[..., Any]:
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


def _device_memory_used(context: Context, original: Callable[..., Any]) -> Callable[..., Any]:
    """Bytes in use on the whole device: the runtime knows them, and needs no library for it."""
    namespace = context.namespace

    def device_memory_used(device: Any = None) -> int:
        free, total = namespace.mem_get_info(device)
        return int(total - free)

    return disguise(device_memory_used, original)


def _list_gpu_processes(context: Context, original: Callable[..., Any]) -> Callable[..., Any]:
    """What is known: this process. The management library has no list of the others, and the text says so."""
    import os

    namespace = context.namespace

    def list_gpu_processes(device: Any = None) -> str:
        index = context.torch.cuda._get_device_index(device, optional=True)
        megabytes = namespace.memory_reserved(index) / (1024 * 1024)
        return (
            f"GPU:{index}\nprocess {os.getpid():>10d} uses {megabytes:>12.3f} MB GPU memory"
            "\nother processes cannot be listed on this platform"
        )

    return disguise(list_gpu_processes, original)
