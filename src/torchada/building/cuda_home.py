"""A folder that builds take for CUDA's toolkit: bin/nvcc is our program, and its headers and libraries are the accelerator's.

It lies in the user's private cache, one for each toolkit, Python and torchada, and is made once. Where there is no such cache, it
lies in a temporary folder, because a program that imports torch.utils.cpp_extension may not build anything.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from torchada.building.errors import BuildError, say
from torchada.building.toolkit import Toolkit

if TYPE_CHECKING:
    from _torchada_cache.cache import Cache

RECORD = "torchada.json"
_CACHE = "cuda-home"
_PACKAGES = Path(__file__).resolve().parents[2]


def cuda_home(toolkit: Toolkit, chosen: str | None = None) -> str | None:
    """The path of the folder, which is made unless it exists undamaged; None where there is no toolkit.

    `chosen` is the folder of caches that the user has named, if any; raises BuildError where that folder cannot be used.
    """
    from torchada.base.caches import CacheError, cache

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
        from torchada.building import cuda_home_files

        _forget_others(cache)
        cuda_home_files.fill(place, cache.folder / name / RECORD, toolkit)
        (place / RECORD).write_text(record, encoding="utf-8")

    return str(cache.get(name, make))


@lru_cache(maxsize=1)
def _temporary(reason: str) -> Cache:
    """A cache for this process and its children."""
    from torchada.base.caches import temporary

    say([f"{reason}; until then, each process makes its own CUDA_HOME, in a temporary folder"])
    return temporary(_CACHE)


def toolkit_of(record: str) -> Toolkit:
    """The toolkit that a folder was made for, without its functions, because the caller has no torch."""
    with open(record, encoding="utf-8") as stream:
        values = json.load(stream)["toolkit"]
    return Toolkit(**{**values, "libraries": tuple(values["libraries"])})


def _record(toolkit: Toolkit) -> str:
    plain = {field.name: getattr(toolkit, field.name) for field in fields(toolkit) if field.compare}
    folders = [toolkit.folder("include"), toolkit.library_folder()]
    stamps = [os.stat(folder).st_mtime_ns if os.path.isdir(folder) else None for folder in folders]
    ours = [(path.name, path.stat().st_mtime_ns) for path in sorted(Path(__file__).parent.glob("*.py"))]
    parts = {"toolkit": plain, "python": sys.executable, "packages": str(_PACKAGES), "stamps": stamps, "ours": ours}
    return json.dumps(parts, sort_keys=True)


def _forget_others(cache: Cache) -> None:
    """Remove folders of an installation that is gone, such as the environment of an isolated build."""
    for record in cache.folder.glob(f"*/{RECORD}"):
        try:
            values = json.loads(record.read_text(encoding="utf-8"))
            is_there = os.path.isdir(os.path.join(values["packages"], "torchada")) and os.path.exists(values["python"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
        if not is_there:
            cache.remove(record.parent.name)
