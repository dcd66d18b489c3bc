"""Slots of types written in C: the pointers to the functions that CPython calls for `type(...)`, `str(...)` and the like.

A type written in C keeps its functions there, whatever its dictionary says. Needs CPython with the GIL, whose type layout is
checked.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from torchada.redirect.engine import Skip

# Pointers from the start of a PyTypeObject (Include/cpython/object.h; the same from CPython 3.8 to 3.14).
_TP_NAME, TP_REPR, TP_STR, TP_NEW = 3, 11, 17, 39


class Slot:
    """One pointer of a type object, as the owner of a patch."""

    __torchada_owner__ = True

    def __init__(self, target: type, index: int) -> None:
        self.target = target
        self._pointer = ctypes.c_void_p.from_address(id(target) + index * ctypes.sizeof(ctypes.c_void_p))
        self._last: Any = None

    def read(self) -> int:
        """The address of the function in it."""
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


def check_layout(target: type) -> None:
    """Raise Skip where the slots of `target` are not where this module looks for them."""
    # "t" for a free-threaded build. Not by sysconfig, which loads a table of a thousand variables for it.
    if sys.implementation.name != "cpython" or "t" in sys.abiflags:
        raise Skip(f"slots of C types can be changed in CPython with the GIL only, not in {sys.version}")
    name = ctypes.cast(Slot(target, _TP_NAME).read(), ctypes.c_char_p).value or b""
    if name.decode(errors="replace").rpartition(".")[2] != target.__name__:
        raise Skip(f"the layout of {target!r} is not CPython's known one")
