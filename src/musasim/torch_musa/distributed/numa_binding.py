"""torchrun --numa-binding, since torch_musa 2.11.0: torch binds a process to processors near a musa device, by numactl or taskset.

The module of torch is small, so it is changed at once, as by the real package. On a torch that lacks what is replaced (2.14 and
newer find nodes in another way) the real package refuses to be imported, and this one leaves torch as it is.
"""

from __future__ import annotations

import shutil
from typing import Any

import torch
from torch.numa import binding

from musasim.base import release as _release

if not _release.since("2.11.0"):
    raise ModuleNotFoundError(f"No module named {__name__!r}", name=__name__)

__all__ = ["apply_torchrun_numa_patch"]

_TOOLS = {"numactl": "--physcpubind={}", "taskset": "--cpu-list {}"}


def _get_accelerator_count() -> int:
    return torch.musa.device_count()  # type: ignore[attr-defined, no-any-return]


def _get_numa_node_for_accelerator(*, gpu_index: int) -> int:
    """The node that the kernel names for the device's PCI address; where it names none (-1), the first."""
    device = torch.musa.get_device_properties(gpu_index)  # type: ignore[attr-defined]
    address = f"{device.pci_domain_id:04x}:{device.pci_bus_id:02x}:{device.pci_device_id:02x}.0"
    with open(f"/sys/bus/pci/devices/{address}/numa_node", encoding="utf-8") as node:
        return max(int(node.read()), 0)


def _assemble_binding_command(
    *, original_command_args: tuple[str, ...], logical_cpu_indices: set[int]
) -> tuple[str, ...]:
    ranges = binding._get_ranges_str_from_ints(logical_cpu_indices)
    for tool, option in _TOOLS.items():
        path = shutil.which(tool)
        if path is not None:
            return path, *option.format(ranges).split(" "), *original_command_args
    raise _no_tool()


def _validate_binding(*, logical_cpu_indices: set[int]) -> None:
    if not any(map(shutil.which, _TOOLS)):
        raise _no_tool()
    if not logical_cpu_indices:
        raise RuntimeError("Must bind to a non-empty set of CPU indices")


def _no_tool() -> RuntimeError:
    return RuntimeError("numactl or taskset CLI is required for NUMA binding")


_REPLACEMENTS = {
    "_get_gpu_count": _get_accelerator_count,
    "_get_numa_node_index_for_gpu_index": _get_numa_node_for_accelerator,
    "_assemble_numactl_command_args": _assemble_binding_command,
    "_raise_if_binding_invalid": _validate_binding,
}


def apply_torchrun_numa_patch() -> None:
    module: Any = binding
    if all(hasattr(module, name) for name in (*_REPLACEMENTS, "_get_ranges_str_from_ints")):
        vars(module).update(_REPLACEMENTS)
