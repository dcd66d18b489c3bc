"""libmccl.so.2: MCCL's C API over the simulated runtime. torch_musa is linked against it, so the simulated one loads it."""

from __future__ import annotations

import ctypes
import hashlib
from functools import partial
from pathlib import Path

from _torchada_cache import compilers
from musasim.base import cache
from musasim.base.toolchain import SHARED_LIBRARY, find_compiler
from musasim.errors import MusasimBuildError

NAME = "libmccl.so.2"
_LIBRARIES = Path(__file__).parent
_INCLUDE = _LIBRARIES.parent / "include"
_INCLUDES = (_LIBRARIES.parents[1] / "musart" / "include", _INCLUDE)
_SOURCE = _LIBRARIES / "mccl.cpp"


def load(runtime: Path) -> None:
    """Load it into this process, in which the dynamic linker then finds it by its name, as after the real ``import torch_musa``."""
    ctypes.CDLL(str(library(runtime)))


def library(runtime: Path) -> Path:
    """Return the compiled library's path. `runtime` is any libmusart.so: whichever a process has loaded is used."""
    return cache.stored(f"mccl-{_digest()}", partial(_compile, runtime)) / NAME


def files() -> list[Path]:
    """What it is compiled from."""
    headers = [_INCLUDE / "mccl.h", _LIBRARIES / "in_stream.h", *_INCLUDES[0].glob("*.h")]
    return [_SOURCE, *headers, *(_LIBRARIES / "mccl").iterdir()]


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
