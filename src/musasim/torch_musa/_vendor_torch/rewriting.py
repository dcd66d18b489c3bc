"""Replaces names inside functions of torch. Most of the vendor's patches to Python code do only that."""

from __future__ import annotations

from collections.abc import Mapping
from types import CodeType, FunctionType
from typing import Any


def rewrite(function: Any, names: Mapping[str, str], constants: Mapping[str, str] | None = None) -> None:
    """Replace names and string constants in `function`. It is changed in place, because many modules hold a reference to it."""
    function.__code__ = _rewritten(function.__code__, names, constants or {})


def rewritten(function: Any, names: Mapping[str, str], constants: Mapping[str, str] | None = None) -> Any:
    """A copy of `function` with names and string constants replaced. It finds its globals where the original does."""
    code = _rewritten(function.__code__, names, constants or {})
    copy = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _rewritten(code: CodeType, names: Mapping[str, str], constants: Mapping[str, str]) -> CodeType:
    return code.replace(
        co_names=tuple(names.get(name, name) for name in code.co_names),
        co_consts=tuple(_constant(value, names, constants) for value in code.co_consts),
    )


def _constant(value: object, names: Mapping[str, str], constants: Mapping[str, str]) -> object:
    if isinstance(value, CodeType):
        return _rewritten(value, names, constants)
    if isinstance(value, (tuple, frozenset)):
        return type(value)(_constant(each, names, constants) for each in value)
    return constants.get(value, value) if isinstance(value, str) else value
