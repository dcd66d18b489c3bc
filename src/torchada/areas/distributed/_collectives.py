"""Kernels in front of those of c10d's operators, which collectives come to from Python and C++ alike.

They are registered when the first step begins to concern this process, and not before: from then on, each collective passes through
Python.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

from torchada.redirect.owners import MISSING

_SELECT = "BackendSelect"
# The operators by the place of the group. Before it are the tensors: what is received, and what is sent, or what is both.
_OPERATORS = {
    "broadcast_": 1,
    "allreduce_": 1,
    "allreduce_coalesced_": 1,
    "reduce_": 1,
    "send": 1,
    "recv_": 1,
    "recv_any_source_": 1,
    "allgather_": 2,
    "_allgather_base_": 2,
    "allgather_coalesced_": 2,
    "allgather_into_tensor_coalesced_": 2,
    "reduce_scatter_": 2,
    "_reduce_scatter_base_": 2,
    "reduce_scatter_tensor_coalesced_": 2,
    "gather_": 2,
    "scatter_": 2,
    "alltoall_": 2,
    "alltoall_base_": 2,
}

# (the operator, the place of its group, its arguments) -> its answer, or None: the step has nothing to do with this call.
Step = Callable[[Any, int, "tuple[Any, ...]"], Any]


@cache
def collectives(torch: ModuleType) -> Collectives:
    """Those of this process."""
    return Collectives(torch)


class Collectives:
    """An owner of patches: steps by their names. What a step does is done from its `begin` on."""

    __torchada_owner__ = True

    def __init__(self, torch: ModuleType) -> None:
        self._torch: Any = torch
        self._steps: dict[str, Step] = {}
        self._begun: dict[str, Step] = {}
        self._handle: Any = None

    def get(self, name: str) -> Any:
        return self._steps.get(name, MISSING)

    def set(self, name: str, step: Step) -> None:
        self._steps[name] = step

    def delete(self, name: str) -> None:
        del self._steps[name]
        self._begun.pop(name, None)
        if self._handle is not None and not self._begun:
            self._handle.reset()
            self._handle = None

    def begin(self, name: str) -> None:
        """Have the step take part, if it is in force. Once is enough."""
        if name not in self._steps or name in self._begun:
            return
        self._begun[name] = self._steps[name]
        if self._handle is None:
            self._register()

    def _register(self) -> None:
        self._handle = self._torch._C._dispatch_library("IMPL", "c10d", "")
        with warnings.catch_warnings():  # of kernels that have been registered before and taken back
            warnings.simplefilter("ignore")
            for name, place in _OPERATORS.items():
                self._handle.impl(name, _SELECT, self._kernel(name, place), True)

    def _kernel(self, name: str, place: int) -> Any:
        operator = getattr(self._torch.ops.c10d, name).default
        select = getattr(self._torch._C.DispatchKey, _SELECT)

        def kernel(keys: Any, *args: Any) -> Any:
            for step in tuple(self._begun.values()):
                answer = step(operator, place, args)
                if answer is not None:
                    return answer
            return operator.redispatch(keys.remove(select), *args)

        return kernel


def device_in(torch: Any, device_type: str, values: Any) -> Any:
    """The device of the first tensor of that type, in lists of lists too."""
    if isinstance(values, torch.Tensor):
        return values.device if values.device.type == device_type else None
    if isinstance(values, list | tuple):
        devices = (device_in(torch, device_type, value) for value in values)
        return next((device for device in devices if device is not None), None)
    return None
