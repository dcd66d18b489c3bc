"""torchrun --numa-binding: torch asks the kernel for the node of each device, by its PCI address.

A machine that does not list the device there (a container without that part of /sys, the simulator) has no answer. It is taken as
torch takes the kernel's -1, which means that the node is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

_NAME = "_get_numa_node_index_for_gpu_index"


def patches(context: Context) -> Iterator[Patch]:
    from torch.numa import binding

    if not hasattr(binding, _NAME):
        raise Skip("this torch finds the node of a device in another way")
    yield Patch(binding, _NAME, _node(getattr(binding, _NAME)), None, note="torchrun --numa-binding")


def _node(original: Callable[..., int]) -> Callable[..., int]:
    def _get_numa_node_index_for_gpu_index(*, gpu_index: int) -> int:
        try:
            return original(gpu_index=gpu_index)
        except FileNotFoundError:
            return 0

    return disguise(_get_numa_node_index_for_gpu_index, original)
