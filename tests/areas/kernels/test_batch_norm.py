"""Gradients of batch normalization in eval mode, of which torch_musa 2.7.1 reads statistics that nothing has written."""

from __future__ import annotations

import pytest
import torch


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 5), (2, 3, 2, 2)])
def test_gradients_follow_the_running_statistics(shape: tuple[int, ...], affine: bool, dtype: torch.dtype) -> None:
    kinds = {2: torch.nn.BatchNorm1d, 3: torch.nn.BatchNorm1d, 4: torch.nn.BatchNorm2d}
    gradients = []
    for device, exact in (("cuda", dtype), ("cpu", torch.float64)):
        torch.manual_seed(0)
        layer = kinds[len(shape)](3, affine=affine).eval()
        layer.running_mean.copy_(torch.tensor([0.5, -1.0, 2.0]))
        layer.running_var.copy_(torch.tensor([1.0, 4.0, 0.25]))
        layer = layer.to(device, exact)
        x = torch.randn(shape).to(dtype).to(device, exact).requires_grad_()
        y = layer(x)
        y.backward(torch.linspace(-1, 1, y.numel()).reshape(shape).to(dtype).to(device, exact))
        gradients.append([tensor.grad for tensor in (x, *layer.parameters())])
    for found, wanted in zip(*gradients):
        assert found.dtype == dtype
        tolerance = {torch.float16: 1e-2, torch.bfloat16: 5e-2}.get(dtype, 1e-4)
        torch.testing.assert_close(found.cpu().double(), wanted, rtol=tolerance, atol=tolerance)


def test_training_is_left_to_the_kernel() -> None:
    layer, x = torch.nn.BatchNorm1d(3), torch.linspace(-1, 1, 12).reshape(4, 3)
    layer(x).square().sum().backward()
    there = torch.nn.BatchNorm1d(3).cuda()
    there(x.cuda()).square().sum().backward()
    assert layer.weight.grad is not None and there.weight.grad is not None
    torch.testing.assert_close(there.weight.grad.cpu(), layer.weight.grad)


@pytest.mark.parametrize("training", [True, False])
def test_parameters_and_statistics_of_two_types(training: bool) -> None:
    """torch_musa 2.9.1 refuses them, and CUDA computes with them: an H100 did."""
    x, weight = torch.linspace(-2, 2, 24).reshape(4, 3, 2), torch.tensor([0.5, 1.0, 2.0])
    wanted_statistics = torch.tensor([0.5, -1.0, 2.0]), torch.tensor([1.0, 4.0, 0.25])
    here = [tensor.clone().cuda() for tensor in wanted_statistics]
    wanted = torch.nn.functional.batch_norm(x, *wanted_statistics, weight, weight, training)
    halves = weight.cuda().half()
    found = torch.nn.functional.batch_norm(x.cuda().half(), *here, halves, halves, training)
    assert found.dtype == torch.float16
    torch.testing.assert_close(found.cpu().float(), wanted, rtol=1e-2, atol=1e-2)
    for mine, statistic in zip(here, wanted_statistics):
        torch.testing.assert_close(mine.cpu(), statistic, rtol=1e-2, atol=1e-2)
