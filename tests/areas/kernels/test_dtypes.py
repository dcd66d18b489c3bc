"""Data types that torch_musa 2.7.1's kernels refuse and CUDA's take: the CPU's answer, on the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from support.interpreter import Interpreter
from torchada.areas.kernels import dtypes
from torchada.redirect.engine import ENGINE

HALVES = [torch.float16, torch.bfloat16]
DOUBLES = torch.linspace(-1, 1, 9, dtype=torch.float64)


def gradient(function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    x = x.clone().requires_grad_()
    y = function(x)
    y.backward(torch.linspace(-1, 1, y.numel(), dtype=y.dtype, device=y.device).reshape(y.shape))
    assert x.grad is not None
    return x.grad


@pytest.mark.parametrize("dtype", [torch.float64, torch.uint8, torch.int8, torch.int16])
@pytest.mark.parametrize("limits", [(5,), (2, 9), (1, 20, 6), (9, 0, -2), (3, 3)])
def test_ranges(dtype: torch.dtype, limits: tuple[int, ...]) -> None:
    found = torch.arange(*limits, dtype=dtype, device="cuda:1")
    assert found.device == torch.device("cuda:1")
    assert torch.equal(found.cpu(), torch.arange(*limits, dtype=dtype))


def test_a_range_has_the_precision_of_doubles() -> None:
    found = torch.arange(0.1, 1e3, 0.1, dtype=torch.float64, device="cuda")
    torch.testing.assert_close(found.cpu(), torch.arange(0.1, 1e3, 0.1, dtype=torch.float64), rtol=1e-15, atol=0)


def test_a_range_into_a_given_tensor_and_by_the_default_type() -> None:
    out = torch.empty(0, dtype=torch.float64, device="cuda")
    assert torch.arange(4, out=out) is out and out.tolist() == [0, 1, 2, 3]
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.arange(0.0, 1.0, 0.5, device="cuda").dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_what_cuda_refuses_too_is_refused_in_the_backends_words() -> None:
    with pytest.raises(RuntimeError, match="unsupported data type Bool"):
        torch.arange(2, dtype=torch.bool, device="cuda")


def test_ranges_are_captured() -> None:
    x = torch.zeros(4, dtype=torch.float64, device="cuda")
    graph = torch.cuda.CUDAGraph()
    torch.arange(4, dtype=torch.float64, device="cuda")
    with torch.cuda.graph(graph):
        y = x + torch.arange(4, dtype=torch.float64, device="cuda")
    x.fill_(10)
    graph.replay()
    assert y.tolist() == [10, 11, 12, 13]


@pytest.mark.parametrize("dtype", [*HALVES, torch.float64])
def test_the_gradient_of_average_pooling(dtype: torch.dtype) -> None:
    x = torch.linspace(-1, 1, 32).reshape(1, 2, 4, 4)
    found = gradient(lambda x: F.avg_pool2d(x, 2), x.to(dtype).cuda())
    wanted = gradient(lambda x: F.avg_pool2d(x, 2), x.to(dtype).double())
    assert found.dtype == dtype
    torch.testing.assert_close(found.cpu().double(), wanted, rtol=1e-2, atol=1e-2)


def test_average_pooling_under_autocast() -> None:
    layer = torch.nn.Conv2d(1, 2, 1).cuda()
    with torch.autocast("cuda", torch.bfloat16):
        F.avg_pool2d(layer(torch.ones(1, 1, 4, 4, device="cuda")), 2).sum().backward()
    assert layer.bias.grad is not None and layer.bias.grad.tolist() == [4.0, 4.0]


@pytest.mark.parametrize("dtype", [*HALVES, torch.float64, torch.int16])
def test_buckets(dtype: torch.dtype) -> None:
    x, limits = torch.tensor([0, 2, 5], dtype=dtype), torch.tensor([1, 3], dtype=dtype)
    out = torch.empty(0, dtype=torch.int64, device="cuda")
    assert torch.bucketize(x.cuda(), limits.cuda(), out=out) is out
    assert torch.bucketize(x.cuda(), limits.cuda()).tolist() == out.tolist() == [0, 1, 2]


def test_histograms_and_counts() -> None:
    assert torch.equal(torch.histc(DOUBLES.cuda(), 4).cpu(), torch.histc(DOUBLES, 4))
    bins = torch.tensor([0, 2, 2])
    for weights in (DOUBLES[:3], DOUBLES[:3].half(), torch.tensor([1, 2, 3])):
        found, wanted = torch.bincount(bins.cuda(), weights.cuda()), torch.bincount(bins, weights)
        assert found.dtype == wanted.dtype and torch.equal(found.cpu(), wanted)


def test_norms() -> None:
    found = torch.ops.aten.norm.ScalarOpt_dim(DOUBLES.cuda(), 2, [0])
    torch.testing.assert_close(found.cpu(), DOUBLES.norm())


@pytest.mark.parametrize("dtype", [torch.float64, torch.int16, torch.uint8])
def test_clamps(dtype: torch.dtype) -> None:
    x = torch.arange(9).to(dtype)
    there = x.cuda()
    assert torch.equal(there.clamp(2, 5).cpu(), x.clamp(2, 5)) and torch.equal(there.clamp_max(5).cpu(), x.clamp(max=5))
    assert there.clamp_min_(3) is there and torch.equal(there.cpu(), x.clamp(min=3))
    assert torch.clamp(x.cuda(), max=4, out=there) is there and torch.equal(there.cpu(), x.clamp(max=4))


def test_absolute_values_of_booleans() -> None:
    """As an NVIDIA GPU has them; PyTorch refuses them on the CPU."""
    flags = torch.tensor([True, False], device="cuda")
    out = torch.empty(0, dtype=torch.bool, device="cuda")
    assert torch.abs(flags, out=out) is out
    for found in (flags.abs(), out, flags.clone().abs_()):
        assert found.dtype == torch.bool and found.device == flags.device and found.tolist() == [True, False]
    assert torch.equal(F.softsign(flags).cpu(), torch.tensor([0.5, 0.0]))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16])
def test_signs_of_small_integers(dtype: torch.dtype) -> None:
    x = torch.arange(-3, 4).to(dtype)
    for function in (torch.abs, torch.neg, torch.relu, torch.round):
        assert torch.equal(function(x.cuda()).cpu(), function(x))
    there = x.cuda()
    assert there.neg_() is there and torch.equal(there.cpu(), -x)


@pytest.mark.parametrize("function", ["neg", "relu"])
def test_what_cuda_refuses_of_booleans_is_refused(function: str) -> None:
    with pytest.raises(RuntimeError, match=r"[Bb]ool"):
        getattr(torch, function)(torch.tensor([True], device="cuda"))


def test_lengths_that_are_clamped() -> None:
    x = torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(3, 4)
    torch.testing.assert_close(F.normalize(x.cuda()).cpu(), F.normalize(x))
    torch.testing.assert_close(F.cosine_similarity(x.cuda(), x.cuda()).cpu(), F.cosine_similarity(x, x))


def test_gradients_are_clipped_by_a_norm_in_double_precision() -> None:
    """As DeepSpeed's ZeRO-3 does it, and as PyTorch's own function does it for a model in double precision."""
    total_norm = torch.ones(4, device="cuda").double().norm(2)
    assert torch.clamp(total_norm / 1.0 + 1e-6, min=1.0).item() == pytest.approx(2.0)
    weights = torch.ones(4, dtype=torch.float64, device="cuda", requires_grad=True)
    (weights * 3).sum().backward()
    assert torch.nn.utils.clip_grad_norm_([weights], 1.0).item() == pytest.approx(6.0)
    assert weights.grad is not None and weights.grad.norm().item() == pytest.approx(1.0)


def test_an_error_stays_the_backends() -> None:
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.bucketize(torch.ones(1, device="cuda:0", dtype=torch.float64), torch.ones(1, device="cuda:1"))


def test_every_operator_of_the_lists_is_one_of_pytorchs() -> None:
    (records,) = [found for area, found in ENGINE.applied().items() if str(area).endswith("kernels.dtypes")]
    assert {record.patch.name for record in records} == {*dtypes._OPERATORS, *dtypes._CLAMPS, "arange.start_out"}


REQUESTED = """
import torch, torch.nn.functional as F
torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
layers = torch.nn.Sequential(
    torch.nn.Conv2d(2, 4, 3), torch.nn.ConvTranspose2d(4, 4, 2, groups=2), torch.nn.BatchNorm2d(4), torch.nn.GroupNorm(2, 4),
    torch.nn.LayerNorm(5), torch.nn.Softmax(-1), torch.nn.AvgPool2d(2), torch.nn.Flatten(), torch.nn.LogSoftmax(-1),
)
x, y = torch.randn(3, 2, 6, 6), torch.tensor([0, 1, 2])
found = []
for device in ("cpu", "cuda"):
    model = layers.to(device)
    optimizer = torch.optim.Adam(model.parameters(), foreach=False)
    model.zero_grad()
    F.nll_loss(model(x.to(device)), y.to(device)).backward()
    found.append([each.grad.to("cpu", copy=True) for each in model.parameters()])
    if device == "cuda":
        optimizer.step()
