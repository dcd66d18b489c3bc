"""Which start-up file is in force, and which folder can PYTHONPATH name instead?"""

from __future__ import annotations

import importlib.util
import os
import site
import sys
from pathlib import Path

import _torchada_startup

NAMES = ("torchada-init.start", "torchada-init.pth") if sys.version_info >= (3, 15) else ("torchada-init.pth",)
PACKAGE = Path(__file__).resolve().parents[1]
# Its places in a wheel and in a checkout.
_SITECUSTOMIZE = (PACKAGE / "sitecustomize", PACKAGE.parent.parent / "sitecustomize")


def in_force() -> Path | None:
    """The start-up file that this interpreter reads, or None."""
    if not _site_is_on():
        return None
    for folder in site_folders():
        for name in NAMES:
            if (folder / name).is_file():
                return folder / name
    return _sitecustomize_in_force()


def sitecustomize_folder() -> Path | None:
    """The folder with our sitecustomize.py, for PYTHONPATH."""
    for folder in _SITECUSTOMIZE:
        if (folder / "sitecustomize.py").is_file():
            return folder
    return None


def bytecode_is_cached() -> bool:
    """Whether the start-up module has its .pyc; compiling it anew costs every interpreter start about two milliseconds."""
    source = _torchada_startup.__file__
    return Path(importlib.util.cache_from_source(str(source))).is_file()


def _site_is_on() -> bool:
    return not sys.flags.no_site


def site_folders() -> list[Path]:
    """The folders whose start-up files this interpreter reads."""
    folders = list(site.getsitepackages())
    if site.ENABLE_USER_SITE:
        folders.append(site.getusersitepackages())
    return [Path(folder) for folder in folders]


def _sitecustomize_in_force() -> Path | None:
    if sys.flags.ignore_environment:
        return None
    for entry in filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)):
        file = Path(os.path.abspath(entry), "sitecustomize.py")
        if file.is_file():  # the first one is the interpreter's
            return file if any(file.resolve() == (folder / file.name).resolve() for folder in _SITECUSTOMIZE) else None
    return None
