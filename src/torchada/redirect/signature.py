"""The signature of a function that stands in the place of another."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


class Signature(inspect.Signature):
    """The signature of `original`, read when somebody looks into it: few are looked into, and reading a hundred takes 2 ms."""

    __slots__ = ("_original",)
    _original: Callable[..., Any]

    @classmethod
    def of(cls, original: Callable[..., Any]) -> Signature:
        self = cls.__new__(cls)
        self._original = original
        return self

    def __getattr__(self, name: str) -> Any:
        if name not in inspect.Signature.__slots__:
            raise AttributeError(name)
        return getattr(inspect.signature(self._original), name)

    def __reduce__(self) -> tuple[Any, ...]:
        # An ordinary signature is what is pickled and copied.
        reduced: Any = super().__reduce__()
        return inspect.Signature, *reduced[1:]
