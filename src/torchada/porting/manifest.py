"""The file in an output folder that says what each of its files was made of, and so which of them are ours."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from torchada.base.warnings import tell_once
from torchada.porting.scan import MANIFEST
from torchada.porting.workers import digest

_FORMAT = 1
_FINDING = [str, str, str, int, int, str]
_RECORD = {
    "target": str,
    "stamp": [int, int, int],
    "mode": int,
    "digest": str,
    "output": [int, int],
    "replacements": int,
    "findings": list,
}

Record = dict[str, Any]


class Manifest(NamedTuple):
    """What everything depended on (`key`), when the sources were looked at, and a record for each path."""

    key: str
    when: int
    files: dict[str, Record]


def read(folder: Path) -> Manifest | None:
    """The manifest in `folder`; None where it has none, or with a warning one that cannot be trusted to be ours."""
    file = folder / MANIFEST
    if not file.is_file() or file.is_symlink():
        return None
    try:
        content = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        content = None
    if not _is_manifest(content):
        tell_once(f"{file} is damaged, or of another version, and is taken for absent")
        return None
    return Manifest(content["key"], content["when"], content["files"])


def write(folder: Path, manifest: Manifest) -> None:
    """Say in `folder` what it was made of."""
    text = json.dumps({"format": _FORMAT, **manifest._asdict()}, separators=(",", ":"))
    (folder / MANIFEST).write_text(text, encoding="utf-8")


def is_as_written(file: str, record: Mapping[str, Any]) -> bool:
    """Whether `file` is what we wrote: its time and size say so, or else its contents."""
    try:
        status = os.lstat(file)
        if [status.st_mtime_ns, status.st_size] == record["output"]:
            return True
        if status.st_size != record["output"][1] or not stat.S_ISREG(status.st_mode):
            return False
        return digest(Path(file).read_bytes()) == record.get("written")
    except OSError:
        return False


def _is_manifest(content: object) -> bool:
    if not _fits(content, {"format": int, "key": str, "when": int, "files": dict}):
        return False
    assert isinstance(content, dict)
    return content["format"] == _FORMAT and all(map(_is_record, content["files"].values()))


def _is_record(record: object) -> bool:
    return _fits(record, _RECORD) and all(_fits(finding, _FINDING) for finding in record["findings"])  # type: ignore[index]


def _fits(value: object, shape: Any) -> bool:
    if isinstance(shape, list):
        return isinstance(value, list) and len(value) == len(shape) and all(map(_fits, value, shape))
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(key in value and _fits(value[key], shape[key]) for key in shape)
    return type(value) is shape
