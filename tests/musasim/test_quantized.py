"""Quantized layers on the device: signed eight bits without zero points, as muDNN computes them, against plain numbers."""

# ruff: noqa: E402

from __future__ import annotations

from typing import Any

import pytest

import musasim

musasim.install()

import torch
import torch.ao.nn.intrinsic.quantized as fused
import torch.ao.nn.quantized as quantized
import torch_musa
from torch.nn import functional

pytestmark = [
    pytest.mark.once,
    pytest.mark.filterwarnings("ignore:.*quantize:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*[Qq]uantiz:DeprecationWarning"),
]


def eight_bits(values: torch.Tensor, zero_point: int = 0, dtype: torch.dtype = torch.qint8) -> torch.Tensor:
    return torch.quantize_per_tensor(values, float(values.abs().max()) / 127, zero_point, dtype)


def layer(kind: Any, *sizes: int, weight: torch.Tensor, bias: torch.Tensor | None, **window: int) -> Any:
    made = kind(*sizes, bias is not None) if not window else kind(*sizes, bias=bias is not None, **window)
    made.set_weight_bias(weight.to("musa"), None if bias is None else bias.to("musa"))
    made.scale, made.zero_point = 0.05, 0
    return made


def assert_stands_for(found: torch.Tensor, expected: torch.Tensor) -> None:
    """`found` is `expected` in eight bits of scale 0.05. A rounding may go the other way."""
    assert found.dtype == torch.qint8 and found.device.type == "musa" and found.q_scale() == 0.05
    steps = (expected / 0.05).round().clamp(-128, 127)
    assert (found.int_repr().cpu() - steps).abs().max() <= 1
    assert (found.int_repr().cpu() == steps).float().mean() > 0.99


@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize(("kind", "after"), [(quantized.Linear, None), (fused.LinearReLU, functional.relu)])
@pytest.mark.parametrize("shape", [(5, 16), (2, 3, 16)])
def test_linear_layers(kind: Any, after: Any, shape: tuple[int, ...], with_bias: bool) -> None:
    x, weight = eight_bits(torch.randn(shape)), eight_bits(torch.randn(8, 16))
    bias = torch.randn(8) if with_bias else None
    found = layer(kind, 16, 8, weight=weight, bias=bias)(x.to("musa"))
    expected = functional.linear(x.dequantize(), weight.dequantize(), bias)
    assert_stands_for(found, after(expected) if after else expected)


