"""Functions and attributes of torch that tell the device by its name, or in a text: code that sees CUDA gets CUDA's."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torchada.redirect.backend_words import as_cuda
from torchada.redirect.by_view import by_view
from torchada.redirect.context import Context

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
    renamed = as_cuda(context.backend)

    def cuda(*args: P.args, **kwargs: P.kwargs) -> str:
        return renamed(original(*args, **kwargs))

    return by_view(context.views, cuda, original)


def kept_name(context: Context, owner: type, name: str, to: object = "cuda", own: object = None) -> property:
    """A property in the place of the attribute `name` of `owner`'s instances, which answers `to` for `own`, the backend's name.

    Where the class has a property, ours asks it; otherwise the value is an entry of each instance, and stays one.
    """
    property_of_torch = vars(owner).get(name)
    kept_for = own if own is not None else context.backend.computes_on or context.backend.device_type

    def honest(self: Any) -> Any:
        if property_of_torch is not None:
            return property_of_torch.__get__(self)
        try:
            return vars(self)[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}") from None

    def cuda(self: Any) -> Any:
        kept = honest(self)
        return to if kept == kept_for else kept

    def keep(self: Any, value: object) -> None:
        vars(self)[name] = value

    def drop(self: Any) -> None:
        del vars(self)[name]

    answer = by_view(context.views, cuda, honest)
    return property(answer) if property_of_torch is not None else property(answer, keep, drop)
