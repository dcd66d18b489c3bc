"""From a source file to a shared library, by one run of the compiler, and only if that has not been done before."""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from torchada.cpp_ops import cache, sources


class CompileError(RuntimeError):
    """A source that does not compile, or that nothing is there to compile; the text has the compiler's output."""


@dataclass(frozen=True)
class Compiler:
    """`version` names all that a result depends on beside its source; `command` is what comes before the source, and behind it."""

    version: str
    command: Callable[[], tuple[list[str], list[str]]]

    def key(self, source: Path) -> str:
        """Equal for equal results: the source, the headers beside it, the compiler, its options, PyTorch."""
        digest = hashlib.sha256(self.version.encode())
        for path in (source, *sources.headers(source)):
            digest.update(f"\n{path.name}\n".encode() + path.read_bytes())
        return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Builder:
    """Compiles into `folder`. `compilers` finds one for each suffix, when it is needed; `jobs` is how many run at a time."""

    folder: Path
    compilers: Mapping[str, Callable[[], Compiler]]
    verbose: bool = False
    jobs: int = min(os.cpu_count() or 1, 4)

    def build(self, files: Sequence[Path]) -> dict[Path, Path | CompileError]:
        """The library of each source, or why there is none."""
        folder = cache.open_folder(self.folder)
        results: dict[Path, Path | CompileError] = {}
        missing: list[tuple[Path, Compiler, Path]] = []
        for source in files:
            try:
                compiler = self.compilers[source.suffix]()
            except CompileError as error:
                results[source] = error
                continue
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
                before, behind = compiler.command()
                self._run([*before, f"-I{source.parent}", str(source), "-o", str(place), *behind], source)
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
