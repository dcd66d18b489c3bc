"""diffusers: a U-Net trained and sampled from, pipelines whole, offloaded and from a file, an autoencoder."""

from __future__ import annotations

from typing import Any

import pytest

NEEDS = ("diffusers",)


@pytest.mark.parametrize("compiler", ["aot_eager", "inductor"])
def test_pipelines(agrees: Any, compiler: str) -> None:
    agrees("diffusers_unet.py", compiler)
