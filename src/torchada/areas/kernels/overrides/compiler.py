"""Compile a source file to a shared library, by one run of the compiler, and only if that has not been done before."""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from _torchada_cache import compilers
from _torchada_cache.cache import Cache
from torchada.areas.kernels.overrides import sources

LOCK = "compile"  # one process compiles at a time, because each uses several threads


class CompileError(RuntimeError):
    """A source does not compile, or there is no compiler for it; the text contains the compiler's output."""


@dataclass(frozen=True)
class Compiler:
    """`version` names everything a result depends on besides its source; `command` is what precedes and follows the source."""

    version: str
    command: Callable[[], tuple[list[str], list[str]]]

    def key(self, source: Path) -> str:
        """A key for the result: it depends on the source, the headers beside it, the compiler, its options and PyTorch."""
        digest = hashlib.sha256(self.version.encode())
        for path in (source, *sources.headers(source)):
            digest.update(f"\n{path.name}\n".encode() + path.read_bytes())
        return digest.hexdigest()[:16]


class _Job(NamedTuple):
    """One source to be compiled, and the name of its entry in the cache."""

    source: Path
    compiler: Compiler
    entry: str

    @property
    def library(self) -> str:
        return f"{self.source.stem}.so"


@dataclass(frozen=True)
class Builder:
    """Compiles into `cache`. `compilers` finds one for each suffix when needed; `jobs` is the number of parallel runs."""

    cache: Cache
    compilers: Mapping[str, Callable[[], Compiler]]
    verbose: bool = False
    jobs: int = min(os.cpu_count() or 1, 4)

    def build(self, files: Sequence[Path]) -> dict[Path, Path | CompileError]:
        """The library of each source, or why there is none. CacheError where the cache cannot be used."""
        results: dict[Path, Path | CompileError] = {}
        missing: list[_Job] = []
        for source in files:
            try:
                compiler = self.compilers[source.suffix]()
            except CompileError as error:
                results[source] = error
                continue
            job = _Job(source, compiler, f"{source.stem}-{compiler.key(source)}")
            library = self._found(job)
            if library is None:
                missing.append(job)
            else:
                results[source] = library
        if missing:
            with self.cache.lock(LOCK) as is_alone:
                results.update(self._compile(missing, is_alone))
        return results

    def _found(self, job: _Job) -> Path | None:
        entry = self.cache.find(job.entry)
        return None if entry is None else entry / job.library

    def _compile(self, wanted: Sequence[_Job], is_alone: bool) -> dict[Path, Path | CompileError]:
        """Compile what is still missing: another process may have compiled some while this one waited for the lock."""
        results: dict[Path, Path | CompileError] = {
            job.source: library for job in wanted if (library := self._found(job)) is not None
        }
        missing = [job for job in wanted if job.source not in results]
        if missing:
            names = ", ".join(job.source.stem for job in missing)
            print(f"torchada: compiling overrides of operators, once: {names} ...", file=sys.stderr, flush=True)
            with ThreadPoolExecutor(self.jobs) as pool:
                done = pool.map(partial(self._compile_one, is_alone=is_alone), missing)
                results.update(zip((job.source for job in missing), done))
        return results

    def _compile_one(self, job: _Job, is_alone: bool) -> Path | CompileError:
        try:
            with self.cache.stored(job.entry, is_alone) as place:
                before, behind = job.compiler.command()
                output = str(place / job.library)
                self._run([*before, f"-I{job.source.parent}", str(job.source), "-o", output, *behind], job.source)
        except CompileError as error:
            return error
        return self.cache.folder / job.entry / job.library

    def _run(self, command: list[str], source: Path) -> None:
        done = compilers.run(command)
        if self.verbose:
            print(f"torchada: {shlex.join(command)}\n{done.output}", end="", file=sys.stderr, flush=True)
        if done.status:
            raise CompileError(
                f"{source} does not compile\n{done.first_errors()}\nTORCHADA_CPP_OPS_VERBOSE=1 shows everything."
            )
