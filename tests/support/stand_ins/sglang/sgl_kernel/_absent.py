"""Names that can be imported and not used."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn


def absent(module: str, name: str) -> Callable[..., NoReturn]:
    """A function that says which kernel the stand-in lacks. Private names raise AttributeError, as elsewhere."""
    if name.startswith("_"):
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    def kernel(*args: object, **kwargs: object) -> NoReturn:
        raise NotImplementedError(f"{module}.{name} is a kernel of Moore Threads' package, which is stood in for here")

    kernel.__name__ = name
    return kernel
