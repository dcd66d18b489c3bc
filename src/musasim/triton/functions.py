"""A kernel's Python source, rewritten for the interpreter.

Triton's interpreter has a rewriter. It leaves its names in the program's module, knows no variables of an enclosing function, and
hands out loop counters as plain integers, which have no `.to()`. Here a function runs in a namespace of its own.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.jit import JITFunction

__all__ = ["interpreted", "semantic"]

_REWRITTEN: dict[Any, Callable[..., Any]] = {}
_STUBS = "triton.language.extra.libdevice"


def interpreted(function: Any) -> Callable[..., Any]:
    """The plain function that a `JITFunction` is in the interpreter."""
    if not isinstance(function, JITFunction):
        return getattr(function, "fn", function)  # type: ignore[no-any-return]
    key = function.fn, function.src
    rewritten = _REWRITTEN.get(key)
    if rewritten is None:
        rewritten = _REWRITTEN[key] = _Rewriter(function.fn).rewrite(function.src)
    return rewritten


def _counters(numbers: Any) -> Iterator[Any]:
    """The counters of a loop, which are numbers of the device."""
    for number in numbers:
        dtype = tl.int32 if -(2**31) <= number < 2**31 else tl.int64
        handle = interpreter.TensorHandle(np.array([number], interpreter._get_np_dtype(dtype)), dtype)
        yield tl.core.tensor(handle, dtype)


class _Loops(interpreter.ASTTransformer):  # type: ignore[misc]
    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        call = node.iter
        if isinstance(call, ast.Call) and getattr(call.func, "attr", getattr(call.func, "id", None)) == "range":
            node.iter = ast.Call(ast.Name("_counters", ast.Load()), [call], [])
        return node


class _Rewriter(interpreter.FunctionRewriter):  # type: ignore[misc]
    ast_transformer = _Loops()

    def rewrite(self, source: str) -> Callable[..., Any]:
        """The function of `source`, which a program may have changed since it defined the kernel."""
        self.filename, self.def_file_lineno = self._get_jit_fn_file_line()
        rewritten: Callable[..., Any] = self._compile_and_exec(self._transform_ast(source))
        return rewritten

    def _get_jit_fn_file_line(self) -> tuple[str, int]:
        """The file, and the line of `def`, for tracebacks."""
        lines, first = inspect.getsourcelines(self.fn)
        offset = next((i for i, line in enumerate(lines) if line.strip().startswith("def ")), 0)
        return self.fn.__code__.co_filename, first + offset

    def _compile_and_exec(self, transformed_ast: Any) -> Any:
        namespace = _namespace(self.fn)
        definition = transformed_ast.body[0]
        definition.decorator_list = []
        # A default or an annotation may be anything that the program could see when it defined the kernel, and is not needed.
        definition.returns = None
        for argument in definition.args.args:
            argument.annotation = None
        definition.args.defaults = []
        exec(compile(transformed_ast, self.filename, "exec"), namespace)
        made = namespace[definition.name]
        made.__defaults__ = self.fn.__defaults__
        return made


def _namespace(function: Any) -> dict[str, Any]:
    closure = inspect.getclosurevars(function).nonlocals if function.__closure__ else {}
    names = {**vars(interpreter), **function.__globals__, **closure, "_counters": _counters}
    return {name: _callable(value) for name, value in names.items()}


def _callable(value: Any) -> Any:
    """`value` as a kernel may call it. A program may have `tl.load` by a name of its own, which nothing replaces."""
    if inspect.isfunction(value) and tl.core.is_builtin(value):
        return _builtin(value)
    return _of_libdevice(value)


def _builtin(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **keywords: Any) -> Any:
        replaced = getattr(sys.modules[function.__module__], function.__name__, function)
        if replaced is not function:
            return replaced(*arguments, **keywords)
        return function(*arguments, **{**keywords, **semantic()})

    return call


def semantic() -> dict[str, Any]:
    """The argument by which a builtin of the language knows that the interpreter calls it."""
    if hasattr(interpreter, "interpreter_semantic"):
        return {"_semantic": interpreter.interpreter_semantic}
    return {"_builder": interpreter.interpreter_builder}


def _of_libdevice(value: Any) -> Any:
    """`from triton.language.extra.libdevice import tanh` names a stub, in whose place the front end puts the backend's function."""
    if inspect.isfunction(value) and value.__module__ == _STUBS:
        from triton.language.extra import libdevice

        return lambda *arguments, **keywords: getattr(libdevice, value.__name__)(*arguments, **keywords)
    return value
