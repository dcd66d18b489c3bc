"""What CUDA has and the backend has not: a name that is there, and says so when it is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context


class UnsupportedError(NotImplementedError):
    """A program used an API of CUDA that has no counterpart on the backend. The message names the API, and says why."""


class UnsupportedAttributeError(UnsupportedError, AttributeError):
    """The same for a field of an object: hasattr answers False, and getattr with a default gives the default."""


def error(context: Context, api: str, why: str) -> UnsupportedError:
    """The error for `api`, such as "torch.cuda.jiterator", with the reason, and what to do instead where there is something."""
    return UnsupportedError(f"{api} has no counterpart on {context.backend.name.upper()}: {why}")


def unsupported(context: Context, api: str, why: str, original: Any = None) -> Callable[..., Any]:
    """A function in the place of `original` (None: a new name) that raises."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise error(context, api, why)

    if original is not None:
        return disguise(refuse, original)
    refuse.__name__ = refuse.__qualname__ = api.rpartition(".")[2]
    return refuse


def unsupported_class(context: Context, api: str, why: str) -> type:
    """A class that cannot be instantiated: isinstance and annotations go on working."""

    def __new__(cls: type, *args: Any, **kwargs: Any) -> Any:
        raise error(context, api, why)

    module, _, name = api.rpartition(".")
    return type(name, (), {"__new__": __new__, "__module__": module, "__doc__": f"Not on this backend: {why}"})
