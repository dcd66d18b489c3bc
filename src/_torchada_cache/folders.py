"""Is a folder ours alone, on every level of its path? What lies in it is executed.

The rule is that of OpenSSH for its keys: only root and the user may be able to replace any part of the path.
"""

from __future__ import annotations

import errno
import grp
import os
import pwd
import stat
from pathlib import Path

from _torchada_cache.errors import UnsafeError

_MOST_LINKS = 40  # the kernel's limit


def make_private(folder: Path) -> None:
    """Check each level of the absolute path `folder`, and make those that are missing. UnsafeError, or OSError.

    Links are followed where only root or the user can have made them.
    """
    at, links = "/", 0
    _checked("/", os.lstat("/"))
    names = _names(str(folder))
    while names:
        name = names.pop()
        here = os.path.normpath(os.path.join(at, name))  # `at` contains no links, so normpath is exact
        status = _checked(here, _status(here))
        if not stat.S_ISLNK(status.st_mode):
            at = here
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(folder))
        target = os.readlink(here)
        at = "/" if os.path.isabs(target) else at
        names += _names(target)
    if others_can_write(os.lstat(at)):
        raise UnsafeError(f"{folder} can be written to by others; run `chmod go-w {folder}`")


def _names(path: str) -> list[str]:
    """The parts of a path, the last one first."""
    return [name for name in reversed(path.split("/")) if name not in ("", ".")]


def _status(path: str) -> os.stat_result:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:  # another process was faster; the checks below tell whose it was
            pass
        return os.lstat(path)


def _checked(path: str, status: os.stat_result) -> os.stat_result:
    if not is_trusted(status.st_uid):
        raise UnsafeError(f"{path} belongs to another user ({status.st_uid})")
    if stat.S_ISLNK(status.st_mode):
        return status
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    if _others_can_exchange(status):
        raise UnsafeError(f"{path} can be written to by others; run `chmod go-w {path}`")
    return status


def others_can_write(status: os.stat_result) -> bool:
    """Whether anyone but the owner can write; access control lists that allow it show in the group's bits."""
    return bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def _others_can_exchange(status: os.stat_result) -> bool:
    """Whether others can remove or rename what is in a folder. In a sticky one such as /tmp, they cannot."""
    if status.st_mode & stat.S_ISVTX:
        return False
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not _is_own_group(status.st_gid)


def _is_own_group(number: int) -> bool:
    """Whether the user is the group's only member: where every user has a group, home folders are often writable for it."""
    if number == 0:
        return True
    try:
        group, user = grp.getgrgid(number), pwd.getpwuid(os.geteuid())
    except KeyError:
        return number == os.geteuid()
    return group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


def is_trusted(owner: int) -> bool:
    """Whether the owner is the user, or root, who can change everything anyway."""
    return owner in (0, os.geteuid()) or owner == _owner_outside()


def _owner_outside() -> int | None:
    """In a container without root's rights, the number that stands for all users outside of it, and for none inside."""
    try:
        shown = int(Path("/proc/sys/kernel/overflowuid").read_text())
        ranges = [[int(part) for part in line.split()] for line in Path("/proc/self/uid_map").read_text().splitlines()]
    except (OSError, ValueError):
        return None
    return None if any(first <= shown < first + count for first, _, count in ranges) else shown
