"""Compiles the gates. As a program, in the background: `python -m torchada.areas.kernels._gates.worker JOB`."""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from _torchada_cache.cache import Cache

LIBRARY, ERRORS = "gates.so", "errors.txt"
_SOURCE = "gates.cpp"


class Job(NamedTuple):
    """What is compiled, the name of its entry in the cache, and what comes before and behind the source on the command line."""

    entry: str
    source: str
    before: list[str]
    behind: list[str]


def build(kept: Cache, job: Job) -> Path:
    """The entry of the cache. What does not compile is not tried again with this compiler: its messages are kept."""
    return kept.get(job.entry, partial(_compile, job))


def _compile(job: Job, place: Path) -> None:
    from _torchada_cache import compilers

    (place / _SOURCE).write_text(job.source, encoding="utf-8")
    done = compilers.run([*job.before, str(place / _SOURCE), "-o", str(place / LIBRARY), *job.behind])
    if fault := done.fault_of_the_machine():
        raise OSError(fault)
    if done.status:
        (place / LIBRARY).unlink(missing_ok=True)
        (place / ERRORS).write_text(done.output, encoding="utf-8")


def main(text: str) -> None:
    from _torchada_cache.cache import Cache

    folder, *rest = json.loads(text)
    kept, job = Cache("torchada", "TORCHADA_CACHE_DIR", Path(folder)), Job(*rest)
    if not kept.is_busy(job.entry):  # of many ranks, each began one: nobody needs those that would wait
        os.nice(10)
        build(kept, job)


if __name__ == "__main__":
    main(sys.argv[1])
