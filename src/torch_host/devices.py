"""Devices of the host: as many as the environment asks for, all of them this machine."""

from __future__ import annotations

import os
import platform
import threading
import uuid
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch

# Programs choose kernels by the compute capability. This one has no TF32, no bfloat16 in hardware and no flash attention, and is
# still new enough for every program: the plain kernels are those that a CPU has.
CAPABILITY = (7, 0)
_WARP = 32


class _Current(threading.local):
    """The current device, which every thread has for itself, as on CUDA."""

    index = 0


_current = _Current()


def device_count() -> int:
    """As many as HOST_VISIBLE_DEVICES lists, or as torchrun has started processes on this machine, or one."""
    listed = os.environ.get("HOST_VISIBLE_DEVICES")
    if listed is None:
        processes = os.environ.get("LOCAL_WORLD_SIZE", "")
        return max(1, int(processes)) if processes.isdecimal() else 1
    entries = [entry.strip() for entry in listed.split(",")]
    visible = entries[: entries.index("-1")] if "-1" in entries else entries
    return len([entry for entry in visible if entry])


def is_available() -> bool:
    return device_count() > 0


def current_device() -> int:
    return _current.index


def index_of(device: Any, *, optional: bool = True) -> int:
    """The number of a device given as torch.cuda takes it: an int, a string, a device or torch.cuda.device(1). Whatever names none
    is the current one, if the index is `optional`.

    Raises torch.AcceleratorError (RuntimeError before torch has it) for a number that no device has, and ValueError for a device
    of another type or without an index.
    """
    index = _named(device)
    if index is None and not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    if index is None:
        return _current.index
    if not 0 <= index < device_count():
        kind = getattr(torch, "AcceleratorError", RuntimeError)
        raise kind(f"CUDA error: invalid device ordinal {index}: the host has {device_count()} device(s)")
    return index


def _named(device: Any) -> int | None:
    if isinstance(device, int):
        return int(device)
    if isinstance(device, torch.cuda.device):
        index: int = device.idx
        return index
    parsed = torch.device(device) if isinstance(device, str) else device
    if not isinstance(parsed, torch.device):
        return None
    if parsed.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {parsed}")
    return parsed.index


def entered(device: Any) -> int:
    """index_of for the functions that run in `with torch.cuda.device(device)`, where a negative number is the current device."""
    return _current.index if isinstance(device, int) and device < 0 else index_of(device)


def _known(device: Any, name: str = "device", *, optional: bool = True) -> int:
    """index_of, with what torch.cuda says where it looks for a device before it asks the runtime."""
    index = _named(device)
    if index is not None and not 0 <= index < device_count():
        raise AssertionError(f"Invalid {name} id")
    return index_of(device, optional=optional)


def set_device(device: Any) -> None:
    """Make a device current in this thread; a negative number changes nothing."""
    if not (isinstance(device, int) and device < 0):
        _current.index = index_of(device, optional=False)


def _exchange_device(device: int) -> int:
    before = _current.index
    if device >= 0:
        set_device(device)
    return before


_maybe_exchange_device = _exchange_device


class device:
    """`with torch.host.device(1)`: the device is current within the block; None and a negative number change nothing."""

    def __init__(self, device: Any) -> None:
        self.idx = -1 if device is None or (isinstance(device, int) and device < 0) else index_of(device)
        self._before = -1

    def __enter__(self) -> None:
        self._before = _exchange_device(self.idx)

    def __exit__(self, *problem: object) -> None:
        _exchange_device(self._before)


def get_amp_supported_dtype() -> list[torch.dtype]:
    """What autocast takes on the CPU."""
    return [torch.bfloat16, torch.float16]


def amp_definitely_not_available() -> bool:
    """What gradient scalers outside torch ask before they scale."""
    return not is_available()


class Properties(NamedTuple):
    """What torch.cuda.get_device_properties shows, of the machine. Memory in bytes."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    is_integrated: int
    is_multi_gpu_board: int
    max_threads_per_multi_processor: int
    warp_size: int
    regs_per_multiprocessor: int
    shared_memory_per_block: int
    L2_cache_size: int
    gcnArchName: str
    uuid: uuid.UUID

    def __repr__(self) -> str:
        megabytes = self.total_memory // (1 << 20)
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={megabytes}MB, multi_processor_count={self.multi_processor_count})"
        )


def get_device_properties(device: Any = None) -> Properties:
    """The machine's name, memory and processors; what only a GPU has is 0, or the smallest number that programs can divide by.

    The same object at each call, as on CUDA, as long as PyTorch has the same number of threads.
    """
    return _properties(_known(device), torch.get_num_threads())


@cache
def _properties(index: int, threads: int) -> Properties:
    return Properties(
        name=_processor(),
        major=CAPABILITY[0],
        minor=CAPABILITY[1],
        total_memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        multi_processor_count=threads,
        is_integrated=1,
        is_multi_gpu_board=0,
        max_threads_per_multi_processor=_WARP,
        warp_size=_WARP,
        regs_per_multiprocessor=0,
        shared_memory_per_block=0,
        L2_cache_size=0,
        gcnArchName=_processor(),
        uuid=uuid.uuid5(uuid.NAMESPACE_DNS, f"{platform.node()}:{index}"),
    )


@cache
def _processor() -> str:
    """What the kernel calls the processor; the architecture where it does not say."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(filter(None, names), platform.processor() or platform.machine() or "CPU")


def get_device_name(device: Any = None) -> str:
    _known(device)
    return _processor()


def get_device_capability(device: Any = None) -> tuple[int, int]:
    _known(device)
    return CAPABILITY


def get_arch_list() -> list[str]:
    return []


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    return _known(device) != _known(peer_device, "peer device", optional=False)


def is_bf16_supported(including_emulation: bool = True) -> bool:
    return including_emulation


def synchronize(device: Any = None) -> None:
    """Wait for the device, whose kernels are done when they return."""
    entered(device)


def init() -> None:
    """Nothing has to be initialized."""


_lazy_init = init


def is_initialized() -> bool:
    return True


def _is_in_bad_fork() -> bool:
    return False


def _lazy_call(callable: Callable[[], object], **kwargs: object) -> None:
    callable()


def ipc_collect() -> None:
    """Memory that is shared with other processes is the system's."""
