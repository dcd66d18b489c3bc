"""Redirect the constructor of a type written in C, and keep the type: `type(torch.device("cuda")) is torch.device` stays true.

CPython's own `slot_tp_new`, which every class statement with a `__new__` gets, is written into the type's `tp_new`, and a Python
`__new__` into its dictionary; that calls the saved C constructor with translated arguments. Identity, pickling, annotations,
`match`, TorchScript and torch.compile see the very same type as before. Needs CPython with the GIL, whose type layout it checks.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from torchada.redirect.engine import Patch, Skip
from torchada.redirect.slots import TP_NEW, Slot, check_layout

New = Callable[..., Any]


class _WithNew:
    def __new__(cls) -> Any:
        return super().__new__(cls)


class _WithoutNew:
    pass


def redirect_new(target: type, make: Callable[[New], New], api: str) -> list[Patch]:
    """Patches that put `make(constructor)` in place of the constructor of `target`.

    `constructor(cls, *args, **kwargs)` is the C constructor. Raises Skip where the interpreter's types cannot be changed.
    """
    _check_layout(target)
    new = make(_constructor(target))
    return [
        Patch(target, "__new__", staticmethod(new), api),
        Patch(Slot(target, TP_NEW), "tp_new", Slot(_WithNew, TP_NEW).read(), None, note=api),
    ]


def _constructor(target: type) -> New:
    # Not target.__new__, which looks the slot up at each call and would call our own function.
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.py_object, ctypes.c_void_p)
    call = prototype(Slot(target, TP_NEW).read())

    def construct(cls: type, *args: Any, **kwargs: Any) -> Any:
        return call(cls, args, id(kwargs) if kwargs else None)

    return construct


def _check_layout(target: type) -> None:
    check_layout(target)
    generic = Slot(_WithNew, TP_NEW).read()
    if generic == Slot(_WithoutNew, TP_NEW).read() or Slot(_WithoutNew, TP_NEW).read() != Slot(object, TP_NEW).read():
        raise Skip("tp_new is not where CPython keeps it")
