"""Texts that torch or the backend's adapter made, with the device called as on CUDA, for code that sees CUDA."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchada.backends.descriptor import Backend


def as_cuda(backend: Backend) -> Callable[[str], str]:
    """A function that renames the device in a text. The backend's libraries, and paths, keep their names."""
    name = backend.device_type

    def renamed(text: str) -> str:
        # Most texts have no such name, and the expression is compiled for the first that has one.
        return _names(name).sub(_on_cuda, text) if name in text.lower() else text

    return renamed


@lru_cache(maxsize=4)
def _names(name: str) -> re.Pattern[str]:
    module = rf"\btorch[._]{name}(?:\.core)?(?:\.{name})?(?=\.[A-Z])"
    # As torch names a tensor's type for a device that it does not know: musaFloatType.
    legacy = rf"\b{name}(?P<type>[A-Z]\w*)Type\b"
    # musa:0, MUSA error, musaMalloc, _MusaDeviceProperties, MUSA_LAUNCH_BLOCKING, but not torch_musa, libmusa.so or a path.
    spelt = f"{name}|{name.upper()}|{name.title()}"
    word = rf"(?:(?<![\w./-])(?P<private>_?)|(?<=\bPYTORCH_))(?:{spelt})(?=\b|_|[A-Z])(?![/.]\w)"
    return re.compile(rf"(?P<module>{module})|{legacy}|{word}")


def _on_cuda(match: re.Match[str]) -> str:
    if match["module"]:
        return "torch.cuda"
    if match["type"]:
        return f"torch.cuda.{match['type']}Tensor"
    name = "CUDA" if match[0].isupper() else "Cuda" if match[0].istitle() else "cuda"
    return (match["private"] or "") + name
