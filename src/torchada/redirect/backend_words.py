"""Texts that torch or the backend's adapter made, with the device called as on CUDA, for code that sees CUDA."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchada.backends.descriptor import Backend
    from torchada.redirect.context import Context
    from torchada.views.view import Views


def as_cuda(backend: Backend) -> Callable[[str], str]:
    """A function that renames the device and its NCCL in a text. The backend's other libraries, and paths, keep their names."""
    name, library = backend.device_type, _nccl(backend)

    def renamed(text: str) -> str:
        # Most texts have no such name, and the expression is compiled for the first that has one.
        if library in text:
            text = re.sub(rf"\b{library}\b", "NCCL", text)
        return _names(name).sub(_on_cuda, text) if name in text.lower() else text

    return renamed


def _nccl(backend: Backend) -> str:
    """The backend's library as texts call it. The host's is a name for Gloo."""
    own = backend.collectives.names.get("nccl") if backend.computes_on is None else None
    return (own or "nccl").upper()


def is_for_cuda(views: Views) -> bool:
    """Whether the program that has called torch sees CUDA, whatever of torch or of the adapter is in between."""
    return views.sees_cuda(globals())


def error_of_cuda(error: BaseException, context: Context) -> BaseException:
    """What a program that sees CUDA gets in the place of an error of one of Python's own classes: the same error with other texts,
    or one of the class that CUDA raises for an error of the runtime, since torch has it. Other programs get `error` as it is.
    """
    if type(error).__module__ != "builtins":
        return error
    renamed = as_cuda(context.backend)
    others = tuple(renamed(value) if type(value) is str else value for value in error.args)
    if others == error.args or not is_for_cuda(context.views):
        return error
    kind = getattr(context.torch, "AcceleratorError", None)
    if kind is not None and type(error) is RuntimeError and str(others[0]).startswith("CUDA error:"):
        made = kind(*others)
        made.error_code = _code_of(str(others[0]), context.torch)
        made.__context__, made.__cause__ = error.__context__, error.__cause__
        return made  # type: ignore[no-any-return]
    error.args = others
    return error


def _code_of(text: str, torch: Any) -> int:
    """The runtime's number of an error, by what it says: 101 for an invalid device ordinal; 999, the unknown error, otherwise."""
    said = text.partition("CUDA error: ")[2].partition("\n")[0]
    with suppress(Exception):  # the runtime may be what has failed
        runtime = torch.cuda.cudart()
        for code in range(1, 999):
            if runtime.cudaGetErrorString(runtime.cudaError(code)) == said:
                return code
    return 999


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