for wanted, ours in zip(*found):
    torch.testing.assert_close(ours, wanted)
assert torch.autograd.gradcheck(torch.nn.Conv1d(1, 2, 2).cuda(), torch.randn(1, 1, 4).cuda().requires_grad_())
a = torch.randn(2, 3, 3)
torch.testing.assert_close(torch.baddbmm(*(a.cuda(),) * 3, alpha=2).cpu(), torch.baddbmm(a, a, a, alpha=2))
assert torch.equal(F.relu6(a.cuda()).cpu(), F.relu6(a))
assert torch.equal(a.cuda().addcdiv_(a.cuda(), a.cuda()).cpu(), a.clone().addcdiv_(a, a))
torch.cuda.manual_seed(1)
ones = torch.ones(10000).cuda().requires_grad_()
dropped = F.dropout(ones, 0.25)
dropped.sum().backward()
assert torch.equal(ones.grad, dropped.detach()) and set(dropped.tolist()) == {0.0, 1 / 0.75}
assert 7300 < dropped.count_nonzero() < 7700
torch.cuda.manual_seed(1)
assert torch.equal(F.dropout(ones, 0.25), dropped)
try:
    F.conv1d(torch.ones(1, 1, 3, dtype=torch.int64).cuda(), torch.ones(1, 1, 1, dtype=torch.int64).cuda())
