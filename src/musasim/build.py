"""Compiles the C++ part once per torch, Python and musasim, and loads it."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from pathlib import Path
from typing import TYPE_CHECKING

from musasim import native_names
from musasim.base import cache, settings
from musasim.base.toolchain import (
    Library,
    Torch,
    find_compiler,
    find_ninja,
    find_torch,
    forward_to,
    ninja_file,
    torch_extension,
)
from musasim.errors import MusasimBuildError
from musasim.toolkit.libraries import by_name
from musasim.vendors.face import native_part

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["MusasimBuildError", "Target", "build", "load"]

_MODULE = "torch_musa._MUSAC"
_LIBRARY = "_MUSAC.so"
# The simulated driver and runtime. The extension loads it, and from then on the dynamic linker finds it by this name.
_RUNTIME = "libmusart.so"
# The whole C++ part, under the name that extensions link against, so that an extension shares it with its process.
_PYTHON = "libmusa_python.so"
_KERNELS = "libmusa_kernels.so"
_MUSASIM = Path(__file__).parent
_MUSART = _MUSASIM / "musart"
_SOURCES = _MUSASIM / "torch_musa" / "native"
# The headers that extensions include. The C++ part implements them.
_HEADERS = _MUSASIM / "torch_musa" / "csrc"
_GENERATED = _MUSASIM / "torch_musa" / "share" / "generated_cuda_compatible" / "include"
# The slowest first, because the object that is finished last decides how long a build with two jobs takes.
_UNITS = ("autocast", "mccl", "ops", "python", "runtime")


@dataclass(frozen=True)
class Target:
    """The extension for one torch: where it is stored and what it is built from."""

    torch: Torch

    @property
    def folder(self) -> str:
        # Not by sysconfig: until Python 3.12 it answers None while another thread asks it for the first time.
        interpreter = EXTENSION_SUFFIXES[0].split(".")[1]
        return f"torch-{self.torch.version}-{interpreter}-{_source_hash()}"

    @property
    def path(self) -> Path:
        return cache.cache_path() / self.folder / _LIBRARY

    @property
    def libraries(self) -> list[Library]:
        runtime = Library(_RUNTIME, [_MUSART / "musart.cpp"], flags=["-O2"], link=["-pthread"])
        units = [_SOURCES / f"{unit}.cpp" for unit in _UNITS]
        includes = [_MUSASIM, _GENERATED, _MUSART / "include"]
        python = torch_extension(self.torch, _PYTHON, units, [runtime], includes)
        return [python, runtime, forward_to(_KERNELS, python), forward_to(_LIBRARY, python)]

    @property
    def entries(self) -> dict[str, list[str]]:
        """What starting the simulator needs of the cache: its entries, and the files in each."""
        own = {self.folder: [library.name for library in self.libraries]}
        return own | {library.folder: [library.name] for library in by_name.ALL}

    def compile(self, workspace: Path) -> None:
        """Leave the libraries, and nothing else, in `workspace`."""
        compiler, ninja = find_compiler(), find_ninja()
        place = workspace / "build"
        place.mkdir()
        (place / "build.ninja").write_text(ninja_file(compiler, self.libraries), encoding="utf-8")
        _run_ninja(ninja, place, self.torch)
        for library in self.libraries:
            os.rename(place / library.name, workspace / library.name)
        shutil.rmtree(place)


def load() -> ModuleType:
    """Return the module ``torch_musa._MUSAC``, by the names of the chosen face. It is compiled first if necessary."""
    loaded = sys.modules.get(_MODULE)
    if loaded is None:
        settings.tell(settings.of_python())
        path = build()
        loaded = _import(path)
        native_names.simulate(loaded)
        for library in by_name.ALL:
            library.load(path.with_name(_RUNTIME))
        if (tally := sys.modules.get("musasim.tally")) is not None:  # somebody wants to know what runs
            tally.loaded(path.with_name(_PYTHON))
    return native_part(loaded)


def build_all() -> Path:
    """As `build`, with the libraries that are loaded beside it."""
    path = build()
    for library in by_name.ALL:
        library.library(path.with_name(_RUNTIME))
    return path


def build() -> Path:
    """Return the compiled extension's path. One process at a time compiles it, if it is missing or damaged."""
    target = Target(find_torch())
    return cache.stored(target.folder, target.compile) / _LIBRARY


