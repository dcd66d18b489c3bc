"""Dispatch keys: from what CUDA code names to the keys of the backend's device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Skip
from torchada.redirect.unsupported import error

Function = Callable[..., Any]
T = TypeVar("T")
# The names that PyTorch's bindings give to an argument that is a dispatch key.
_KEYWORDS = ("dispatch", "dispatch_key")


@cache  # each time that a type of pybind11 is asked, it makes a dictionary
def _members(keys: Any) -> Mapping[str, Any]:
    members: Mapping[str, Any] = keys.__members__
    return members


class DispatchKeys:
    """Every dispatch key of CUDA that this torch has, with the backend's key that stands in for it.

    Keys come as names ("CUDA") and as members of torch._C.DispatchKey, and stay of the kind they were. `names` maps names to
    names, `members` members to members. Raises Skip for a backend that has no key for CUDA itself.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        existing = _members(context.torch._C.DispatchKey)
        counterparts = context.backend.names.dispatch_keys
        of_cuda = [name for name in existing if name.endswith("CUDA")]
        self.names = {name: counterparts[name] for name in of_cuda if counterparts.get(name) in existing}
        if "CUDA" not in self.names:
            raise Skip(f"{context.backend.name} has no dispatch key that stands in for CUDA")
        self.members = {existing[name]: existing[own] for name, own in self.names.items()}
        self.cuda = {own: name for name, own in self.names.items()}
        self._table: dict[Any, Any] = {**self.names, **self.members}
        # A dictionary, because a key of torch 2.15 that is compared with a string parses it, and raises where it is no key's.
        self._missing: dict[Any, str] = {}
        for name in of_cuda:
            if name not in self.names:
                self._missing[name] = self._missing[existing[name]] = name

    def translate(self, key: T) -> T:
        """The backend's key for one of CUDA's, for queries; anything else, unhashable values too, comes back unchanged."""
        try:
            own: T = self._table.get(key, key)
        except TypeError:
            return key
        return own

    def registered(self, key: T) -> T:
        """The same for a kernel that is registered: UnsupportedError where no kernel for that key would ever be called."""
        try:
            name = self._missing.get(key)
        except TypeError:
            return key
        if name is not None:
            raise error(self._context, f"dispatch key {name}", "no key of its device corresponds to it")
        return self.translate(key)


def with_key(
    original: Function, translate: Callable[[object], object], position: int, path: str | None = None
) -> Function:
    """`original`, with the dispatch key at `position`, or given by keyword, translated; `path` is its place within torch."""

    def call(*args: object, **kwargs: object) -> object:
        if len(args) > position:
            args = (*args[:position], translate(args[position]), *args[position + 1 :])
        elif kwargs:
            kwargs = {name: translate(value) if name in _KEYWORDS else value for name, value in kwargs.items()}
        return original(*args, **kwargs)

    return disguise(call, original, path)
