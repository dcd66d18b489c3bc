"""Owners of patches: read, write and delete the raw entry of a name, exactly, in each kind of owner."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Callable, MutableMapping
from types import ModuleType
from typing import Any, Protocol


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Any = _Missing()


def imported() -> dict[str, ModuleType]:
    """The modules of this process by name, as the owner of a patch that adds one."""
    return sys.modules


class Owner(Protocol):
    """`get` returns the raw entry, or MISSING when the name is not the owner's own (an inherited attribute is not)."""

    def get(self, name: Any) -> Any: ...

    def set(self, name: Any, value: Any) -> None: ...

    def delete(self, name: Any) -> None: ...


class Attributes:
    """A module, a Python class or an instance: its own dictionary, so that static and class methods come back as they were."""

    __slots__ = ("owner",)

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def get(self, name: str) -> Any:
        return vars(self.owner).get(name, MISSING)

    def set(self, name: str, value: Any) -> None:
        setattr(self.owner, name, value)

    def delete(self, name: str) -> None:
        delattr(self.owner, name)


class Items:
    """A dictionary: registries and dispatch tables."""

    __slots__ = ("owner",)

    def __init__(self, owner: MutableMapping[Any, Any]) -> None:
        self.owner = owner

    def get(self, name: Any) -> Any:
        return self.owner.get(name, MISSING)

    def set(self, name: Any, value: Any) -> None:
        self.owner[name] = value

    def delete(self, name: Any) -> None:
        del self.owner[name]


class BuiltinType:
    """A type written in C: setattr refuses it, but it has a dictionary, and CPython has a call that announces a change of it."""

    __slots__ = ("entries", "owner")

    def __init__(self, owner: type) -> None:
        self.owner = owner
        self.entries = _real_dictionary(owner)

    def get(self, name: str) -> Any:
        return self.entries.get(name, MISSING)

    def set(self, name: str, value: Any) -> None:
        self.entries[name] = value
        self._modified()

    def delete(self, name: str) -> None:
        del self.entries[name]
        self._modified()

    def _modified(self) -> None:
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(self.owner))


class Variables:
    """The process's environment: entries are variables of other packages, by name. Child processes inherit what is set."""

    __torchada_owner__ = True

    def __init__(self) -> None:
        self._written: dict[str, str] = {}

    def get(self, name: str) -> object:
        """The value; the very object that was written if nobody has changed it, because the engine compares by identity."""
        value, written = os.environ.get(name, MISSING), self._written.get(name)
        return written if value == written else value

    def set(self, name: str, value: str) -> None:
        os.environ[name] = self._written[name] = value

    def delete(self, name: str) -> None:
        os.environ.pop(name, None)


class Members:
    """A list that `holder` has as `attribute`: entries are added to it and taken out of it. It stays the same list, which others
    change as well. The name of an entry is ours alone.

    An entry is put before the first of those that `comes_after` is true of; otherwise at the end.
    """

    __torchada_owner__ = True

    def __init__(self, holder: Any, attribute: str, comes_after: Callable[[Any], bool] = lambda entry: False) -> None:
        self.holder, self.attribute = holder, attribute
        self._list: list[Any] = getattr(holder, attribute)
        self._comes_after = comes_after
        self._added: dict[str, Any] = {}

    def get(self, name: str) -> Any:
        entry = self._added.get(name, MISSING)
        return entry if any(member is entry for member in self._list) else MISSING

    def set(self, name: str, value: Any) -> None:
        self._added[name] = value
        after = (at for at, member in enumerate(self._list) if self._comes_after(member))
        self._list.insert(next(after, len(self._list)), value)

    def delete(self, name: str) -> None:
        entry = self._added.pop(name)
        # The last one, because the list may have had the same entry before.
        del self._list[max(at for at, member in enumerate(self._list) if member is entry)]


def _real_dictionary(owner: type) -> dict[str, Any]:
    # vars(type) is a read-only proxy, and the dictionary is the only object that it refers to.
    (entries,) = gc.get_referents(vars(owner))
    if type(entries) is not dict:
        raise TypeError(f"{owner!r} keeps its attributes in {type(entries).__name__}; expected a dict")
    return entries


def owner_of(thing: Any) -> Owner:
    """The Owner for the owner that a Patch names."""
    if type(thing) is ModuleType:  # the usual case; the checks below take longer
        return Attributes(thing)
    # The type is asked, because a proxy such as Triton's active driver makes its object when it is asked for a name.
    kind = type(thing)
    if hasattr(kind, "__torchada_owner__"):
        return thing  # type: ignore[no-any-return]
    if isinstance(thing, type):
        return BuiltinType(thing) if is_immutable(thing) else Attributes(thing)
    # An abstract class remembers each class that it is asked about, in a dozen objects, so it is asked last.
    if hasattr(kind, "__setitem__") and isinstance(thing, MutableMapping):
        return Items(thing)
    return Attributes(thing)


_HEAPTYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: types made by a class statement have it, C's static types do not
_IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE, from Python 3.10


def is_immutable(owner: type) -> bool:
    """Whether a type is written in C, so that setattr refuses to change it."""
    return not owner.__flags__ & _HEAPTYPE or bool(owner.__flags__ & _IMMUTABLE)
