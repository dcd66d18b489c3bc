"""The gates in C++ for tests with a cache of their own: compiling them takes a minute of a processor."""

from __future__ import annotations

import shutil
from pathlib import Path

from support.interpreter import Interpreter

_PLACE = """
import torch
torch.ones(1, device="cuda")
from torchada.areas.kernels._gates.gates import GATES
print(GATES.library.path)
"""


def environment(musa: Interpreter, cache: Path) -> dict[str, str]:
    """Variables for a process whose cache is `cache`, which holds the gates of the user's cache, where they are compiled once."""
    library = Path(musa.run(_PLACE, env={"TORCHADA_CPP_GATES": "1"}, timeout=590).stdout.strip())
    entry = cache / "gates" / library.parent.name
    if not entry.exists():
        entry.parent.mkdir(mode=0o700, parents=True)
        shutil.copytree(library.parent, entry)
    return {"TORCHADA_CPP_GATES": "1", "TORCHADA_CACHE_DIR": str(cache)}
