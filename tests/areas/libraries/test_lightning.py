"""lightning: Trainer(accelerator="gpu") with callbacks, precision, checkpoints and resumption, and Fabric."""

from __future__ import annotations

from typing import Any

import pytest

from support.library_ways import on_the_host_too

NEEDS = ("lightning",)


@on_the_host_too
def test_fit(agrees: Any) -> None:
    agrees("lightning_fit.py")


@pytest.mark.skipif("not __import__('importlib.util').util.find_spec('pytorch_lightning')", reason="not installed")
def test_the_older_packages(musa: Any) -> None:
    """pytorch_lightning and lightning_fabric have classes of their own."""
    code = """
        import lightning_fabric, pytorch_lightning, torch, torchada
        from pytorch_lightning.demos.boring_classes import BoringModel
        model = BoringModel()
        trainer = pytorch_lightning.Trainer(
            accelerator="gpu", devices=1, max_steps=2, logger=False, enable_checkpointing=False, enable_progress_bar=False
        )
        trainer.fit(model)
        fabric = lightning_fabric.Fabric(accelerator="cuda", devices=1)
        fabric.launch()
        assert str(fabric.device) == "musa:0" and str(trainer.strategy.root_device) == "musa:0"
        torchada.disable()
        try:
            pytorch_lightning.accelerators.CUDAAccelerator().setup_device(torch.device("musa:0"))
        except Exception as refused:
            print(f'"{refused}"')
    """
    assert musa.json(code) == "Device should be GPU, got musa:0 instead"
