"""Fourier transforms that torch_musa 2.7.1 has kernels of its own for, which autograd cannot follow: gradients, and `out`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

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
