"""The place where PyTorch makes errors of Python, as the owner of a patch: a function that is called with each error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchada.redirect.engine import Patch, Skip
from torchada.redirect.owners import MISSING

Rename = Callable[[BaseException], object]


def patch(rename: Rename) -> Patch:
    """Raises Skip where the C part was not built."""
    try:
        from torchada.redirect.native import _error_texts as module
    except ImportError as error:
        raise Skip(f"the extension for texts of errors was not built: {error}") from None
    return Patch(_ErrorTexts(module), "rename", rename, None, note="texts of errors that PyTorch raises from C++")


class _ErrorTexts:
    __torchada_owner__ = True

    def __init__(self, module: Any) -> None:
        self._module = module
        self._armed: Any = MISSING

    def get(self, name: str) -> Any:
        return self._armed

    def set(self, name: str, value: Rename) -> None:
        self._module.arm(value)
        self._armed = value

    def delete(self, name: str) -> None:
        self._module.disarm()
        self._armed = MISSING
