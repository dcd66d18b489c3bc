"""Where caches are: in the folder that the user has named, or in the user's own folder for caches."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

from _torchada_cache.errors import CacheError


def cache_path(program: str, variable: str, chosen: str | None) -> Path:
    """The root of the caches of `program`; touches nothing. `chosen` is the value of the `variable` that names another one."""
    if chosen:
        expanded = os.path.expanduser(chosen)
        if expanded.startswith("~"):
            raise CacheError(f"{variable}={chosen}: that home folder is not known; set {variable} to an absolute path")
        return Path(expanded).absolute()
    base = _user_caches()
    if base is None:
        raise CacheError(
            f"no folder is known for the cache of {program}, because HOME is not set and the user {os.getuid()} is not in the list "
            f"of users (/etc/passwd); set {variable} to a folder of your own, or HOME, or XDG_CACHE_HOME"
        )
    return base / program


def _user_caches() -> Path | None:
    # Relative values are ignored, as the XDG specification demands: nothing in the working directory is ever executed.
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):
        return Path(base)
    home = _home()
    return Path(home) / ".cache" if os.path.isabs(home) else None


def _home() -> str:
    """Path.home(), but empty where that raises RuntimeError or is relative."""
    named = os.environ.get("HOME", "")
    if os.path.isabs(named):
        return named
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:  # usual in containers that run as an arbitrary user
        return ""
