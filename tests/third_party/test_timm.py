"""timm: a vision transformer and a convolutional network with timm's own training helpers, and compiled."""

from __future__ import annotations

from typing import Any

NEEDS = ("timm", "torchvision")


def test_models(agrees: Any) -> None:
    agrees("timm_vit.py")