except RuntimeError as error:
    print(error)
"""


@pytest.mark.full
def test_layers_take_every_data_type(musa: Interpreter) -> None:
    printed = musa.run(REQUESTED, forked=True).stdout
    assert printed.startswith("Dtype of weight tensor of Convolution only support Float32")


def test_switched_off_the_refusals_are_the_backends(musa: Interpreter) -> None:
    code = "import torch; torch.nn.LayerNorm(2).double().cuda()(torch.ones(2).double().cuda())"
    done = musa.run(code, env={"TORCHADA_ALL_DTYPES": "0"}, check=False, forked=True)
    assert "Dtype of input tensor of LayerNorm only support" in done.stderr


def test_disable_takes_them_back(musa: Interpreter) -> None:
    code = """
    import torch, torchada
    make = lambda: torch.arange(2, dtype=torch.float64, device="musa").tolist()
    assert make() == [0, 1]
    torchada.disable()
    try:
        print(make())
    except RuntimeError as error:
        print(error)
    torchada.enable()
    assert make() == [0, 1]
    """
    assert musa.run(code, forked=True).stdout == "unsupported data type Double\n"


def test_status_names_what_was_refused() -> None:
    torch.arange(2, dtype=torch.float64, device="cuda")
    (records,) = [found for area, found in ENGINE.applied().items() if str(area).endswith("kernels.dtypes")]
    states: dict[str, Any] = {record.patch.name: record.patch.replacement.state for record in records}
    assert "has refused" in states["arange.start_out"] and "float64" in states["arange.start_out"]


def test_a_call_that_is_refused_for_another_reason_is_not_remembered() -> None:
    (records,) = [found for area, found in ENGINE.applied().items() if str(area).endswith("kernels.dtypes")]
    (kernel,) = [record.patch.replacement for record in records if record.patch.name == "bucketize.Tensor"]
    own, x, limits = kernel._operator, torch.tensor([2.0], device="cuda"), torch.tensor([1.0, 3.0], device="cuda")

    class Refusing:
        def redispatch(self, keys: Any, *args: Any) -> Any:
            if args[0].is_cuda and args[0].dim() == 9:
                raise RuntimeError("mudnn only support intput tensors'dim <= 8, but it is 9")
            return own.redispatch(keys, *args)

    before = set(kernel._refused)
    kernel._operator = Refusing()
    try:
        assert torch.bucketize(x.reshape([1] * 9), limits).flatten().tolist() == [1]
        assert torch.bucketize(x, limits).tolist() == [1] and kernel._refused == before
    finally:
        kernel._operator = own
