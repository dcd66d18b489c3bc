"""diffusers: a U-Net trained and sampled from, pipelines whole, offloaded and from a file, an autoencoder."""

from __future__ import annotations

from typing import Any

NEEDS = ("diffusers",)


def test_pipelines(agrees: Any) -> None:
    agrees("diffusers_unet.py")
