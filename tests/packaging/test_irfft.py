"""torchada.musa_irfft_graph, of torchada 0.1 after 0.1.103: an inverse transform that a graph captures."""

from __future__ import annotations

import pytest
import torch

import torchada


@pytest.mark.parametrize(("n", "bins"), [(8, 5), (7, 4), (1, 1), (8, 3), (6, 9)])
def test_it_is_irfft_over_the_frequencies(n: int, bins: int) -> None:
    """Frequencies that are too many are cut off, and those that are missing are zero, as by irfft."""
    spectrum = torch.randn(2, bins, 3, dtype=torch.complex64)
    computed = torchada.musa_irfft_graph(spectrum.cuda(), n)
    assert computed.device.type == torch.device("cuda").type and computed.is_contiguous()
    torch.testing.assert_close(computed.cpu(), torch.fft.irfft(spectrum, n, dim=1))


def test_a_graph_captures_it() -> None:
    spectrum = torch.randn(1, 5, 2, device="cuda", dtype=torch.complex64)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        computed = torchada.musa_irfft_graph(spectrum, 8)
    spectrum.copy_(torch.randn_like(spectrum))
    graph.replay()
    torch.testing.assert_close(computed.cpu(), torch.fft.irfft(spectrum.cpu(), 8, dim=1))


@pytest.mark.parametrize(
    ("spectrum", "n", "text"),
    [
        (torch.zeros(1, 5, 2, dtype=torch.complex64), 8, "spectrum is on cpu"),
        (torch.zeros(1, 5, 2, dtype=torch.complex128, device="cuda"), 8, r"torch.complex128 \[1, 5, 2\]"),
        (torch.zeros(5, 2, dtype=torch.complex64, device="cuda"), 8, r"torch.complex64 \[5, 2\]"),
        (torch.zeros(1, 5, 2, dtype=torch.complex64, device="cuda"), 0, "at least 1, and it is 0"),
    ],
)
def test_what_it_does_not_take_is_named(spectrum: torch.Tensor, n: int, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        torchada.musa_irfft_graph(spectrum, n)
