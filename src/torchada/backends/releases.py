"""Which release of a backend's adapter is installed, for what differs between releases. It is imported when that is asked."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

from torchada.backends.descriptor import Backend
from torchada.backends.select import is_stand_in


def installed(backend: Backend) -> str:
    """The version of the adapter, which need not be imported for that; empty where nothing tells it."""
    stated = getattr(sys.modules.get(backend.adapter), "__version__", None)
    if stated is not None:
        return str(stated)
    if backend.simulator is not None and is_stand_in(backend.adapter):
        return str(import_module(f"{backend.simulator}.base.release").version())
    try:
        return version(backend.adapter)
    except PackageNotFoundError:
        return ""


def numbers(version: str) -> tuple[int, ...]:
    """2.11.0.post2 is (2, 11, 0, 2); whatever follows a plus is ignored."""
    return tuple(map(int, re.findall(r"\d+", version.partition("+")[0])))
