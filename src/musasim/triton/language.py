"""triton.language as the interpreter needs it, for the time of a launch and no longer.

The interpreter changes some hundred attributes of triton.language and, in some versions, leaves them so; a kernel could then no
longer be compiled. The changes are collected once and put in place around each launch. One launch runs at a time, and no kernel is
compiled meanwhile, because triton.language is one for all threads.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import triton.language as tl
from triton.compiler.compiler import ASTSource
from triton.runtime import interpreter
from triton.runtime.jit import JITFunction

from musasim.triton import numbers, reductions
from musasim.triton.functions import interpreted, semantic

__all__ = ["in_place"]

_LOCK = threading.RLock()
_MISSING = object()
_CHANGES: list[tuple[Any, str, Any, Any]] = []
_depth = 0


@contextlib.contextmanager
def in_place() -> Iterator[None]:
    """Make triton.language the interpreter's inside the block."""
    global _depth
    with _LOCK:
        changes = _changes()
        if _depth == 0:
            for owner, name, _, new in changes:
                setattr(owner, name, new)
        _depth += 1
        try:
            yield
        finally:
            _depth -= 1
            if _depth == 0:
                _put_back(changes)


def _put_back(changes: list[tuple[Any, str, Any, Any]]) -> None:
    for owner, name, old, _ in reversed(changes):
        if old is _MISSING:
            delattr(owner, name)
        else:
            setattr(owner, name, old)


def _changes() -> list[tuple[Any, str, Any, Any]]:
    if not _CHANGES:
        theirs = {(id(owner), name): (owner, name, old, new) for owner, name, old, new in _of_the_interpreter()}
        ours = {(id(owner), name): (owner, name, vars(owner).get(name, _MISSING), new) for owner, name, new in _ours()}
        _CHANGES.extend({**theirs, **ours}.values())
        _compile_one_at_a_time()
    return _CHANGES


def _of_the_interpreter() -> list[tuple[Any, str, Any, Any]]:
    owners = [tl, tl.core, tl.math, tl.core.tensor, tl.core.dtype]
    owners += [
        getattr(tl.core, name)
        for name in ("tensor_descriptor_base", "_experimental_tensor_descriptor_base")
        if hasattr(tl.core, name)
    ]
    before = [(owner, dict(vars(owner))) for owner in owners]
    interpreter._patch_lang(SimpleNamespace(__globals__={"tl": tl, "core": tl.core}))
    changes = []
    for owner, old in before:
        for name, new in dict(vars(owner)).items():
            if old.get(name, _MISSING) is not new:
                changes.append((owner, name, old.get(name, _MISSING), new))
    _put_back(changes)
    return changes


def _ours() -> Iterator[tuple[Any, str, Any]]:
    yield JITFunction, "__call__", lambda self, *arguments, **keywords: interpreted(self)(*arguments, **keywords)
    for name, method in numbers.entries().items():
        yield interpreter.InterpreterBuilder, name, method
    if not hasattr(interpreter.InterpreterBuilder, "get_int1_ty"):
        yield from _of_truth_values()
    yield from reductions.entries()
    # Up to Triton 3.6 only numpy arrays without dimensions are numbers, and those of the interpreter have one.
    yield tl.core.tensor, "__index__", lambda self: int(self.handle.data.reshape(-1)[0])
    yield from _of_cuda()
    yield from _claims()


def _of_truth_values() -> Iterator[tuple[Any, str, Any]]:
    """What Triton 3.3's interpreter lacks of the type int1, and Inductor's kernels have: blocks that are true, and `~`."""
    builder = interpreter.InterpreterBuilder
    all_ones = builder.get_all_ones_value

    def get_all_ones_value(self: Any, kind: Any) -> Any:
        if kind.scalar.is_int1():
            return interpreter.TensorHandle(np.full(1, True), kind.scalar)
        return all_ones(self, kind)

    yield builder, "get_int1_ty", lambda self: tl.int1
    yield builder, "get_all_ones_value", get_all_ones_value


def _of_cuda() -> Iterator[tuple[Any, str, Any]]:
    """Builtins that a compiler gives the argument `semantic`: libdevice, and the builtins of triton.language.extra.cuda."""
    from triton.language.extra import cuda, libdevice

    for module in (cuda, cuda.libdevice):
        for name, value in list(vars(module).items()):
            if tl.core.is_builtin(value):
                yield module, name, _with(value, semantic())
    for name in list(vars(libdevice)):
        own = vars(cuda.libdevice).get(name)
        if own is not None and tl.core.is_builtin(own):
            yield libdevice, name, _with(own, semantic())


def _with(builtin: Any, context: dict[str, Any]) -> Any:
    def call(*arguments: Any, **keywords: Any) -> Any:
        return builtin(*arguments, **{**keywords, **context})

    return call


def _claims() -> Iterator[tuple[Any, str, Any]]:
    """tl.multiple_of of one number: a compiler believes it, and a device then reports a misaligned address where it is wrong."""

    def multiple_of(value: Any, multiples: Any) -> Any:
        if (
            isinstance(value, tl.core.tensor)
            and value.handle.data.size == 1
            and not isinstance(multiples, (list, tuple))
        ):
            multiple = int(getattr(multiples, "value", multiples))
            number = int(value.handle.data.reshape(-1)[0])
            if number % multiple:
                raise ValueError(f"misaligned address: the kernel says that {number} is a multiple of {multiple}")
        return value

    yield tl, "multiple_of", multiple_of
    yield tl.core, "multiple_of", multiple_of


def _compile_one_at_a_time() -> None:
    make_ir = ASTSource.make_ir

    @functools.wraps(make_ir)  # torch looks at its parameters
    def alone(self: Any, *arguments: Any, **keywords: Any) -> Any:
        with _LOCK:
            return make_ir(self, *arguments, **keywords)

    ASTSource.make_ir = alone
