"""What torch_musa's kernels compute otherwise than CUDA's, by its sources (csrc/aten/ops)."""

from __future__ import annotations

import json

import pytest

from support.fresh_process import run

pytestmark = pytest.mark.once

NEAREST = [10.0, 18.0, 42.0, 50.0]
FOUND = {
    "resized('bilinear')": NEAREST,
    "resized('bicubic')": NEAREST,
    "resized('bilinear', antialias=True)": NEAREST,
    "(turned.mH @ turned).real.tolist()": [[-1.0, 0.0], [0.0, 4.0]],
    "torch.vdot(turned[0].conj(), turned[0]).real.item()": 5.0,
    "torch.bmm(turned[None].mH, turned[None]).real.tolist()": [[[-1.0, 0.0], [0.0, 4.0]]],
    "torch.bmm(strided.conj(), strided.mT).real.tolist()": [[[-1.0]]],
    "(torch.arange(12.0, device='musa').double().view(3, 4)[:, ::2] @ torch.eye(2, device='musa').double()).tolist()": [
        [0.0, 1.0],
        [4.0, 5.0],
        [8.0, 9.0],
    ],
    "F.selu(one).item()": 1.0,
    "round(F.celu(-one, 2.0).item(), 4)": -1.2642,
    "(whole ** torch.tensor([20], device='musa')).item()": 3486784512,
    "whole.pow_(whole).item()": 3,
    "torch.pow(whole, whole, out=torch.zeros_like(whole)).item()": 0,
    "(7 * one.double() // 2).item()": 3.5,
    "torch.div(-7 * one.double(), 2, rounding_mode='trunc').item()": -3.5,
    "(7 * one // 2).item()": 3.0,
    "torch.equal(drawn(), drawn())": False,
    "str(loss.dtype)": "torch.bfloat16",
    "autocast(lambda x: x @ x)": "torch.bfloat16",
    "autocast(lambda x: x.softmax(0))": "torch.float32",
    "autocast(lambda x: F.mse_loss(x, x))": "torch.float32",
    "autocast(lambda x: torch.addcmul(x, x, x))": "torch.bfloat16",
    "autocast(lambda x: torch.addcmul(x, x, x.float()))": "torch.float32",
}
# What later releases compute as CUDA does.
MENDED = {
    "2.7.1": {},
    "2.11.0": {
        "torch.vdot(turned[0].conj(), turned[0]).real.item()": 3.0,
        "torch.bmm(turned[None].mH, turned[None]).real.tolist()": [[[1.0, 0.0], [0.0, 4.0]]],
        "torch.equal(drawn(), drawn())": True,
    },
}
PROGRAM = """
import json
import musasim
musasim.install()
import torch, torch_musa, torch.nn.functional as F
def resized(mode, **options):
    x = torch.ones(1, 1, 2, 2, device="musa", requires_grad=True)
    y = F.interpolate(x, scale_factor=2, mode=mode, **options)
    (y * torch.arange(16.0, device="musa").view(1, 1, 4, 4)).sum().backward()
    return x.grad.flatten().tolist()
def drawn():
    generator = torch.Generator("musa").manual_seed(0)
    return torch.multinomial(torch.ones(32, 64, device="musa"), 1, generator=generator)
def autocast(function):
    with torch.autocast("musa", torch.bfloat16):
        return str(function(torch.ones(2, 2, dtype=torch.float64, device="musa")).dtype)
turned, one = torch.tensor([[1j, 2]], device="musa"), torch.ones(1, device="musa")
strided = torch.tensor([[[1j, 5.0, 0.0]]], device="musa")[:, :, ::2]
whole = torch.tensor([3], device="musa")
with torch.autocast("musa", torch.bfloat16):
    loss = F.cross_entropy(torch.ones(2, 3, device="musa").bfloat16(), torch.zeros(2, dtype=torch.int64, device="musa"))
print(json.dumps({call: eval(call) for call in CALLS}))
"""


@pytest.mark.parametrize("release", MENDED)
def test_results(release: str) -> None:
    results = json.loads(run(f"CALLS = {[*FOUND]}\n{PROGRAM}", MUSASIM_RELEASE=release))
    assert results == {**FOUND, **MENDED[release]}


def test_transforms_have_no_gradients_and_no_out() -> None:
    code = """
    import musasim
    musasim.install()
    import torch, torch_musa, warnings
    x = torch.ones(8, device="musa", requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.fft.rfft(x).abs().sum().backward()
        torch.stft(x, 4, window=torch.ones(4, device="musa"), return_complex=True).abs().sum().backward()
    print(x.grad)
    torch.fft.rfft2(x.reshape(2, 4)).abs().sum().backward()
    print(x.grad is not None)
    try:
        torch.fft.fft(x.detach(), out=torch.empty(8, dtype=torch.complex64, device="musa"))
    except RuntimeError as error:
        print(error)
    with torch.no_grad():
        graph = torch.musa.MUSAGraph()
        try:
            with torch.musa.graph(graph):
                torch.fft.rfft(x)
        except RuntimeError as error:
            print("captur" in str(error))
    """
    text = "MUSA does not support writing complex tensors (out) for this operation."
    assert run(code, forked=True) == f"None\nTrue\n{text}\nTrue\n"


