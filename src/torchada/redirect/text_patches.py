"""Patches of what `str(...)` and `repr(...)` say of a type's objects, for types written in C as well."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from torchada.redirect.engine import Patch
from torchada.redirect.owners import is_immutable
from torchada.redirect.slots import TP_REPR, TP_STR, Slot, check_layout

_SLOTS = {"__str__": TP_STR, "__repr__": TP_REPR}


class _Generic:
    """What CPython gives a class that has such methods: slots whose function looks the method up and calls it."""

    def __str__(self) -> str:
        return ""

    def __repr__(self) -> str:
        return ""


def text_patches(kind: type, texts: Mapping[str, Callable[..., str]]) -> Iterator[Patch]:
    """Patches of `kind` by the names of its methods. Raises Skip where its slots cannot be changed."""
    is_of_c = is_immutable(kind)
    if is_of_c:
        check_layout(kind)
    for name, text in texts.items():
        note = f"{name} of {kind.__name__} by who asks"
        yield Patch(kind, name, text, None, note=note)
        if is_of_c:
            yield Patch(Slot(kind, _SLOTS[name]), name, Slot(_Generic, _SLOTS[name]).read(), None, note=note)