CONVOLUTIONS = {
    "Conv2d": (quantized, False, lambda x: x),
    "ConvReLU2d": (fused, False, functional.relu),
    "ConvSiLU2d": (fused, False, functional.silu),
    "ConvAdd2d": (fused, True, lambda x: x),
    "ConvAddReLU2d": (fused, True, functional.relu),
    "ConvAddSiLU2d": (fused, True, functional.silu),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.parametrize("with_bias", [False, True])
def test_convolutions(name: str, with_bias: bool) -> None:
    module, adds, after = CONVOLUTIONS[name]
    x, weight = eight_bits(torch.randn(2, 4, 9, 9)), eight_bits(torch.randn(8, 2, 3, 3))
    bias = torch.randn(8) if with_bias else None
    made = layer(getattr(module, name), 4, 8, 3, weight=weight, bias=bias, stride=2, padding=1, dilation=1, groups=2)
    expected = functional.conv2d(x.dequantize(), weight.dequantize(), bias, 2, 1, 1, 2)
    more = eight_bits(torch.randn_like(expected))
    found = made(x.to("musa"), more.to("musa")) if adds else made(x.to("musa"))
    assert_stands_for(found, after(expected + more.dequantize() if adds else expected))
    assert found.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(made.weight().cpu().int_repr(), weight.int_repr())


def test_what_mudnn_does_not_take() -> None:
    weight, x = eight_bits(torch.randn(8, 16)), torch.randn(5, 16)
    made = layer(quantized.Linear, 16, 8, weight=weight, bias=None)
    with pytest.raises(RuntimeError, match="Expected input data dtype QInt8 but got QUInt8"):
        made(eight_bits(x, 128, torch.quint8).to("musa"))
    with pytest.raises(RuntimeError, match="MUDNN failed in: Run"):
        made(eight_bits(x, 3).to("musa"))
    kernel = eight_bits(torch.randn(8, 2, 3, 3))
    convolution = layer(quantized.Conv2d, 2, 8, 3, weight=kernel, bias=None, stride=1)
    with pytest.raises(RuntimeError, match="MUDNN failed in: RunFusion"):
        convolution(eight_bits(torch.randn(1, 2, 4, 4), 128, torch.quint8).to("musa"))
    with pytest.raises(RuntimeError, match="zero_point should be 0, which is 1"):
        layer(quantized.Conv2d, 2, 8, 3, weight=eight_bits(torch.randn(8, 2, 3, 3), 1), bias=None, stride=1)
    scales, zeros = torch.ones(8), torch.zeros(8, dtype=torch.long)
    per_channel = torch.quantize_per_channel(torch.randn(8, 16), scales, zeros, 0, torch.qint8)
    with pytest.raises(RuntimeError, match="Unsupported qscheme: per_channel_affine"):
        layer(quantized.Linear, 16, 8, weight=per_channel, bias=None)


def test_convolutions_of_one_dimension_are_packed_only() -> None:
    weight, x = eight_bits(torch.randn(4, 2, 3)).to("musa"), eight_bits(torch.randn(1, 2, 8)).to("musa")
    packed = torch.ops.quantized.conv1d_prepack(weight, None, [1], [0], [1], 1)
    with pytest.raises(NotImplementedError, match="QuantizedPrivateUse1"):
        torch.ops.quantized.conv1d(x, packed, 0.05, 0)


INPUT = torch.tensor([[3, 5], [7, 11]], dtype=torch.uint8)


@pytest.mark.parametrize(
    ("dtype", "expected"), [(torch.float32, [[-7.0, 22], [-27, 46]]), (torch.uint8, [[0, 12], [0, 24]])]
)
def test_a_linear_layer_whose_scales_are_arguments(dtype: torch.dtype, expected: list[list[float]]) -> None:
    weight = torch.tensor([[1, 2], [-3, 0]], dtype=torch.int8)
    zero_points, bias = torch.tensor([0, -1], dtype=torch.int32), torch.tensor([0.5, 1.0])
    scales = torch.tensor([0.5, 2.0])
    arguments = [each.to("musa") for each in (weight, scales, zero_points, bias)]
    found = torch.ops.quantized.linear_per_tensor(INPUT.to("musa"), 1.0, 0, *arguments, 2.0, 1, dtype, "none", [], "")
    real = INPUT.float() @ ((weight.float() - zero_points) * scales) + bias
    if dtype == torch.uint8:
        real = (real / 2.0 + 1).round().clamp(0, 255)
    assert found.dtype == dtype and found.tolist() == real.tolist()


@pytest.mark.parametrize("dtype", [torch.float32, torch.int8])
@pytest.mark.parametrize("after", ["none", "relu"])
def test_convolutions_whose_scales_are_arguments(dtype: torch.dtype, after: str) -> None:
    x = torch.randint(0, 20, (1, 2, 4, 4), dtype=torch.uint8)
    weight, scales = torch.randint(-3, 3, (3, 2, 2, 2), dtype=torch.int8), torch.tensor([0.5, 1.0, 2.0])
    zeros, more = torch.zeros(3, dtype=torch.int32), torch.randint(0, 9, (1, 3, 3, 3), dtype=torch.uint8)
    window = ([1, 1], [0, 0], [1, 1], 1)
    there = [each.to("musa") for each in (weight, scales, zeros)]
    real = functional.conv2d(x.float() - 1, weight.float() * scales.view(-1, 1, 1, 1))

    def finished(values: torch.Tensor) -> torch.Tensor:
        values = values.relu() if after == "relu" else values
        return values if dtype == torch.float32 else (values / 4.0).round().clamp(-128, 127).to(dtype)

    one = torch.ops.quantized.conv(x.to("musa"), 1.0, 1, *there, None, *window, 4.0, 0, dtype, after, [], "")
    assert torch.equal(one.cpu(), finished(real))
    two = torch.ops.quantized.conv_binary(
        x.to("musa"), 1.0, 1, *there, more.to("musa"), None, *window, 4.0, 0, dtype, 1.0, 2, "sum", 0.5, after, [], ""
    )
    assert torch.equal(two.cpu(), finished(real + 0.5 * (more.float() - 2)))
    with pytest.raises(RuntimeError, match="unsupported post operation:gelu"):
        torch.ops.quantized.conv(x.to("musa"), 1.0, 1, *there, None, *window, 4.0, 0, dtype, "gelu", [], "")


def test_fused_modules_stand_beside_torchs_own() -> None:
    import torch.ao.nn.intrinsic as intrinsic
    import torch.ao.nn.intrinsic.qat as trained

    own = torch_musa.core.ao.nn.intrinsic
    assert own is torch_musa.nn.intrinsic and intrinsic.ConvSiLU2d is own.ConvSiLU2d
    assert (intrinsic.ConvBnSiLU2d, intrinsic.ConvAddSiLU2d) == (own.ConvBnSiLU2d, own.ConvAddSiLU2d)
    assert (trained.ConvBnSiLU2d, trained.ConvSiLU2d) == (own.qat.ConvBnSiLU2d, own.qat.ConvSiLU2d)
    assert (fused.ConvSiLU2d, fused.ConvAddSiLU2d) == (own.quantized.ConvSiLU2d, own.quantized.ConvAddSiLU2d)


def test_fused_modules_for_floating_point() -> None:
    import torch.ao.nn.intrinsic as intrinsic

    x = torch.randn(1, 2, 4, 4)
    convolution, norm, silu = torch.nn.Conv2d(2, 3, 3), torch.nn.BatchNorm2d(3).eval(), torch.nn.SiLU()
    plain = convolution(x)
    assert torch.equal(intrinsic.ConvSiLU2d(convolution, silu)(x), silu(plain))
    assert torch.equal(intrinsic.ConvBnSiLU2d(convolution, norm, silu)(x), silu(norm(plain)))
    assert torch.equal(intrinsic.ConvAddSiLU2d(convolution, torch.add, silu)(x, plain), silu(plain + plain))
    with pytest.raises(AssertionError, match="Incorrect types for input modules"):
        intrinsic.ConvSiLU2d(convolution, torch.nn.ReLU())


def test_training_with_simulated_quantization() -> None:
    import torch.ao.nn.intrinsic as intrinsic
    import torch.ao.nn.intrinsic.qat as trained
    from torch.ao.quantization import get_default_qat_qconfig

    float_module: Any = intrinsic.ConvSiLU2d(torch.nn.Conv2d(2, 3, 3), torch.nn.SiLU())
    float_module.qconfig = float_module[0].qconfig = get_default_qat_qconfig("fbgemm")
    made = trained.ConvSiLU2d.from_float(float_module)
    x = torch.randn(1, 2, 4, 4)
    weight = made.weight_fake_quant(made.weight)
    assert torch.equal(made(x), functional.silu(functional.conv2d(x, weight, made.bias)))
