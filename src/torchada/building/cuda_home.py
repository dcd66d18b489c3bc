"""A folder that builds take for CUDA's toolkit: bin/nvcc is our program, and its headers and libraries are the accelerator's.

It lies in the user's private cache, one for each toolkit, Python and torchada, and is made once. Where there is no such cache, it
lies in a temporary folder, because a program that imports torch.utils.cpp_extension may not build anything.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import sys
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from torchada.building import cuda_headers
from torchada.building.errors import BuildError, say
from torchada.building.libraries import counterpart
from torchada.building.toolkit import Toolkit
from torchada.porting.rules.build import LINKED_LIBRARIES
from torchada.porting.versions import REACHED

if TYPE_CHECKING:
    from _build_cache.cache import Cache

VERSION = f"{REACHED // 1000}.{REACHED % 1000 // 10}"
"""The version of CUDA that the accelerator's toolkit counts as, in guards of sources and here."""
RECORD = "torchada.json"
_CACHE = "cuda-home"
_PACKAGES = Path(__file__).resolve().parents[2]
# CUDA headers whose names do not show that they are CUDA's, so the porter leaves them: the runtime's header declares the same. Of
# mma.h, a toolkit may have nothing; many sources include it and use none of it, and the others fail where they do.
_PLAIN_HEADERS = (
    "builtin_types.h",
    "channel_descriptor.h",
    "device_functions.h",
    "device_launch_parameters.h",
    "driver_types.h",
    "host_config.h",
    "host_defines.h",
    "mma.h",
    "sm_30_intrinsics.h",
    "vector_functions.h",
    "vector_types.h",
)
# It imports only our own modules and the standard library, because it is started for every source that is compiled.
_PROGRAM = (
    "import sys; sys.path.insert(0, {packages!r}); from torchada.building.nvcc import main; sys.exit(main({record!r}))"
)


def cuda_home(toolkit: Toolkit, chosen: str | None = None) -> str | None:
    """The path of the folder, which is made unless it exists undamaged; None where there is no toolkit.

    `chosen` is the folder of caches that the user has named, if any; raises BuildError where that folder cannot be used.
    """
    from torchada._caches import CacheError, cache

    if toolkit.home is None:
        return None
    record = _record(toolkit)
    try:
        return _kept(cache(_CACHE, chosen), toolkit, record)
    except CacheError as error:
        if chosen:
            raise BuildError(str(error)) from error
        return _kept(_temporary(str(error)), toolkit, record)


def _kept(cache: Cache, toolkit: Toolkit, record: str) -> str:
    name = hashlib.blake2b(record.encode(), digest_size=8).hexdigest()

    def make(place: Path) -> None:
        _forget_others(cache)
        _fill(place, cache.folder / name, toolkit)
        (place / RECORD).write_text(record, encoding="utf-8")

    return str(cache.get(name, make))


@lru_cache(maxsize=1)
def _temporary(reason: str) -> Cache:
    """A cache for this process and its children."""
    from torchada._caches import temporary

    say([f"{reason}; until then, each process makes its own CUDA_HOME, in a temporary folder"])
    return temporary(_CACHE)


def toolkit_of(record: str) -> Toolkit:
    """The toolkit that a folder was made for, without its functions, because the caller has no torch."""
    with open(record, encoding="utf-8") as stream:
        values = json.load(stream)["toolkit"]
    return Toolkit(**{**values, "libraries": tuple(values["libraries"])})


def _record(toolkit: Toolkit) -> str:
    plain = {each.name: getattr(toolkit, each.name) for each in fields(toolkit) if each.compare}
    folders = [toolkit.folder("include"), toolkit.library_folder()]
    stamps = [os.stat(each).st_mtime_ns if os.path.isdir(each) else None for each in folders]
    ours = [(path.name, path.stat().st_mtime_ns) for path in sorted(Path(__file__).parent.glob("*.py"))]
    parts = {"toolkit": plain, "python": sys.executable, "packages": str(_PACKAGES), "stamps": stamps, "ours": ours}
    return json.dumps(parts, sort_keys=True)


def _forget_others(cache: Cache) -> None:
    """Remove folders of an installation that is gone, such as the environment of an isolated build."""
    for record in cache.folder.glob(f"*/{RECORD}"):
        try:
            values = json.loads(record.read_text(encoding="utf-8"))
            is_there = os.path.isdir(os.path.join(values["packages"], "torchada")) and os.path.exists(values["python"])
        except (OSError, ValueError, KeyError):
            continue
        if not is_there:
            cache.remove(record.parent.name)


def _fill(new: Path, folder: Path, toolkit: Toolkit) -> None:
    (new / "bin").mkdir()
    program = _PROGRAM.format(packages=str(_PACKAGES), record=str(folder / RECORD))
    python = shlex.quote(sys.executable or "python3")
    nvcc = new / "bin" / "nvcc"
    nvcc.write_text(f'#!/bin/sh\nexec {python} -I -S -c {shlex.quote(program)} "$@"\n', encoding="utf-8")
    nvcc.chmod(0o755)
    _own_compiler(new / "bin" / toolkit.compiler, toolkit)
    (new / "version.json").write_text(json.dumps({"cuda": {"name": "CUDA SDK", "version": f"{VERSION}.0"}}))
    _headers(new / "include", toolkit)
    (new / "nvvm" / "libdevice").mkdir(parents=True)  # CMake takes the folder that has this one for the toolkit
    _libraries(new / "lib64", toolkit)
    (new / "lib").symlink_to("lib64")


def _own_compiler(program: Path, toolkit: Toolkit) -> None:
    """Builds that know the accelerator look for its compiler beside nvcc. It is no link: a compiler finds its files by its path."""
    path = toolkit.folder("bin", toolkit.compiler)
    if os.access(path, os.X_OK):
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(path)} "$@"\n', encoding="utf-8")
        program.chmod(0o755)


def _headers(include: Path, toolkit: Toolkit) -> None:
    include.mkdir()
    _link_all(toolkit.folder("include"), include)
    runtime = f"{toolkit.language}_runtime.h"
    for name in _PLAIN_HEADERS:
        if not (include / name).exists():
            (include / name).write_text(f"#pragma once\n#include <{runtime}>\n")
    cuda_headers.write(include)


def _libraries(lib: Path, toolkit: Toolkit) -> None:
    """Link the toolkit's libraries, and write a linker script with CUDA's name for each counterpart of a CUDA library."""
    lib.mkdir()
    _link_all(toolkit.library_folder(), lib)
    for name in LINKED_LIBRARIES:
        own = lib / f"lib{counterpart(name, toolkit)}.so"
        script = lib / f"lib{name}.so"
        if own.exists() and not script.exists():
            script.write_text(f"INPUT({own.resolve()})\n")
    runtime = lib / f"lib{toolkit.runtime}.so"
    if runtime.exists():  # CMake links with both of these, unless a project says otherwise
        (lib / "libcudart_static.a").write_text(f"INPUT({runtime.resolve()})\n")
        (lib / "libcudadevrt.a").write_text("!<arch>\n")


def _link_all(source: str, folder: Path) -> None:
    if os.path.isdir(source):
        for entry in os.scandir(source):
            (folder / entry.name).symlink_to(entry.path)
