"""Thrust's random engines give the numbers that CUDA's Thrust gives; replacing, shuffling and distances."""

from __future__ import annotations

import pytest
import torch

from support.device_code import Kernels, compile_kernels

pytestmark = [pytest.mark.once, pytest.mark.full]


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    return Kernels(compile_kernels("thrust_random.mu", tmp_path_factory.mktemp("thrust")))


def test_engines_are_those_of_the_standard(kernels: Kernels) -> None:
    out = torch.zeros(4, dtype=torch.double)
    kernels.run("drawn", out)
    modulus, x = 2**31 - 1, 5 * pow(48271, 1001, 2**31 - 1) % (2**31 - 1)
    real = x * 48271 % modulus
    whole = real * 48271 % modulus
    assert out[0] == x
    assert float(out[1]) == pytest.approx((real - 1) / (modulus - 1) * 2 - 1, abs=1e-6)
    assert out[2] == int((whole - 1) / (modulus - 1) * 6 + 1)
    assert out[3] == 16807


def test_elements_are_replaced_measured_and_shuffled(kernels: Kernels) -> None:
    values = torch.arange(50, dtype=torch.int32) % 20 - 5
    out = torch.zeros(3 + 3 * 50, dtype=torch.int32)
    kernels.run("changed", values, out, 50)
    assert out[:3].tolist() == [-5, 14, 19]
    replaced, ones, shuffled = out[3:].view(3, 50)
    assert torch.equal(replaced, values.clamp(min=0))
    assert torch.equal(ones, torch.where(replaced == 1, 9, replaced))
    assert torch.equal(shuffled.sort().values, ones.sort().values)
    assert not torch.equal(shuffled, ones)
