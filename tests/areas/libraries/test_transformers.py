"""transformers: models on the device, generation, device maps, torch.compile, Trainer and pipeline."""

from __future__ import annotations

from typing import Any

from support.library_ways import on_the_host_too

NEEDS = ("transformers", "accelerate")


@on_the_host_too
def test_llama(agrees: Any) -> None:
    found = agrees("transformers_llama.py")
    assert found["sampled"] == [2, 12] and found["same"]["loaded"]
    assert "cuda:1" in found["devices"]  # device_map="auto" has two GPUs to share


def test_trainer_and_pipeline(agrees: Any) -> None:
    found = agrees("transformers_trainer.py")
    assert found["pipeline"] == "cuda:0" and found["resumed exactly"]


def test_inductor(agrees: Any) -> None:
    """torch.compile as it comes: the graphs are those of the CPU, none is broken, and kernels are generated for them."""
    found = agrees("transformers_inductor.py")
    assert found["same"]["graphs"] >= 4 and not found["same"]["breaks"] and found["kernels"] > 20
