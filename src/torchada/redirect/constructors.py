"""Redirect the constructor of a type written in C, and keep the type: `type(torch.device("cuda")) is torch.device` stays true.

CPython's own `slot_tp_new`, which every class statement with a `__new__` gets, is written into the type's `tp_new`, and a Python
`__new__` into its dictionary; that calls the saved C constructor with translated arguments. Identity, pickling, annotations,
`match`, TorchScript and torch.compile see the very same type as before. Needs CPython with the GIL, whose type layout it checks.
"""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from collections.abc import Callable
from typing import Any

from torchada.redirect.engine import Patch, Skip

# Pointers from the start of a PyTypeObject (Include/cpython/object.h; the same from CPython 3.8 to 3.14).
_TP_NAME, _TP_NEW = 3, 39
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
        Patch(_Slot(target, _TP_NEW), "tp_new", _Slot(_WithNew, _TP_NEW).read(), None, note=api),
    ]


class _Slot:
    """One pointer of a type object, as the owner of a patch."""

    __torchada_owner__ = True

    def __init__(self, target: type, index: int) -> None:
        self.target = target
        self._pointer = ctypes.c_void_p.from_address(id(target) + index * ctypes.sizeof(ctypes.c_void_p))
        self._last: Any = None

    def read(self) -> int:
        return self._pointer.value or 0

    def get(self, name: str) -> Any:
        # The engine checks by identity whether a patch is in force, so equal numbers must be the same object.
        value = self.read()
        if self._last != value:
            self._last = value
        return self._last

    def set(self, name: str, value: int) -> None:
        self._pointer.value = value
        self._last = value
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(self.target))

    def delete(self, name: str) -> None:
        raise TypeError(f"{name} of {self.target!r} cannot be deleted")


def _constructor(target: type) -> New:
    # Not target.__new__, which looks the slot up at each call and would call our own function.
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.py_object, ctypes.c_void_p)
    call = prototype(_Slot(target, _TP_NEW).read())

    def construct(cls: type, *args: Any, **kwargs: Any) -> Any:
        return call(cls, args, id(kwargs) if kwargs else None)

    return construct


def _check_layout(target: type) -> None:
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise Skip(f"constructors of C types can be redirected in CPython with the GIL only, not in {sys.version}")
    name = ctypes.cast(_Slot(target, _TP_NAME).read(), ctypes.c_char_p).value or b""
    if name.decode(errors="replace").rpartition(".")[2] != target.__name__:
        raise Skip(f"the layout of {target!r} is not CPython's known one")
    generic = _Slot(_WithNew, _TP_NEW).read()
    if (
        generic == _Slot(_WithoutNew, _TP_NEW).read()
        or _Slot(_WithoutNew, _TP_NEW).read() != _Slot(object, _TP_NEW).read()
    ):
        raise Skip("tp_new is not where CPython keeps it")
