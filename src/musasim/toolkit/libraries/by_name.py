"""A library that programs open by its name, over whichever libmusart.so a process has loaded."""

from __future__ import annotations

import ctypes
import hashlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from _torchada_cache import compilers
from musasim.base import cache
from musasim.base.toolchain import SHARED_LIBRARY, find_compiler
from musasim.errors import MusasimBuildError

_FOLDER = Path(__file__).parent
_MUSART = _FOLDER.parents[1] / "musart"
_RUNTIME_HEADERS = _MUSART / "include"
INCLUDE = _FOLDER.parent / "include"


@dataclass(frozen=True)
class LibraryByName:
    """`stem`.cpp includes the files of the folder `stem`, and those of `headers`."""

    stem: str
    version: int
    headers: tuple[Path, ...] = ()

    @property
    def name(self) -> str:
        """The name for the dynamic linker."""
        return f"lib{self.stem}.so.{self.version}"

    def load(self, runtime: Path) -> None:
        """Load it into this process, in which the dynamic linker then finds it by its name, as where the vendor's is installed."""
        ctypes.CDLL(str(self.library(runtime)))

    def library(self, runtime: Path) -> Path:
        """Return the compiled library's path. `runtime` is any libmusart.so: whichever a process has loaded is used."""
        return cache.stored(self.folder, partial(self._compile, runtime)) / self.name

    @property
    def folder(self) -> str:
        """Its entry of the cache."""
        return f"{self.stem}-{self._digest()}"

    def files(self) -> list[Path]:
        """What it is compiled from."""
        return [
            _FOLDER / f"{self.stem}.cpp",
            *self.headers,
            *_RUNTIME_HEADERS.glob("*.h"),
            *(_FOLDER / self.stem).iterdir(),
        ]

    def _compile(self, runtime: Path, place: Path) -> None:
        link = [f"-L{runtime.parent}", "-lmusart", "-Wl,-rpath,$ORIGIN", f"-Wl,-soname,{self.name}"]
        sources = [f"-I{_RUNTIME_HEADERS}", f"-I{INCLUDE}", str(_FOLDER / f"{self.stem}.cpp")]
        done = compilers.run([*find_compiler(), *SHARED_LIBRARY, *sources, *link, "-o", str(place / self.name)])
        if done.status != 0:
            raise MusasimBuildError(f"musasim: compiling {self.name} failed.\n{done.output}")

    def _digest(self) -> str:
        digest = hashlib.sha256(cache.LAYOUT)
        for path in sorted(self.files()):
            digest.update(f"{path.name}\n".encode())
            digest.update(path.read_bytes())
        return digest.hexdigest()[:16]


#: MCCL's C API. torch_musa is linked against it, so the simulated one loads it.
MCCL = LibraryByName("mccl", 2, (INCLUDE / "mccl.h", _FOLDER / "in_stream.h"))
#: The management library, which the driver installs beside itself. It has no header in the toolkit.
MTML = LibraryByName("mtml", 2, (*(_MUSART / "driver").glob("*.h"), *(_MUSART / "ground").glob("*.h")))
ALL = (MCCL, MTML)
