"""What is in the folder that builds take for CUDA's toolkit (`cuda_home`). Loaded where one is made: it knows the porter."""

from __future__ import annotations

import json
import os
import platform
import shlex
import sys
import sysconfig
from pathlib import Path

from torchada.building import cuda_headers
from torchada.building.libraries import counterpart
from torchada.building.toolkit import Toolkit
from torchada.porting.rules.build import LINKED_LIBRARIES
from torchada.porting.versions import REACHED

VERSION = f"{REACHED // 1000}.{REACHED % 1000 // 10}"
"""The version of CUDA that the accelerator's toolkit counts as, in guards of sources and here."""
LAUNCHER = "port-and-compile"
"""The program beside nvcc that CMake starts before the host's compiler (`host_compiler`)."""
WITH_HEADERS = "with-precompiled-headers"
"""The program beside nvcc that ninja starts before the host's compiler (`precompiled`)."""
CMAKE_RULES = "nvcc.cmake"
"""The file in the folder that tells CMake what it does not know of nvcc by its version."""
_PACKAGES = Path(__file__).resolve().parents[2]
# CMake takes nvcc to compile C++20 from CUDA 12 on, and a project that asks for it ends at its start otherwise. As a toolchain file
# it names itself, because CMake reads the standards of a compiler after it, and once more for each program that it tries. A project
# that asks for a CMake before 3.12 gets one that overlooks Torch_ROOT, and finds PyTorch's own package where it names its folder.
_CMAKE_RULES = """\
set(CMAKE_USER_MAKE_RULES_OVERRIDE_CUDA "${CMAKE_CURRENT_LIST_FILE}")
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
set(CMAKE_CUDA_STANDARD_LATEST 20)
if(NOT Torch_DIR AND NOT Torch_ROOT AND EXISTS "$ENV{Torch_ROOT}/Torch/TorchConfig.cmake")
  set(Torch_DIR "$ENV{Torch_ROOT}/Torch" CACHE PATH "PyTorch's package, as torchada completes it")
endif()
"""
# Headers of CUDA's toolkit that are not for its devices, and that the accelerator's toolkit does not have.
_MORE_HEADERS = Path(__file__).with_name("cuda_include")
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
_PROGRAM = "import sys; {paths}; from torchada.building.{module} import main; sys.exit(main({record!r}))"


def fill(new: Path, record: Path, toolkit: Toolkit) -> None:
    """Write the folder. `record` is where its file of the toolkit's values will be."""
    (new / "bin").mkdir()
    _program(new / "bin" / "nvcc", "nvcc", record)
    _program(new / "bin" / LAUNCHER, "host_compiler", record)
    _program(new / "bin" / WITH_HEADERS, "precompiled", record)
    _own_compiler(new / "bin" / toolkit.compiler, toolkit)
    (new / "version.json").write_text(json.dumps({"cuda": {"name": "CUDA SDK", "version": f"{VERSION}.0"}}))
    (new / "version.txt").write_text(f"CUDA Version {VERSION}.0\n")  # which Meson reads
    (new / CMAKE_RULES).write_text(_CMAKE_RULES)
    _headers(new / "include", toolkit)
    (new / "nvvm" / "libdevice").mkdir(parents=True)  # CMake takes the folder that has this one for the toolkit
    _libraries(new / "lib64", toolkit)
    (new / "lib").symlink_to("lib64")
    target = new / "targets" / f"{platform.machine()}-linux"  # where Meson looks
    target.mkdir(parents=True)
    (target / "include").symlink_to("../../include")
    (target / "lib").symlink_to("../../lib64")


def _program(file: Path, module: str, record: Path) -> None:
    """Write a program that calls a module of ours."""
    program = _PROGRAM.format(paths=_paths(), module=module, record=str(record))
    python = shlex.quote(sys.executable or "python3")
    file.write_text(f'#!/bin/sh\nexec {python} -I -S -c {shlex.quote(program)} "$@"\n', encoding="utf-8")
    file.chmod(0o755)


def _paths() -> str:
    """The statements that let the program find us and, where Python cannot read TOML by itself, the package that can."""
    paths = f"sys.path.insert(0, {str(_PACKAGES)!r})"
    if sys.version_info < (3, 11):
        paths += f"; sys.path.append({sysconfig.get_path('purelib')!r})"
    return paths


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
    for header in _MORE_HEADERS.rglob("*.h*"):
        copy = include / header.relative_to(_MORE_HEADERS)
        if not copy.exists():
            copy.parent.mkdir(exist_ok=True)
            copy.write_bytes(header.read_bytes())
    cuda_headers.write(include)


def _libraries(lib: Path, toolkit: Toolkit) -> None:
    """Link the toolkit's libraries, and write a linker script with CUDA's name for each counterpart of a CUDA library."""
    lib.mkdir()
    _link_all(toolkit.library_folder(), lib)
    for name in LINKED_LIBRARIES:
        own = lib / f"lib{counterpart(name, toolkit)}.so"
        script = lib / f"lib{name}.so"
        if own.exists() and not script.exists():
            script.write_text(_linker_script(own))
    runtime = lib / f"lib{toolkit.runtime}.so"
    if runtime.exists():  # CMake links with both of these, unless a project says otherwise
        (lib / "libcudart_static.a").write_text(_linker_script(runtime))
        (lib / "libcudadevrt.a").write_text("!<arch>\n")


def _linker_script(library: Path) -> str:
    """In quotes: a path may have blanks, and what has a meaning in such scripts."""
    return f'INPUT("{library.resolve()}")\n'


def _link_all(source: str, folder: Path) -> None:
    if os.path.isdir(source):
        for entry in os.scandir(source):
            (folder / entry.name).symlink_to(entry.path)
