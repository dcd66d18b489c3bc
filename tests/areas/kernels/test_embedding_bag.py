"""embedding_bag with gradients, whose kernel torch_musa 2.7.1 has for a part of what it takes on CUDA."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

WEIGHT = torch.tensor([[1.0, -2.0], [4.0, 0.5], [2.0, 3.0], [0.0, 0.25]])
INDICES, OFFSETS = torch.tensor([0, 1, 2, 2, 3]), torch.tensor([0, 2])
SAMPLES = torch.tensor([2.0, 0.5, 0.0, -1.0, 3.0])


def bags(device: str, dtype: torch.dtype, mode: str, is_weighed: bool, padding: int | None) -> list[torch.Tensor]:
    """The bags, and the gradients of the table and of the samples' weights."""
    weight = WEIGHT.to(device, dtype, copy=True).requires_grad_()
    samples = SAMPLES.to(device, dtype, copy=True).requires_grad_() if is_weighed else None
    found = F.embedding_bag(
        INDICES.to(device), weight, OFFSETS.to(device), mode=mode, per_sample_weights=samples, padding_idx=padding
    )
    found.backward(torch.tensor([[1.0, 2.0], [3.0, -1.0]], device=device, dtype=dtype))
    gradients = [weight.grad, *([samples.grad] if samples is not None else [])]
    return [each.cpu() for each in (found.detach(), *gradients) if each is not None]


@pytest.mark.parametrize("padding", [None, 1])
@pytest.mark.parametrize(("mode", "is_weighed"), [("sum", False), ("sum", True), ("mean", False), ("max", False)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_as_on_the_cpu(dtype: torch.dtype, mode: str, is_weighed: bool, padding: int | None) -> None:
    found, wanted = (bags(device, dtype, mode, is_weighed, padding) for device in ("cuda", "cpu"))
    assert len(found) == len(wanted) == 2 + is_weighed
    for ours, right in zip(found, wanted):
        torch.testing.assert_close(ours, right)
