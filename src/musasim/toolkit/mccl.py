"""libmccl.so.2: MCCL's C API over the simulated runtime. torch_musa is linked against it, so the simulated one loads it."""

from __future__ import annotations

import ctypes
import hashlib
from functools import partial
from pathlib import Path

from _torchada_cache import compilers
from musasim import cache
from musasim.errors import MusasimBuildError
from musasim.toolchain import SHARED_LIBRARY, find_compiler

NAME = "libmccl.so.2"
_PACKAGE = Path(__file__).parent
_INCLUDES = (_PACKAGE.parent / "csrc" / "musart" / "include", _PACKAGE / "include")
_SOURCE = _PACKAGE / "libraries" / "mccl.cpp"


def load(runtime: Path) -> None:
    """Load it into this process, in which the dynamic linker then finds it by its name, as after the real ``import torch_musa``."""
    ctypes.CDLL(str(library(runtime)))


def library(runtime: Path) -> Path:
    """Return the compiled library's path. `runtime` is any libmusart.so: whichever a process has loaded is used."""
    return cache.stored(f"mccl-{_digest()}", partial(_compile, runtime)) / NAME


def files() -> list[Path]:
    """What it is compiled from."""
    headers = [_PACKAGE / "include" / "mccl.h", _PACKAGE / "libraries" / "in_stream.h", *_INCLUDES[0].glob("*.h")]
    return [_SOURCE, *headers, *(_PACKAGE / "libraries" / "mccl").iterdir()]


def _compile(runtime: Path, place: Path) -> None:
    link = [f"-L{runtime.parent}", "-lmusart", "-Wl,-rpath,$ORIGIN", f"-Wl,-soname,{NAME}"]
    includes = [f"-I{folder}" for folder in _INCLUDES]
    done = compilers.run([*find_compiler(), *SHARED_LIBRARY, *includes, str(_SOURCE), *link, "-o", str(place / NAME)])
    if done.status != 0:
        raise MusasimBuildError(f"musasim: compiling {NAME} failed.\n{done.output}")


def _digest() -> str:
    digest = hashlib.sha256(cache.LAYOUT)
    for path in sorted(files()):
        digest.update(f"{path.name}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
