"""The toy backend of docs/examples/backend_toy: in a fresh interpreter that finds it, without installing it."""

from __future__ import annotations

import shutil
from pathlib import Path

from support.interpreter import ROOT, TORCH, Interpreter

EXAMPLE = ROOT / "docs" / "examples" / "backend_toy"
# PyTorch's support of devices in Python.
IS_POSSIBLE = TORCH >= (2, 10)
_ENTRY_POINTS = """
[torchada.backends]
toy = torch_toy_torchada.backend:TOY
[torchada.areas]
toy = torch_toy_torchada.areas
"""


def toy_interpreter(folder: Path) -> Interpreter:
    """An interpreter that runs in `folder`, where a copy of the toy lies as if it were installed."""
    for name in ("torch_toy", "torch_toy_torchada"):
        shutil.copytree(EXAMPLE / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    info = folder / "torch_toy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch-toy\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(_ENTRY_POINTS)
    return Interpreter(cwd=folder, env={"TORCHADA_PLATFORM": "toy", "TORCHADA_STRICT": "1"})
