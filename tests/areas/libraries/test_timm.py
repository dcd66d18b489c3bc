"""timm: a vision transformer and a convolutional network with timm's own training helpers, and compiled."""

from __future__ import annotations

from typing import Any

import pytest

NEEDS = ("timm", "torchvision")


@pytest.mark.parametrize("compiler", ["aot_eager", "inductor"])
def test_models(agrees: Any, compiler: str) -> None:
    agrees("timm_vit.py", compiler)
