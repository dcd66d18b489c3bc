"""What an output folder holds from the last time, and what of it can be taken over.

A file is taken over when the rules and the names of all files are the same as then, and its source has the same time and size, or
else the same contents.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from torchada.porting import manifest
from torchada.porting.findings import Finding, PortingError
from torchada.porting.manifest import Record, is_as_written
from torchada.porting.project import Project
from torchada.porting.scan import Entry, stamp_of
from torchada.porting.workers import digest, read

_CLOCK_NS = 100_000_000  # the clock that stamps files ticks at least this often
_MODULES = Path(__file__).parent


class Previous:
    """What `folder` holds from the last time. `ours` are the records of what we wrote there, by target."""

    def __init__(self, folder: Path, key: str) -> None:
        if folder.exists() and not folder.is_dir():
            raise PortingError(f"{folder} is not a folder")
        self.folder = folder
        recorded = manifest.read(folder)
        self.is_known = recorded is not None
        self.ours = {} if recorded is None else {record["target"]: record for record in recorded.files.values()}
        is_usable = recorded is not None and recorded.key == key
        self.records = recorded.files if recorded is not None and is_usable else {}
        self._when = recorded.when if recorded is not None and is_usable else 0

    def unchanged(self, entry: Entry) -> Record | None:
        """The record of `entry` if nothing about it has changed, neither its source nor what was made of it."""
        record = self.records.get(entry.path)
        if record is None or record["target"] != entry.target:
            return None
        if not is_as_written(f"{self.folder}/{entry.target}", record):
            return None
        is_old = max(entry.stamp[:2]) < self._when - _CLOCK_NS
        if is_old and tuple(record["stamp"]) == entry.stamp and record["mode"] == entry.mode:
            return record
        if entry.stamp[2] != record["stamp"][2] or record["mode"] != entry.mode:
            return None
        return record if record["digest"] == content(entry) else None


def content(entry: Entry) -> str:
    """The hash of a file's contents."""
    if entry.is_source:
        return digest(read(entry.file))
    try:
        return digest(Path(entry.file).read_bytes())
    except OSError as error:
        raise PortingError(f"{entry.file}: {error.strerror}") from error


@lru_cache(maxsize=1)
def _our_stamps() -> list[tuple[str, tuple[int, int, int]]]:
    """What tells one version of the porter from another."""
    ours = sorted([*_MODULES.rglob("*.py"), *_MODULES.glob("*.txt"), *_MODULES.glob("*.json")])
    return [(str(path.relative_to(_MODULES)), stamp_of(path.stat())) for path in ours]


def key_of(project: Project, entries: Sequence[Entry], lines: bool) -> str:
    """What everything depends on: the rules, ours and the project's, and the names of all files."""
    names = [(entry.path, entry.target, entry.is_source) for entry in entries]
    roots = sorted({entry.file[: -len(entry.path)] for entry in entries}) if lines else []
    rules = {**vars(project), "device_macros": sorted(project.device_macros)}  # a set has another order in each process
    return digest(repr((_our_stamps(), rules, names, lines, roots)).encode("utf-8", "surrogateescape"))


def record_of(
    entry: Entry, output: Path, digests: tuple[str, str], findings: Sequence[Finding], replacements: int
) -> Record:
    """What the manifest keeps of a file that was just written to `output`; `digests` are the source's and the result's."""
    status = os.stat(output)
    return {
        "target": entry.target,
        "stamp": entry.stamp,
        "mode": entry.mode,
        "digest": digests[0],
        "written": digests[1],
        "output": [status.st_mtime_ns, status.st_size],
        "findings": findings,
        "replacements": replacements,
    }


def keep_time(previous: Previous, new: Path, record: Record) -> Record:
    """The record of a file just written below `new`. Where the last time's file is the same, it is taken over with its time.

    Builds compile what is newer than their objects: of files that were ported again because the rules or other files have
    changed, only those that came out differently shall be compiled again.
    """
    target = record["target"]
    before = previous.ours.get(target)
    if before is None or (before.get("written"), before.get("mode")) != (record["written"], record["mode"]):
        return record
    if not is_as_written(f"{previous.folder}/{target}", before):
        return record
    (new / target).unlink()
    take_over(previous.folder / target, new / target)
    status = os.stat(new / target)
    return {**record, "output": [status.st_mtime_ns, status.st_size]}


def take_over(old: Path, new: Path) -> None:
    """The same file in another folder, without a copy where the file system can do so."""
    new.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(old, new)
    except OSError:
        shutil.copy2(old, new)