def test_out_of_another_size_is_not_resized() -> None:
    code = """
    import musasim
    musasim.install()
    import torch, torch_musa
    a = torch.ones(2, 3, device="musa")
    calls = {
        "eq": lambda out: torch.eq(a, 1, out=out), "maximum": lambda out: torch.maximum(a, a, out=out),
        "mm": lambda out: torch.mm(a, a.t(), out=out), "mean": lambda out: torch.mean(a, 0, out=out),
    }
    for name, call in calls.items():
        out = torch.empty(0, dtype=torch.bool if name == "eq" else torch.float32, device="musa")
        try:
            call(out)
        except RuntimeError as error:
            print(name, "MUDNN failed in: Run" in str(error), tuple(out.shape))
    print(torch.sum(a, 0, out=out.resize_(0)).tolist())
    """
    lines = [f"{name} True (0,)" for name in ("eq", "maximum", "mm", "mean")]
    assert run(code, forked=True) == "\n".join([*lines, "[2.0, 2.0, 2.0]", ""])


@pytest.mark.parametrize(("release", "is_written"), [("2.7.1", False), ("2.9.1", True)])
def test_gradients_of_batch_normalization_in_eval_mode(release: str, is_written: bool) -> None:
    code = """
    import musasim
    musasim.install()
    import torch, torch_musa
    layer, x = torch.nn.BatchNorm1d(2).to("musa").eval(), torch.ones(3, 2, device="musa", requires_grad=True)
    layer(x).sum().backward()
    print(all(bool(t.grad.isfinite().all()) for t in (x, layer.weight)), layer.bias.grad.tolist())
    """
    assert run(code, MUSASIM_RELEASE=release) == f"{is_written} [3.0, 3.0]\n"


@pytest.mark.parametrize(("release", "is_asked"), [("2.7.1", False), ("2.9.1", True)])
def test_parameters_and_statistics_of_batch_normalization_have_one_type_from_2_9_1_on(
    release: str, is_asked: bool
) -> None:
    """The input may have another. What muDNN makes of several types on 2.7.1 is not public."""
    code = """
    import musasim
    musasim.install()
    import torch, torch_musa
    x = torch.randn(4, 3, 2, device="musa").half()
    single, half = torch.ones(3, device="musa"), torch.ones(3, device="musa").half()
    def said(*given):
        try:
            torch.nn.functional.batch_norm(x, *given, training=True)
        except RuntimeError as error:
            return str(error).splitlines()[0]
        return "computed"

    print(said(single, single, single, single))
    for place in range(4):
        print(said(*(half if place == each else single for each in range(4))))
    """
    alike, *mixed = run(code, MUSASIM_RELEASE=release).splitlines()
    assert alike == "computed" and len(mixed) == 4
    assert ["Except same dtypes for BatchNorm" in said for said in mixed] == [is_asked] * 4


@pytest.mark.parametrize(("release", "kept"), [("2.7.1", "torch.float16"), ("2.9.1", "torch.float32")])
def test_statistics_of_halves_are_kept_in_single_precision_from_2_9_1_on(release: str, kept: str) -> None:
    code = """
    import musasim
    musasim.install()
    import torch, torch_musa
    x = torch.linspace(-1, 2, 24).reshape(4, 6).half().to("musa")
    ones, zeros = torch.ones(6).half().to("musa"), torch.zeros(6).half().to("musa")
    layer = torch.native_layer_norm(x, [6], ones, zeros, 1e-5)
    batch = torch.native_batch_norm(x, ones, zeros, zeros, ones, True, 0.5, 1e-5)
    print(*(saved.dtype for saved in (*layer[1:], *batch[1:])), layer[0].dtype, batch[0].dtype)
    torch.testing.assert_close(zeros.cpu(), x.cpu().float().mean(0).half() / 2)
    for normalized in (torch.nn.LayerNorm(6), torch.nn.BatchNorm1d(6)):
        grads = []
        for device, dtype in (("musa", torch.float16), ("cpu", torch.float32)):
            normalized, given = normalized.to(device, dtype), x.detach().to(device, dtype).requires_grad_()
            normalized.zero_grad()
            (normalized(given) ** 3).sum().backward()
            grads.append([grad.cpu().float() for grad in (given.grad, normalized.weight.grad, normalized.bias.grad)])
            assert {given.grad.dtype, normalized.weight.grad.dtype} == {dtype}
        torch.testing.assert_close(*grads, rtol=0.02, atol=0.05)
    """
    half = "torch.float16"
    assert run(code, MUSASIM_RELEASE=release) == " ".join([*[kept] * 4, half, half]) + "\n"
