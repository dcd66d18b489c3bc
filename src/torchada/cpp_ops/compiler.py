"""From a source file to a shared library, by one run of the compiler, and only if that has not been done before."""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torchada.cpp_ops import cache, sources


class CompileError(RuntimeError):
    """A source that does not compile, or that nothing is there to compile; the text has the compiler's output."""


@dataclass(frozen=True)
class Compiler:
    """`command`, a source, and `libraries` make a library; `version` names what else its result depends on."""

    command: tuple[str, ...]
    libraries: tuple[str, ...]
    version: str

    def key(self, source: Path) -> str:
        """Equal for equal results: the source, the headers beside it, the compiler, its options, PyTorch."""
        digest = hashlib.sha256(repr((self.command, self.libraries, self.version)).encode())
        for path in (source, *sources.headers(source)):
            digest.update(f"\n{path.name}\n".encode() + path.read_bytes())
        return digest.hexdigest()[:16]


def host_compiler(torch: Any, chosen: str) -> Compiler:
    """The C++ compiler, `chosen` ($CXX, which may carry options) or the first of the usual names, with what PyTorch needs."""
    command = shlex.split(chosen) or ["c++", "g++", "clang++"]
    names = [command[0]] if chosen else command
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        raise CompileError(f"there is no C++ compiler ({f'CXX={chosen}' if chosen else ', '.join(names)})")
    status = Path(path).resolve().stat()
    options = [*(command[1:] if chosen else ()), "-std=c++20", *compile_options(torch)]
    version = f"{status.st_size} {status.st_mtime_ns} torch {torch.__version__} {platform.machine()}"
    return Compiler((path, *options), tuple(libraries(torch)), version)


def compile_options(torch: Any) -> list[str]:
    """What makes a shared library with the headers of PyTorch and of overrides, for any compiler."""
    include = Path(torch.__file__).parent / "include"
    return [
        "-O2",
        "-fPIC",
        "-shared",
        "-fvisibility=hidden",
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}",
        f"-isystem{include}",
        f"-isystem{include / 'torch' / 'csrc' / 'api' / 'include'}",
        f"-I{sources.OWN}",
    ]


def libraries(torch: Any) -> list[str]:
    """PyTorch's libraries, found again where they are now."""
    folder = Path(torch.__file__).parent / "lib"
    return [f"-L{folder}", f"-Wl,-rpath,{folder}", "-lc10", "-ltorch_cpu"]


@dataclass(frozen=True)
class Builder:
    """Compiles into `folder`. `compilers` has one for each suffix, `jobs` is how many run at a time."""

    folder: Path
    compilers: Mapping[str, Compiler]
    verbose: bool = False
    jobs: int = min(os.cpu_count() or 1, 4)

    def build(self, files: Sequence[Path]) -> dict[Path, Path | CompileError]:
        """The library of each source, or why there is none."""
        folder = cache.open_folder(self.folder)
        results: dict[Path, Path | CompileError] = {}
        missing: list[tuple[Path, Compiler, Path]] = []
        for source in files:
            compiler = self.compilers[source.suffix]
            results[source] = target = folder / f"{source.stem}-{compiler.key(source)}.so"
            if not target.exists():
                missing.append((source, compiler, target))
        if missing:
            with cache.locked(folder):
                results.update(self._compile(missing))
        return results

    def _compile(self, missing: Sequence[tuple[Path, Compiler, Path]]) -> dict[Path, Path | CompileError]:
        names = ", ".join(source.stem for source, _, _ in missing)
        print(f"torchada: compiling overrides of operators, once: {names} ...", file=sys.stderr, flush=True)
        with ThreadPoolExecutor(self.jobs) as pool:
            done = pool.map(lambda each: self._compile_one(*each), missing)
            return {source: result for (source, _, _), result in zip(missing, done)}

    def _compile_one(self, source: Path, compiler: Compiler, target: Path) -> Path | CompileError:
        if target.exists():  # another process has made it while this one waited for the lock
            return target
        try:
            with cache.written(target) as place:
                command = [*compiler.command, f"-I{source.parent}", str(source), "-o", str(place), *compiler.libraries]
                self._run(command, source)
        except CompileError as error:
            return error
        return target

    def _run(self, command: list[str], source: Path) -> None:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        if self.verbose:
            print(f"torchada: {shlex.join(command)}\n{done.stdout}", end="", file=sys.stderr, flush=True)
        if done.returncode:
            raise CompileError(f"{source} does not compile\n{_first_errors(done.stdout)}")


def _first_errors(output: str) -> str:
    """The lines that a person looks for; compilers say much more about templates."""
    lines = [line for line in output.splitlines() if "error" in line.lower()] or output.splitlines()
    return "\n".join(lines[:3]) + "\nTORCHADA_CPP_OPS_VERBOSE=1 shows everything."
