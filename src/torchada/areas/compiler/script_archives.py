"""Files of torch.jit.save: written with CUDA's names, so that a CUDA machine reads them, and read with CUDA's names.

torch reads and writes them in C++. The native mechanism redirects the parser that reads; the portable one renames the devices in
a copy of a file that has such names.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from torchada.areas.compiler._archives import mentions, renamed
from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch


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


def _save_to_buffer(context: Context, original: Callable[..., Any]) -> Callable[..., Any]:
    device_type = context.backend.device_type

    def save_to_buffer(self: Any, *args: Any, **kwargs: Any) -> bytes:
        return renamed(original(self, *args, **kwargs), device_type, "cuda")

    return disguise(save_to_buffer, original)


def _save(original: Callable[..., Any], to_buffer: Callable[..., Any]) -> Callable[..., Any]:
    def save(self: Any, f: Any, *args: Any, **kwargs: Any) -> None:
        Path(os.fspath(f)).write_bytes(to_buffer(self, *args, **kwargs))

    return disguise(save, original)


def _load_buffer(context: Context, original: Callable[..., Any]) -> Callable[..., Any]:
    device_type = context.backend.device_type

    def import_ir_module_from_buffer(cu: Any, buffer: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(buffer, bytes) and _is_from_cuda(io.BytesIO(buffer)):
            buffer = renamed(buffer, "cuda", device_type)
        return original(cu, buffer, *args, **kwargs)

    return disguise(import_ir_module_from_buffer, original)


def _load(original: Callable[..., Any], from_buffer: Callable[..., Any]) -> Callable[..., Any]:
    def import_ir_module(cu: Any, filename: Any, *args: Any, **kwargs: Any) -> Any:
        if _is_from_cuda(filename):
            return from_buffer(cu, Path(filename).read_bytes(), *args, **kwargs)
        return original(cu, filename, *args, **kwargs)

    return disguise(import_ir_module, original)


def _is_from_cuda(file: Any) -> bool:
    """Whether devices of CUDA may stand in it. Anything but an archive is left to torch, and to its errors."""
    try:
        with zipfile.ZipFile(file) as archive:
            return mentions(archive, "cuda")
    except (OSError, ValueError, zipfile.BadZipFile):
        return False
