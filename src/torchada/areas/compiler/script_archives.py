"""Files of torch.jit.save: written with CUDA's names, so that a CUDA machine can read them, and read with CUDA's names.

torch reads and writes them in C++. The native mechanism redirects the parser that reads them; the portable one renames the
devices in a copy of a file that has such names.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Concatenate, TypeVar

from torchada.areas.compiler._archives import mentions, renamed
from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torchada.redirect.types import P, R

S = TypeVar("S")  # a RecursiveScriptModule or a ScriptFunction
U = TypeVar("U")  # a CompilationUnit


def patches(context: Context) -> Iterator[Patch]:
    torch = context.torch
    for owner in (torch.jit.RecursiveScriptModule, torch.jit.ScriptFunction):
        save = _save_to_buffer(context, owner.save_to_buffer)
        yield Patch(owner, "save_to_buffer", save, None, note="torch.jit.save writes CUDA's names")
        yield Patch(owner, "save", _save(owner.save, save), None, note="torch.jit.save writes CUDA's names")
    if not context.mechanism.native:
        load = _load_buffer(context, torch._C.import_ir_module_from_buffer)
        yield Patch(torch._C, "import_ir_module_from_buffer", load, 'torch.jit.load(map_location="cuda")')
        yield Patch(
            torch._C, "import_ir_module", _load(torch._C.import_ir_module, load), 'torch.jit.load(map_location="cuda")'
        )


def _save_to_buffer(
    context: Context, original: Callable[Concatenate[S, P], bytes]
) -> Callable[Concatenate[S, P], bytes]:
    device_type = context.backend.device_type

    def save_to_buffer(self: S, *args: P.args, **kwargs: P.kwargs) -> bytes:
        return renamed(original(self, *args, **kwargs), device_type, "cuda")

    return disguise(save_to_buffer, original)


def _save(
    original: Callable[..., None], to_buffer: Callable[Concatenate[S, P], bytes]
) -> Callable[Concatenate[S, str | os.PathLike[str], P], None]:
    def save(self: S, f: str | os.PathLike[str], *args: P.args, **kwargs: P.kwargs) -> None:
        path = Path(os.fspath(f))
        if not path.parent.is_dir():
            raise RuntimeError(f"Parent directory {path.parent} does not exist.")  # torch's own words
        path.write_bytes(to_buffer(self, *args, **kwargs))

    return disguise(save, original)


def _load_buffer(
    context: Context, original: Callable[Concatenate[U, bytes | str, P], R]
) -> Callable[Concatenate[U, bytes | str, P], R]:
    device_type = context.backend.device_type

    def import_ir_module_from_buffer(cu: U, buffer: bytes | str, *args: P.args, **kwargs: P.kwargs) -> R:
        if isinstance(buffer, bytes) and _is_from_cuda(io.BytesIO(buffer)):
            buffer = renamed(buffer, "cuda", device_type)
        return original(cu, buffer, *args, **kwargs)

    return disguise(import_ir_module_from_buffer, original, "_C.import_ir_module_from_buffer")


def _load(
    original: Callable[Concatenate[U, str, P], R], from_buffer: Callable[Concatenate[U, bytes | str, P], R]
) -> Callable[Concatenate[U, str, P], R]:
    def import_ir_module(cu: U, filename: str, *args: P.args, **kwargs: P.kwargs) -> R:
        if _is_from_cuda(filename):
            return from_buffer(cu, Path(filename).read_bytes(), *args, **kwargs)
        return original(cu, filename, *args, **kwargs)

    return disguise(import_ir_module, original, "_C.import_ir_module")


def _is_from_cuda(file: str | IO[bytes]) -> bool:
    """Whether the file may contain devices of CUDA. Anything but an archive is left to torch and its errors."""
    try:
        with zipfile.ZipFile(file) as archive:
            return mentions(archive, "cuda")
    except (OSError, ValueError, zipfile.BadZipFile):
        return False
