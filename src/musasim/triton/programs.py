"""The programs of a grid, one after the other."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import triton.language as tl
from triton.runtime import interpreter

from musasim.triton import language
from musasim.triton.arguments import Pointer, Signature, base_of
from musasim.triton.functions import interpreted
from musasim.triton.memory import IllegalAccess, Memory
from musasim.triton.numbers import scalar

__all__ = ["Kernel", "KernelError"]

_TAKES_ONE = len(inspect.signature(tl.str_to_ty).parameters) == 1


class KernelError(RuntimeError):
    """A program of a kernel failed. The message names the kernel and the program; the cause is the error itself."""


class Kernel:
    """A compiled kernel, ready to be run on any grid."""

    def __init__(self, function: Any, signature: Signature, metadata: Any) -> None:
        self._function, self._signature = function, signature
        known = {field.name for field in dataclasses.fields(interpreter.InterpreterOptions)}
        options = {name: getattr(metadata, name) for name in known if hasattr(metadata, name)}
        options["debug"] = bool(metadata.debug)
        # The checks for overflow are assertions, which a kernel has where it is compiled for debugging.
        options["sanitize_overflow"] = bool(metadata.debug and options.get("sanitize_overflow"))
        options.update(num_warps=metadata.num_warps)
        self._options = _Options(**options)

    def run(self, grid: tuple[int, int, int], arguments: dict[str, Any], device: torch.device) -> None:
        """Run all programs of `grid` on the device's memory."""
        builder = interpreter.interpreter_builder
        memory = Memory(_pointers(arguments), device)
        with language.in_place(), np.errstate(all="ignore"):
            own = interpreter._interpreter, builder.options
            interpreter._interpreter, builder.options = _Checked(own[0], memory), self._options
            try:
                self._run_each(builder, grid, self._values(arguments))
            finally:
                interpreter._interpreter, builder.options = own

    def _run_each(self, builder: Any, grid: tuple[int, int, int], values: dict[str, Any]) -> None:
        function = interpreted(self._function)
        builder.set_grid_dim(*grid)
        for index in _indices(grid):
            builder.set_grid_idx(*index)
            try:
                function(**values)
            except Exception as error:
                raise KernelError(self._message(index, error)) from error

    def _message(self, index: tuple[int, int, int], error: BaseException) -> str:
        prefix = "MUSA error: " if isinstance(error, IllegalAccess) else ""
        if isinstance(error, AssertionError):
            prefix = "MUSA error: device-side assert triggered: "
        text = str(error) or type(error).__name__
        return f"{prefix}{text} (kernel {self._signature.name!r}, program {index})"

    def _values(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return {name: self._value((name,), self._signature.type_of(name), given) for name, given in arguments.items()}

    def _value(self, path: tuple[Any, ...], kind: Any, given: Any) -> Any:
        if self._signature.is_constant(path):
            return self._signature.constant(path, given)
        if isinstance(kind, tuple):
            return _tuple(given, [self._value((*path, i), kind[i], item) for i, item in enumerate(given)])
        if kind == "constexpr":
            return given
        if kind.startswith(("tensordesc", "nvTmaDesc")):
            return interpreter._implicit_cvt(given)
        dtype = _type(kind)
        if kind.startswith("*"):
            return tl.core.tensor(interpreter.TensorHandle(np.array([_address(given)], np.uint64), dtype), dtype)
        return tl.core.tensor(scalar(given, dtype), dtype)


class _Options:
    """What the builder is asked about the kernel: everything that the interpreter's own options say, and the launch's."""

    def __init__(self, **values: Any) -> None:
        vars(self).update({**vars(interpreter.InterpreterOptions()), **values})


class _Checked:
    """The interpreter's access to memory, behind a check of each address."""

    def __init__(self, own: Any, memory: Memory) -> None:
        self._own, self._memory = own, memory

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    def load(self, addresses: Any, mask: Any, other: Any, dtype: Any) -> Any:
        self._memory.check(addresses, mask, dtype.itemsize, "reads")
        return self._own.load(addresses, mask, other, dtype)

    def store(self, addresses: Any, value: Any, mask: Any) -> Any:
        self._memory.check(addresses, mask, value.itemsize, "writes")
        return self._own.store(addresses, value, mask)

    def atomic_cas(self, addresses: Any, compare: Any, value: Any, sem: Any) -> Any:
        self._memory.check(addresses, None, value.itemsize, "changes")
        return self._own.atomic_cas(addresses, compare, value, sem)

    def atomic_rmw(self, operation: Any, addresses: Any, value: Any, mask: Any, sem: Any) -> Any:
        self._memory.check(addresses, mask, value.itemsize, "changes")
        return self._own.atomic_rmw(operation, addresses, value, mask, sem)


def _indices(grid: tuple[int, int, int]) -> Iterator[tuple[int, int, int]]:
    # The order in which a GPU starts blocks: the first index moves fastest. Kernels that wait for earlier programs rely on it.
    for z in range(grid[2]):
        for y in range(grid[1]):
            for x in range(grid[0]):
                yield x, y, z


def _pointers(arguments: dict[str, Any]) -> Iterator[tuple[str, int, int]]:
    for name, value in arguments.items():
        if isinstance(value, Pointer):
            yield name, value.storage, value.nbytes
        elif isinstance(value, tuple):
            yield from _pointers({f"{name}[{i}]": item for i, item in enumerate(value)})
        elif hasattr(value, "block_shape"):
            storage = base_of(value).untyped_storage()
            yield name, storage.data_ptr(), storage.nbytes()


def _address(value: Any) -> int:
    if isinstance(value, Pointer):
        return value.address
    return int(value or 0)


def _tuple(like: tuple[Any, ...], values: list[Any]) -> Any:
    return type(like)(*values) if hasattr(like, "_fields") else tl.tuple(values)


def _type(kind: str) -> Any:
    # From Triton 3.4 on the function takes a second argument, for tensor descriptors.
    return tl.str_to_ty(kind) if _TAKES_ONE else tl.str_to_ty(kind, None)
