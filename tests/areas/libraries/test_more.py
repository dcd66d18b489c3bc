"""torchvision, torchmetrics, sentence-transformers with einops, and the shape of PyTorch's own mnist example."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

PROGRAMS = {
    "torchvision_ops.py": ("torchvision",),
    "torchmetrics_all.py": ("torchmetrics",),
    "sentence_transformers_embed.py": ("sentence_transformers", "einops"),
    "pytorch_mnist.py": (),
}


@pytest.mark.parametrize("program", list(PROGRAMS))
def test_program(agrees: Any, program: str) -> None:
    missing = [name for name in PROGRAMS[program] if find_spec(name) is None]
    if missing:
        pytest.skip(f"{missing[0]} is not installed")
    agrees(program)
