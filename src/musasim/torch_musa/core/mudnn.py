"""`torch.backends.mudnn`: switches of the neural network library."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch.backends

from .. import _MUSAC

_backends: Any = torch.backends


def version() -> int:
    """Version of muDNN."""
    return int(_MUSAC._mudnn_version())


def set_flags(_allow_tf32: bool) -> tuple[bool]:
    """Set the flags, and return the previous ones."""
    before = (bool(_MUSAC._get_allow_tf32()),)
    _MUSAC._set_allow_tf32(_allow_tf32)
    return before


@contextmanager
def flags(allow_tf32: bool = True) -> Iterator[None]:
    """Set the flags inside the block."""
    before = set_flags(allow_tf32)
    try:
        yield
    finally:
        set_flags(*before)


class MudnnModule(_backends.PropModule):  # type: ignore[misc]
    """Passes `torch.backends.mudnn.allow_tf32 = True` on to native code."""

    allow_tf32 = _backends.ContextProp(_MUSAC._get_allow_tf32, _MUSAC._set_allow_tf32)


sys.modules[__name__] = MudnnModule(sys.modules[__name__], __name__)
