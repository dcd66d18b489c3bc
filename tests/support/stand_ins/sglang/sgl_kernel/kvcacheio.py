"""Names of sgl_kernel.kvcacheio that can be imported; none is computed here."""

from __future__ import annotations

from typing import Any

from sgl_kernel._absent import absent


def __getattr__(name: str) -> Any:
    return absent(__name__, name)
