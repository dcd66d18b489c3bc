"""The library of gates for this PyTorch: found in the private cache, or compiled in the background for later processes.

A process keeps the kernels that it has begun with: the dispatcher's table must not change while other threads call operators.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from torchada.areas.kernels import _host_compiler
from torchada.areas.kernels._gates import source, worker
from torchada.areas.kernels._gates.library import Library

if TYPE_CHECKING:
    from _torchada_cache.cache import Cache
    from torchada.redirect.context import Context

# `python -m` looks for modules in the current folder first, and a file of the user's must not be taken for a library's.
_HOME = Path(__file__).resolve().parents[4]


class Found(NamedTuple):
    """The library, or why there is none."""

    library: Library | None
    why: str = ""


def find(context: Context) -> Found:
    """What the settings ask for: the library that is there, or after waiting for it ("1"); None if gates are Python's ("0")."""
    from torchada.base.caches import CacheError, cache

    if context.settings.cpp_gates == "0":
        return Found(None, "TORCHADA_CPP_GATES=0")
    try:
        kept, job = cache("gates", context.settings.cache), _job(context)
        if job is None:
            return Found(None, f"there is no C++ compiler ({_host_compiler.looked_for()})")
        entry = kept.find(job.entry)
        if entry is None and context.settings.cpp_gates == "1":
            entry = worker.build(kept, job)
        if entry is None:
            if not kept.is_busy(job.entry):
                _begin(kept, job)
            return Found(None, "they are compiled in the background, for later processes")
        return _loaded(entry)
    except (CacheError, OSError) as error:
        return Found(None, str(error))


def _loaded(entry: Path) -> Found:
    library = entry / worker.LIBRARY
    if not library.is_file():
        return Found(None, f"they do not compile: {entry / worker.ERRORS}")
    return Found(Library(library))


def _job(context: Context) -> worker.Job | None:
    torch, compiler = context.torch, _host_compiler.find()
    if compiler is None:
        return None
    options = _host_compiler.options(torch, source.HEADERS)
    before = [*compiler, *options, "-O1", *_host_compiler.torch_headers(torch)]
    text = source.write(torch)
    digest = hashlib.sha256(_host_compiler.version(torch, compiler[0], before).encode() + text.encode())
    for header in sorted(source.HEADERS.iterdir()):
        digest.update(header.read_bytes())
    return worker.Job(digest.hexdigest()[:32], text, before, _host_compiler.torch_libraries(torch))


def _begin(kept: Cache, job: worker.Job) -> None:
    """Have another process compile it, which goes on when this one ends, and is no child that the program could wait for."""
    if not sys.executable or getattr(sys, "frozen", False):
        return
    text = json.dumps([str(kept.folder), *job])
    command = [sys.executable, "-m", worker.__name__, text]
    shell = ["/bin/sh", "-c", 'TORCHADA_DISABLE=1 "$@" </dev/null >/dev/null 2>&1 &', "sh", *command]
    subprocess.run(shell, cwd=_HOME, start_new_session=True, check=False)
