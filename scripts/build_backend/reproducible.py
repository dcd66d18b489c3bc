"""Rewrite finished archives so that the same sources give the same bytes: sorted, with fixed dates, owners and modes.

All dates are SOURCE_DATE_EPOCH if it is set, and otherwise the earliest that a zip archive can hold.
"""

from __future__ import annotations

import base64
import csv
import gzip
import hashlib
import os
import tarfile
import time
import zipfile
from collections.abc import Mapping
from io import BytesIO, StringIO
from pathlib import Path

EARLIEST = 315532800  # 1980-01-01, UTC


def rewrite_wheel(wheel: Path, added: Mapping[str, bytes]) -> None:
    """Add the files `added` to the wheel, and write its RECORD anew."""
    with zipfile.ZipFile(wheel) as old:
        files = {item.filename: old.read(item) for item in old.infolist() if not item.is_dir()}
        executable = {item.filename for item in old.infolist() if item.external_attr >> 16 & 0o100}
    record = next(name for name in files if name.endswith(".dist-info/RECORD"))
    del files[record]
    files = dict(sorted({**files, **added}.items()))
    files[record] = _record(record, files)  # last, as the wheel's specification recommends
    rewritten = wheel.with_suffix(".tmp")
    with zipfile.ZipFile(rewritten, "w", zipfile.ZIP_DEFLATED) as new:
        for name, data in files.items():
            new.writestr(_zip_entry(name, _mode(name in executable)), data)
    os.replace(rewritten, wheel)


def rewrite_sdist(sdist: Path) -> None:
    """Give the members of the archive one date, one owner and plain modes, in the order of their names."""
    with tarfile.open(sdist) as old:
        members = sorted(old.getmembers(), key=lambda member: member.name)
        contents = {member.name: file.read() for member in members if (file := old.extractfile(member))}
    plain = BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in members:
            new.addfile(_tar_entry(member), BytesIO(contents.get(member.name, b"")))
    rewritten = sdist.with_suffix(".tmp")
    with open(rewritten, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=_date()) as packed:
        packed.write(plain.getvalue())
    os.replace(rewritten, sdist)


def _date() -> int:
    return max(int(os.environ.get("SOURCE_DATE_EPOCH", EARLIEST)), EARLIEST)


def _mode(executable: bool) -> int:
    """The mode of a file, independent of the umask, which differs from machine to machine."""
    return 0o755 if executable else 0o644


def _zip_entry(name: str, mode: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, date_time=time.gmtime(_date())[:6])
    info.external_attr = (0o100000 | mode) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def _tar_entry(member: tarfile.TarInfo) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(member.name)
    entry.type, entry.size, entry.linkname = member.type, member.size, member.linkname
    entry.mode = _mode(member.isdir() or bool(member.mode & 0o100))
    entry.mtime = _date()
    return entry


def _record(name: str, files: Mapping[str, bytes]) -> bytes:
    """The text of RECORD, whose name is `name`: each file with its digest and size, RECORD itself without."""
    text = StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerows((file, _digest(data), len(data)) for file, data in files.items())
    rows.writerow((name, "", ""))
    return text.getvalue().encode()


def _digest(data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"sha256={digest}"
