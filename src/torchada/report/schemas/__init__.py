"""The documents that torchada writes as JSON: one envelope, and a JSON Schema of each kind in the file beside this one.

A version changes when an entry is removed or changes its meaning.
"""

from __future__ import annotations

import time
from typing import Any

from torchada.base.version import __version__

VERSIONS = {
    "backend-check": 1,
    "bench": 1,
    "check": 1,
    "doctor": 1,
    "explain": 1,
    "info": 1,
    "port": 1,
    "run": 1,
    "status": 1,
    "verify": 1,
    "views": 1,
}


def envelope(kind: str) -> dict[str, Any]:
    """The entries that every document begins with."""
    return {
        "schema": f"torchada-{kind}",
        "version": VERSIONS[kind],
        "torchada": __version__,
        "created": int(time.time()),
    }


def is_current(document: Any, kind: str) -> bool:
    """Whether `document`, read from a file, is of this kind and of the version that is written now."""
    return isinstance(document, dict) and (document.get("schema"), document.get("version")) == (
        f"torchada-{kind}",
        VERSIONS[kind],
    )
