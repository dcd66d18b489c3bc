"""Functions and attributes of torch that tell the device by its name, or in a text: code that sees CUDA gets CUDA's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from torchada.redirect.by_view import by_view
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.owners import is_immutable
from torchada.redirect.slots import TP_REPR, TP_STR, Slot, check_layout

if TYPE_CHECKING:
    from torchada.redirect.types import P, R


def name_by_view(context: Context, original: Callable[P, R]) -> Callable[P, R]:
    """`original`, which returns the name of a device type."""
    device_type: Any = context.backend.device_type
    name: Any = "cuda"

    def cuda(*args: P.args, **kwargs: P.kwargs) -> R:
        answer = original(*args, **kwargs)
        return name if answer == device_type else answer

    return by_view(context.views, cuda, original)


def text_by_view(context: Context, original: Callable[P, str]) -> Callable[P, str]:
    """`original`, which returns a text that may name the device."""

    def cuda(*args: P.args, **kwargs: P.kwargs) -> str:
        from torchada.redirect.backend_words import as_cuda  # no text is read at the start

        return as_cuda(context.backend)(original(*args, **kwargs))

    return by_view(context.views, cuda, original)


def kept_name(context: Context, owner: type, name: str, to: object = "cuda", own: object = None) -> property:
    """A property in the place of the attribute `name` of `owner`'s instances, which answers `to` for `own`, the backend's name."""
    kept_for = own if own is not None else context.backend.computes_on or context.backend.device_type
    return renamed_by_view(context, owner, name, lambda kept: _renamed(kept, kept_for, to))


def _renamed(kept: object, own: object, to: object) -> object:
    """`to` for `own`; of a device's name the number stays."""
    if isinstance(kept, str) and kept.startswith(f"{own}:"):
        return f"{to}{kept[len(str(own)) :]}"
    return to if kept == own else kept


def renamed_by_view(context: Context, owner: type, name: str, renamed: Callable[[Any], object]) -> property:
    """A property in the place of the attribute `name` of `owner`'s instances: code that sees CUDA gets what `renamed` makes of it.

    Where the class has a property, ours asks it; otherwise the value is an entry of each instance, and stays one.
    """
    property_of_torch = vars(owner).get(name)

    def honest(self: Any) -> Any:
        if property_of_torch is not None:
            return property_of_torch.__get__(self)
        try:
            return vars(self)[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}") from None

    def cuda(self: Any) -> Any:
        return renamed(honest(self))

    def keep(self: Any, value: object) -> None:
        vars(self)[name] = value

    def drop(self: Any) -> None:
        del vars(self)[name]

    answer = by_view(context.views, cuda, honest)
    return property(answer) if property_of_torch is not None else property(answer, keep, drop)


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
