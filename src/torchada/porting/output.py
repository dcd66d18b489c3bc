"""The folder that a ported tree is written to: it appears as a whole, and its next version takes over what has not changed.

A manifest in it says what each file was made of. A file is taken over when the rules and the names of all files are the same as
then, and its source has the same time and size, or else the same contents.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from torchada.porting.findings import Finding, PortingError
from torchada.porting.project import Project
from torchada.porting.tree import MANIFEST, Entry, stamp_of
from torchada.porting.work import digest, read

_FORMAT = 1
_CLOCK_NS = 100_000_000  # the clock that stamps files is coarser than this is not
_MODULES = Path(__file__).parent

Record = dict[str, Any]


class Previous:
    """What `folder` holds from the last time. PortingError where it holds something else."""

    def __init__(self, folder: Path, key: str) -> None:
        self.folder = folder
        self.records: dict[str, Record] = {}
        self.complete = False
        self._when = 0
        if not folder.exists():
            return
        if not folder.is_dir() or (any(folder.iterdir()) and not (folder / MANIFEST).is_file()):
            raise PortingError(f"{folder} exists and was not made by this command; name another folder or remove it")
        try:
            manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return
        if manifest.get("format") == _FORMAT and manifest.get("key") == key:
            self.records = manifest["files"]
            self._when = manifest["when"]

    def unchanged(self, entry: Entry) -> Record | None:
        """The record of `entry` if nothing about it has changed, neither its source nor what was made of it."""
        record = self.records.get(entry.path)
        if record is None or record["target"] != entry.target or not self._is_as_written(record):
            return None
        is_old = max(entry.stamp[:2]) < self._when - _CLOCK_NS
        if is_old and tuple(record["stamp"]) == entry.stamp and record["mode"] == entry.mode:
            return record
        if entry.stamp[2] != record["stamp"][2] or record["mode"] != entry.mode:
            return None
        return record if record["digest"] == content(entry) else None

    def _is_as_written(self, record: Record) -> bool:
        try:
            status = os.stat(f"{self.folder}/{record['target']}")
        except OSError:
            return False
        return bool([status.st_mtime_ns, status.st_size] == record["output"])


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
    ours = sorted([*_MODULES.glob("*.py"), *(_MODULES / "rules").glob("*.py")])
    return [(path.name, stamp_of(path.stat())) for path in ours]


def key_of(project: Project, found: Sequence[Entry], lines: bool) -> str:
    """What everything depends on: the rules, ours and the project's, and the names of all files."""
    names = [(entry.path, entry.target, entry.is_source) for entry in found]
    roots = sorted({entry.file[: -len(entry.path)] for entry in found}) if lines else []
    return digest(repr((_our_stamps(), project, names, lines, roots)).encode("utf-8", "surrogateescape"))


def record_of(entry: Entry, output: Path, source_digest: str, findings: Sequence[Finding], replacements: int) -> Record:
    """What the manifest keeps of a file that has just been written to `output`."""
    status = os.stat(output)
    return {
        "target": entry.target,
        "stamp": entry.stamp,
        "mode": entry.mode,
        "digest": source_digest,
        "output": [status.st_mtime_ns, status.st_size],
        "findings": findings,
        "replacements": replacements,
    }


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """A new folder beside `folder` that takes its place when the block ends well; otherwise nothing is left of it.

    PortingError for what the file system refuses.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".porting", dir=folder.parent))
    except OSError as error:
        raise PortingError(f"{folder}: {error.strerror}") from error
    try:
        yield new
        os.chmod(new, 0o777 & ~_umask())
        _exchange(folder, new)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise PortingError(f"{folder}: nothing was written: {error.strerror}{where}") from error
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _exchange(folder: Path, new: Path) -> None:
    if not folder.exists():
        os.rename(new, folder)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".old", dir=folder.parent))
    try:
        os.rename(folder, old)
        try:
            os.rename(new, folder)
        except OSError:
            os.rename(old, folder)
            raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def take_over(old: Path, new: Path) -> None:
    """The same file in another folder, without a copy where the file system can do so."""
    new.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(old, new)
    except OSError:
        shutil.copy2(old, new)


def write_manifest(folder: Path, key: str, records: Mapping[str, Record], when: int | None = None) -> None:
    """Say in `folder` what it was made of; `when` the sources were looked at, in ns."""
    manifest = {"format": _FORMAT, "key": key, "when": time.time_ns() if when is None else when, "files": records}
    (folder / MANIFEST).write_text(json.dumps(manifest, separators=(",", ":")), encoding="utf-8")
