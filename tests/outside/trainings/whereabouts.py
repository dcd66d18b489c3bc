"""What a program takes to be on its GPU, for a control in which that is the CPU: which tensors, and whose random numbers they get.

A GPU has a generator of its own. Were its numbers drawn from the CPU's, then all that the CPU draws later would be other numbers
than beside a GPU: Megatron draws on the GPU before it makes its weights on the CPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._pytree import tree_leaves

CPU = torch.device("cpu")
GPU = torch.device("cuda", 0)


class Whereabouts:
    """Tensors are known by their storages, which views, parameters and detached tensors share with them."""

    def __init__(self) -> None:
        self.generator = torch.Generator()
        #: Such a reference keeps the address of a storage from being given to another one.
        self._known: dict[int, StorageWeakRef] = {}
        self._crowded = 1024

    def knows(self, value: Any) -> bool:
        """Whether it is a tensor that is on the GPU."""
        return _has_storage(value) and value.untyped_storage()._cdata in self._known

    def note(self, result: Any) -> None:
        """From now on, the tensors of this result are on the GPU."""
        for leaf in tree_leaves(result):
            if _has_storage(leaf):
                reference = StorageWeakRef(leaf.untyped_storage())
                self._known[reference.cdata] = reference
        if len(self._known) > self._crowded:
            self._known = {key: each for key, each in self._known.items() if not each.expired()}
            self._crowded = 1024 + 2 * len(self._known)

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """Within it, random numbers are the GPU's."""
        of_cpu = torch.default_generator.get_state()
        torch.default_generator.set_state(self.generator.get_state())
        try:
            yield
        finally:
            self.generator.set_state(torch.default_generator.get_state())
            torch.default_generator.set_state(of_cpu)


def _has_storage(value: Any) -> bool:
    """Of a tensor that is made of others, a library's class may not say it."""
    return type(value) in (torch.Tensor, torch.nn.Parameter) and value.layout is torch.strided
