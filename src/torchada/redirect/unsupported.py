"""APIs of CUDA that the backend lacks: their names exist, and using them raises an error that names the API and the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context


class UnsupportedError(NotImplementedError):
    """A program used an API of CUDA that has no counterpart on the backend. The message names the API and the reason."""


class UnsupportedAttributeError(UnsupportedError, AttributeError):
    """The same for a field of an object: hasattr answers False, and getattr with a default gives the default."""


def error(context: Context, api: str, why: str) -> UnsupportedError:
    """The error for `api`, such as "torch.cuda.jiterator", with the reason, and with an alternative if there is one."""
    return UnsupportedError(f"{api} has no counterpart on {context.backend.name.upper()}: {why}")


def unsupported(context: Context, api: str, why: str, original: Any = None) -> Callable[..., Any]:
    """A function that raises, in the place of `original` (None: of a name that torch does not have)."""

    def refuse(*args: object, **kwargs: object) -> NoReturn:
        raise error(context, api, why)

    if original is not None:
        return disguise(refuse, original)
    refuse.__name__ = refuse.__qualname__ = api.rpartition(".")[2]
    return refuse


def unsupported_class(context: Context, api: str, why: str) -> type:
    """A class that cannot be instantiated; isinstance and annotations still work."""

    def __new__(cls: type, *args: object, **kwargs: object) -> NoReturn:
        raise error(context, api, why)

    module, _, name = api.rpartition(".")
    return type(
        name, (), {"__new__": __new__, "__module__": module, "__doc__": f"Not available on this backend: {why}"}
    )
