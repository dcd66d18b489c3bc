"""torchrun --numa-binding: torch asks the kernel for the node of each device, by its PCI address.

A machine that does not list the device there (a container without that part of /sys, the simulator) has no answer. It is taken as
torch takes the kernel's -1, which means that the node is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

# Since torch 2.15 the name is another one, as that of its one argument.
_FUNCTIONS = ("_get_numa_node_index_for_gpu_index", "_get_numa_node_index_for_device_index")


def patches(context: Context) -> Iterator[Patch]:
    from torch.numa import binding

    names = [name for name in _FUNCTIONS if hasattr(binding, name)]
    if not names:
        raise Skip("this torch finds the node of a device in another way")
    for name in names:
        yield Patch(binding, name, _node(getattr(binding, name)), None, note="torchrun --numa-binding")


def _node(original: Callable[..., int]) -> Callable[..., int]:
    def node(**device: int) -> int:
        try:
            return original(**device)
        except FileNotFoundError:
            return 0

    return disguise(node, original)
