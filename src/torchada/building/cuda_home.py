"""A folder that builds take for CUDA's toolkit: bin/nvcc is our program, and its headers and libraries are the accelerator's.

It lies in the user's cache, one for each toolkit, Python and torchada, and is made once.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import sys
import tempfile
from dataclasses import fields
from pathlib import Path

from torchada.building.environment import cache_folder
from torchada.building.errors import BuildError
from torchada.building.libraries import counterpart
from torchada.building.toolkit import Toolkit
from torchada.porting.rules.build import LINKED_LIBRARIES
from torchada.porting.versions import REACHED

VERSION = f"{REACHED // 1000}.{REACHED % 1000 // 10}"
"""The version of CUDA that the accelerator's toolkit counts as, in guards of sources and here."""
RECORD = "torchada.json"
_PACKAGES = Path(__file__).resolve().parents[2]
# Headers of CUDA's whose names say nothing of CUDA, so that the porter leaves them: what they declare is in the runtime's.
_PLAIN_HEADERS = (
    "builtin_types.h",
    "channel_descriptor.h",
    "device_functions.h",
    "device_launch_parameters.h",
    "driver_types.h",
    "host_config.h",
    "host_defines.h",
    "sm_30_intrinsics.h",
    "vector_functions.h",
    "vector_types.h",
)
# Nothing but our own modules and the standard library: it is started for every source that is compiled.
_PROGRAM = (
    "import sys; sys.path.insert(0, {packages!r}); from torchada.building.nvcc import main; sys.exit(main({record!r}))"
)


def cuda_home(toolkit: Toolkit) -> str | None:
    """The path of the folder, which is made if it is not there; None where there is no toolkit."""
    if toolkit.home is None:
        return None
    record = _record(toolkit)
    name = hashlib.blake2b(record.encode(), digest_size=8).hexdigest()
    parent = cache_folder() / "torchada" / "cuda-home"
    folder = parent / name
    if not (folder / RECORD).is_file():
        _make(parent, folder, toolkit, record)
    return str(folder)


def toolkit_of(record: str) -> Toolkit:
    """The toolkit that a folder was made for. Its functions are not there: who asks has no torch."""
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


def _make(parent: Path, folder: Path, toolkit: Toolkit, record: str) -> None:
    try:
        parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _forget_others(parent)
        new = Path(tempfile.mkdtemp(dir=parent))
    except OSError as error:
        raise BuildError(
            f"{parent}: {error.strerror}; builds need a folder to write to, which XDG_CACHE_HOME names"
        ) from error
    try:
        _fill(new, folder, toolkit)
        (new / RECORD).write_text(record, encoding="utf-8")
        os.rename(new, folder)
    except OSError:
        if not (folder / RECORD).is_file():  # otherwise another process was faster
            raise
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _forget_others(parent: Path) -> None:
    """Remove folders of an installation that is gone, such as the environment of an isolated build."""
    for record in parent.glob(f"*/{RECORD}"):
        try:
            values = json.loads(record.read_text(encoding="utf-8"))
            is_there = os.path.isdir(os.path.join(values["packages"], "torchada")) and os.path.exists(values["python"])
        except (OSError, ValueError, KeyError):
            continue
        if not is_there:
            shutil.rmtree(record.parent, ignore_errors=True)


def _fill(new: Path, folder: Path, toolkit: Toolkit) -> None:
    (new / "bin").mkdir()
    program = _PROGRAM.format(packages=str(_PACKAGES), record=str(folder / RECORD))
    python = shlex.quote(sys.executable or "python3")
    nvcc = new / "bin" / "nvcc"
    nvcc.write_text(f'#!/bin/sh\nexec {python} -I -S -c {shlex.quote(program)} "$@"\n', encoding="utf-8")
    nvcc.chmod(0o755)
    (new / "version.json").write_text(json.dumps({"cuda": {"name": "CUDA SDK", "version": f"{VERSION}.0"}}))
    _headers(new / "include", toolkit)
    _libraries(new / "lib64", toolkit)
    (new / "lib").symlink_to("lib64")


def _headers(include: Path, toolkit: Toolkit) -> None:
    include.mkdir()
    _link_all(toolkit.folder("include"), include)
    runtime = f"{toolkit.language}_runtime.h"
    for name in _PLAIN_HEADERS:
        if not (include / name).exists():
            (include / name).write_text(f"#pragma once\n#include <{runtime}>\n")
    if not (include / "cuda.h").exists():  # some builds look for it, or read the version in it
        (include / "cuda.h").write_text(
            f"#pragma once\n#include <{toolkit.language}.h>\n#define CUDA_VERSION {REACHED}\n"
        )


def _libraries(lib: Path, toolkit: Toolkit) -> None:
    """The toolkit's, and a linker script by CUDA's name for each that stands in for one."""
    lib.mkdir()
    _link_all(toolkit.library_folder(), lib)
    for name in LINKED_LIBRARIES:
        own = lib / f"lib{counterpart(name, toolkit)}.so"
        script = lib / f"lib{name}.so"
        if own.exists() and not script.exists():
            script.write_text(f"INPUT({own.resolve()})\n")


def _link_all(source: str, folder: Path) -> None:
    if os.path.isdir(source):
        for entry in os.scandir(source):
            (folder / entry.name).symlink_to(entry.path)
