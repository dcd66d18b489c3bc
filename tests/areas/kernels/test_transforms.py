"""Fourier transforms that torch_musa 2.7.1 has kernels of its own for, which autograd cannot follow: gradients, and `out`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from torchada.areas.kernels import transforms

X = torch.linspace(-1, 2, 32)
Z = torch.complex(X, X.flip(0))
CALLS: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], torch.Tensor]] = {
    "fft": (torch.fft.fft, Z),
    "fft of real numbers": (torch.fft.fft, X),
    "ifft": (lambda z: torch.fft.ifft(z, norm="ortho"), Z),
    "rfft": (lambda x: torch.fft.rfft(x, n=20), X),
    "irfft": (torch.fft.irfft, Z),
    "rfft2": (lambda x: torch.fft.rfft2(x.reshape(4, 8)), X),
    "hfft": (torch.fft.hfft, Z),
    "stft": (lambda x: torch.stft(x, 8, window=torch.hann_window(8, device=x.device), return_complex=True), X),
    "there and back": (
        lambda x: torch.istft(
            torch.stft(x, 8, window=torch.hann_window(8, device=x.device), return_complex=True),
            8,
            window=torch.hann_window(8, device=x.device),
        ),
        X,
    ),
}


def run(name: str, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    function, given = CALLS[name]
    x = given.to(device, copy=True).requires_grad_()
    y = function(x)
    y.abs().square().sum().backward()
    assert x.grad is not None
    return y.detach().cpu(), x.grad.cpu()


@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients_are_the_cpus(name: str) -> None:
    for found, wanted in zip(run(name, "cuda:1"), run(name, "cpu")):
        torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
def test_results_are_written_into_a_given_tensor(name: str) -> None:
    function = getattr(torch.fft, name)
    given = X if name == "rfft" else Z
    wanted = function(given)
    out = torch.empty(0, dtype=wanted.dtype, device="cuda")
    assert function(given.cuda(), out=out) is out
    torch.testing.assert_close(out.cpu(), wanted)


def test_inference_mode() -> None:
    with torch.inference_mode():
        torch.testing.assert_close(torch.fft.rfft(X.cuda()).cpu(), torch.fft.rfft(X))


def test_a_second_derivative() -> None:
    def second(device: str) -> torch.Tensor:
        x = X.to(device, copy=True).requires_grad_()
        (first,) = torch.autograd.grad(torch.fft.rfft(x).abs().pow(3).sum(), x, create_graph=True)
        (found,) = torch.autograd.grad(first.sum(), x)
        return found.cpu()

    torch.testing.assert_close(second("cuda"), second("cpu"))


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
@pytest.mark.parametrize("name", transforms._OF_HALVES)
def test_transforms_of_halves(name: str) -> None:
    """As on CUDA, where neuraloperator transforms activations under autocast."""
    function = getattr(torch.fft, name.removeprefix("fft_"))
    x = torch.linspace(-1, 1, 64).reshape(4, 16).half()
    wanted = function(x.float())
    narrow = torch.complex32 if wanted.is_complex() else torch.float16
    for is_inference in (False, True):
        with torch.inference_mode(is_inference):
            found = function(x.cuda())
            assert found.is_cuda and found.dtype == narrow
            torch.testing.assert_close(found.cpu().to(wanted.dtype), wanted, rtol=1e-2, atol=1e-2)


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
@pytest.mark.parametrize("name", transforms._OF_HALVES)
def test_transforms_of_halves_are_written_into_a_given_tensor(name: str) -> None:
    function = getattr(torch.fft, name.removeprefix("fft_"))
    x = torch.linspace(-1, 1, 64).reshape(4, 16).half().cuda()
    wanted = function(x)
    for is_inference in (False, True):
        with torch.inference_mode(is_inference):
            for shape in (0, wanted.shape):
                out = torch.empty(shape, dtype=wanted.dtype, device="cuda")
                assert function(x, out=out) is out and out.dtype == wanted.dtype
                assert torch.equal(out.cpu().to(torch.complex64), wanted.cpu().to(torch.complex64))
    of_the_other_kind = torch.empty(0, dtype=torch.float16 if wanted.is_complex() else torch.complex32, device="cuda")
    with pytest.raises(RuntimeError, match="output tensor, but got"):
        function(x, out=of_the_other_kind)


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
def test_transforms_of_halves_have_gradients() -> None:
    x = torch.linspace(-1, 1, 16).half()
    gradients = []
    for given in (x.float(), x.cuda()):
        given.requires_grad_()
        torch.fft.rfft(given).to(torch.complex64).abs().sum().backward()
        assert given.grad is not None and given.grad.dtype == given.dtype
        gradients.append(given.grad.float().cpu())
    torch.testing.assert_close(*gradients, rtol=1e-2, atol=1e-2)


def test_transforms_of_bfloat16_are_refused_as_on_cuda() -> None:
    with pytest.raises(RuntimeError, match="Unsupported dtype BFloat16"):
        torch.fft.fft(torch.ones(4, dtype=torch.bfloat16, device="cuda"))
