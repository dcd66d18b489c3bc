"""Finds functions of torch.cuda that cannot work because they call C functions of CUDA builds. It reads their code objects.

A torch that is built for CUDA has these C functions. They work on NVIDIA's devices only, so they count as missing there too.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import TypeGuard

# Builds of torch without CUDA have classes made by torch._utils._dummy_type in the place of C classes; calling one raises an error.
_DUMMIES = "torch._utils"
# What the C functions of CUDA builds are called, and the C classes that torch.cuda's are derived from.
_FUNCTIONS = "_cuda_"
_CLASSES = frozenset({"_CudaStreamBase", "_CudaEventBase", "_CUDAGraph", "_MemPool"})


class Missing:
    """Looks at what functions of torch read: C functions of torch._C, and names of torch.cuda.

    `answered` are names of torch.cuda that work whatever they read, `absent` those that do not work.
    """

    def __init__(self, torch: ModuleType, answered: frozenset[str], absent: frozenset[str]) -> None:
        self._native, self._answered, self._absent = vars(torch._C), answered, absent
        self._known: dict[int, bool] = {}

    def stops(self, value: object) -> bool:
        """Whether `value`, a function or class of torch.cuda, calls something that is for NVIDIA's devices only."""
        if isinstance(value, type):
            return any(map(_is_nvidias, value.__mro__)) or self.stops(vars(value).get("__init__"))
        if not is_torchs_own(value):
            return False
        function = inspect.unwrap(value)
        if id(function) not in self._known:
            self._known[id(function)] = False  # functions that call each other
            self._known[id(function)] = any(self._is_missing(function, name) for name in _names(function.__code__))
        return self._known[id(function)]

    def _is_missing(self, function: FunctionType, name: str) -> bool:
        if name in self._answered or name in self._absent:
            return name in self._absent
        if name.startswith(_FUNCTIONS):
            native = self._native.get(name)
            # A replacement is a function of Python, or the backend's own in C, which has another name.
            is_torchs = isinstance(native, BuiltinFunctionType) and native.__name__ == name
            return native is None or is_torchs or _is_nvidias(native)
        if name in self._native:
            return _is_nvidias(self._native[name])
        return self.stops(function.__globals__.get(name))


def is_torchs_own(value: object) -> TypeGuard[FunctionType]:
    """Whether `value` is torch's own function of torch.cuda, and not the backend's or a replacement of ours with the same name."""
    if not isinstance(value, FunctionType):
        return False
    # Hardly any is wrapped, and inspect.unwrap takes longer to see that.
    function = inspect.unwrap(value) if hasattr(value, "__wrapped__") else value
    return isinstance(function, FunctionType) and function.__globals__["__name__"].startswith("torch.cuda")


def _names(code: CodeType) -> Iterator[str]:
    """The globals and attributes that a function reads, and those that functions within it read."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _is_nvidias(value: object) -> bool:
    """Whether `value` is a C class of CUDA builds, or what stands for one in other builds."""
    return isinstance(value, type) and (
        value.__module__ == _DUMMIES or (value.__module__ == "torch._C" and value.__name__ in _CLASSES)
    )
