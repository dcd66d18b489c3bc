"""What code sees of a device, by Python functions in the place of torch.device's own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torchada.redirect.by_view import Question, declared
from torchada.redirect.engine import Skip
from torchada.redirect.slots import TP_REPR, TP_STR, Slot, check_layout
from torchada.views.view import Views

if TYPE_CHECKING:
    from torchada.redirect.types import Device


class _WithText:
    """A class with what CPython gives every class that has such methods: slots whose function looks the method up and calls it."""

    def __str__(self) -> str:
        return ""

    def __repr__(self) -> str:
        return ""


class _WithoutText:
    pass


def descriptors(device: type, device_type: str, views: Views) -> dict[str, Any]:
    """The entries of torch.device that answer by who asks."""
    own = vars(device)
    type_of = _by_view(own["type"].__get__, device_type, views)
    return {
        "type": property(type_of),
        **{name: _by_view(own[name], device_type, views) for name in ("__str__", "__repr__")},
    }


def slots(device: type) -> dict[str, int]:
    """The functions for the slots of torch.device, which call these entries. Raises Skip where slots cannot be changed."""
    check_layout(device)
    for index in (TP_STR, TP_REPR):
        without, generic = Slot(_WithoutText, index).read(), Slot(_WithText, index).read()
        if without != Slot(object, index).read() or without == generic:
            raise Skip("tp_str and tp_repr are not where CPython keeps them")
    return {"tp_str": Slot(_WithText, TP_STR).read(), "tp_repr": Slot(_WithText, TP_REPR).read()}


def _by_view(text_of: Callable[[Device], str], device_type: str, views: Views) -> Callable[[Device], str]:
    decide, frame = views.sees_cuda, sys._getframe
    known: Callable[[Any], bool | None] = views.table.get

    def of_cuda(self: Device) -> str:
        return text_of(self).replace(device_type, "cuda")

    def answer(self: Device) -> str:
        text = text_of(self)
        if device_type not in text:
            return text
        namespace = frame(1).f_globals
        file = namespace.get("__file__")
        sees_cuda = known(file) if type(file) is str else None
        if sees_cuda is None:
            sees_cuda = decide(namespace)
        return text.replace(device_type, "cuda") if sees_cuda else text

    return declared(answer, Question(of_cuda, text_of, 1))
