"""The installed distribution that a package belongs to: the metadata beside it, by its name and the time of its installation."""

from __future__ import annotations

import os
import re

_SUFFIX = ".dist-info"
_HEAD = 1 << 16


def of(place: str) -> str | None:
    """The name of the folder of metadata of the distribution that brought the package `place`, such as "timm-1.0.dist-info".

    None for what is not installed beside its metadata: scripts, projects, editable installations.
    """
    site, package = os.path.split(place)
    folders = _metadata(site)
    named = [folder for folder in folders if _plain(folder.partition("-")[0]) == _plain(package)]
    for folder in named or folders:
        if _lists(os.path.join(site, folder), package):
            return folder
    return None


def stamp(site: str, metadata: str) -> list[int] | None:
    """What changes when the distribution is installed anew; None where it is no longer there."""
    try:
        status = os.stat(os.path.join(site, metadata, "RECORD"))
    except OSError:
        return None
    return [status.st_mtime_ns, status.st_size]


def _metadata(site: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(site) if name.endswith(_SUFFIX))
    except OSError:
        return []


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()


def _lists(metadata: str, package: str) -> bool:
    """Whether a distribution says that the package is among its files."""
    top = _head(os.path.join(metadata, "top_level.txt"))
    if package.encode() in top.split():
        return True
    record = b"\n" + _head(os.path.join(metadata, "RECORD"))
    return f"\n{package}/".encode() in record


def _head(file: str) -> bytes:
    try:
        with open(file, "rb") as opened:
            return opened.read(_HEAD)
    except OSError:
        return b""
