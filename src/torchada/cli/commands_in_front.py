"""The folder that `torchada run` puts in front on PATH: in it, nvidia-smi answers for the backend's devices."""

from __future__ import annotations

import shlex
import sys
import warnings
from hashlib import blake2b
from pathlib import Path

from torchada.backends import select
from torchada.base import settings as _settings
from torchada.base.warnings import TorchadaWarning

_PACKAGES = Path(__file__).resolve().parents[2]
_PROGRAM = """import sys
sys.path.insert(0, {packages!r})
from torchada.tools.nvidia_smi.main import main
sys.exit(main(sys.argv[1:]))"""
_CACHE = "commands"


def folder() -> str | None:
    """The folder; None where the backend has no command with these figures, or where no folder can be kept."""
    from torchada.base.caches import CacheError, cache

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TorchadaWarning)  # the program itself gives them
        settings = _settings.read()
        backend = select.before_torch(settings).backend
    if backend is None or backend.management is None or not backend.management.command:
        return None
    text = _text()
    try:
        kept = cache(_CACHE, settings.cache)
        return str(kept.get(blake2b(text.encode(), digest_size=8).hexdigest(), lambda place: _write(place, text)))
    except CacheError:
        return None


def _text() -> str:
    program = _PROGRAM.format(packages=str(_PACKAGES))
    return f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -I -S -c {shlex.quote(program)} "$@"\n'


def _write(place: Path, text: str) -> None:
    program = place / "nvidia-smi"
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)
