"""The marker requires_cuda."""

from __future__ import annotations

from importlib.util import find_spec

import pytest


def check(gpus: int = 1) -> None:
    """Skip the test where fewer than `gpus` CUDA devices are there."""
    if not isinstance(gpus, int) or gpus < 1:
        raise pytest.UsageError(f"requires_cuda({gpus!r}): expected a number of GPUs above 0")
    there = _devices()
    if there < gpus:
        raise pytest.skip.Exception(
            f"requires_cuda: needs {gpus} CUDA device(s), and there are {there}; --cuda-simulated={gpus} simulates them",
            _use_item_location=True,
        )


def _devices() -> int:
    """How many CUDA devices the tests see. What `torch.cuda` answers us is what it answers PyTorch, so the backend is asked."""
    if find_spec("torch") is None:
        return 0
    import torch

    from torchada.hooks.state import STATE

    cuda = torch.cuda if STATE.context is None else STATE.context.namespace
    return int(cuda.device_count()) if cuda.is_available() else 0