def _import(path: Path) -> ModuleType:
    loader = ExtensionFileLoader(_MODULE, str(path))
    spec = importlib.util.spec_from_file_location(_MODULE, path, loader=loader)
    assert spec is not None  # a loader is given
    try:
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
    except ImportError as error:
        raise MusasimBuildError(
            f"musasim's C++ part cannot be loaded: {error}. {_way_out(path, str(error))}"
        ) from error
    sys.modules[_MODULE] = module
    return module


def _way_out(path: Path, error: str) -> str:
    if "failed to map segment" in error and os.statvfs(path).f_flag & os.ST_NOEXEC:
        return "Its file system is mounted without the right to execute (noexec); set MUSASIM_CACHE_DIR to a folder on another one."
    return "It may have been compiled for another build of this torch. Run `python -m musasim clean`, so that it is compiled again."


def _source_hash() -> str:
    digest = hashlib.sha256(cache.LAYOUT)
    for folder in (_MUSART, _SOURCES, _HEADERS, _GENERATED):
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".cpp", ".h", ".muh"):
                digest.update(str(path.relative_to(folder)).encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _run_ninja(ninja: str, workspace: Path, torch: Torch) -> None:
    progress = _Progress(torch.version)
    command = [ninja, f"-j{min(len(_UNITS), os.cpu_count() or 1)}"]
    environment = {**os.environ, "NINJA_STATUS": "[%f/%t] ", "LC_ALL": "C"}
    output: list[str] = []
    with subprocess.Popen(
        command, cwd=workspace, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None  # it is a pipe
        try:
            for line in process.stdout:
                output.append(line)
                progress.show(line)
        except BaseException:
            process.terminate()  # ninja stops its compilers, and only then may the workspace be removed
            raise
    progress.finish()
    if process.returncode != 0:
        raise MusasimBuildError(_explain_output("".join(output), torch))


def _explain_output(output: str, torch: Torch) -> str:
    advice = "Please report this, with the output above."
    if "No space left on device" in output:
        advice = "The disk is full: free some space, or set MUSASIM_CACHE_DIR and TMPDIR to another disk."
    elif "Disk quota exceeded" in output:
        advice = "Your quota is used up: free some space, or set MUSASIM_CACHE_DIR and TMPDIR to another disk."
    elif any(text in output for text in ("Killed signal", "Cannot allocate memory", "memory exhausted")):
        advice = "There was not enough memory: end other programs, or give the machine or container more."
    elif "Python.h" in output:
        advice = "Python's headers are missing. Install them (Debian, Ubuntu: `apt install python3-dev`)."
    elif "-std=c++20" in output.split("error:", 1)[-1]:
        advice = "The compiler does not support C++20. Set CXX to a newer one (GCC 10 or Clang 12 at least)."
    return f"musasim: compiling for torch {torch.version} failed.\n{output.rstrip()}\n{advice}"


class _Progress:
    """One line on stderr, with a counter if stderr is a terminal."""

    def __init__(self, version: str) -> None:
        self._text = f"musasim: compiling for torch {version} (once, about a minute) ..."
        self._live = sys.stderr.isatty()
        print(self._text, end="" if self._live else "\n", file=sys.stderr, flush=True)

    def show(self, line: str) -> None:
        if self._live and line.startswith("["):
            print(f"\r{self._text} {line.split(']')[0]}]", end="", file=sys.stderr, flush=True)

    def finish(self) -> None:
        if self._live:
            print(file=sys.stderr, flush=True)
