"""The inverse of a real Fourier transform as products of matrices: `torchada.musa_irfft_graph` of torchada 0.1, after 0.1.103.

A graph captures products of matrices on every release of torch_musa. Of its transforms nobody has said that.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def musa_irfft_graph(spectrum: Tensor, n: int) -> Tensor:
    """`torch.fft.irfft(spectrum, n, dim=1)` of a complex64 tensor [batch, frequency, frames] on the device, for graphs to capture.

    It takes memory for two matrices of `n` by `n / 2`. RuntimeError for a tensor that is on the CPU, or is none of that kind.
    """
    import torch

    _check(spectrum, n)
    wanted = n // 2 + 1
    used = min(wanted, spectrum.size(1))  # others are cut off, or are zero
    parts = torch.view_as_real(spectrum[:, :used].transpose(1, 2)).contiguous()
    frequency = torch.arange(used, device=spectrum.device)
    turn = torch.outer(frequency, torch.arange(n, device=spectrum.device)).remainder(n).float() * (2 * math.pi / n)
    alone = (frequency == 0) | (2 * frequency == n)  # all others stand for two frequencies, which are conjugates
    weight = torch.where(alone, 1.0 / n, 2.0 / n).unsqueeze(1)
    real, imaginary = parts[..., 0].contiguous(), parts[..., 1].contiguous()
    return (real @ (turn.cos() * weight) - imaginary @ (turn.sin() * weight)).transpose(1, 2).contiguous()


def _check(spectrum: Tensor, n: int) -> None:
    import torch

    if spectrum.device.type == "cpu":
        raise RuntimeError("musa_irfft_graph requires a MUSA tensor, and spectrum is on cpu")
    if spectrum.dtype is not torch.complex64 or spectrum.dim() != 3:
        raise RuntimeError(
            "musa_irfft_graph requires complex64 of the shape [batch, frequency, frames], "
            f"and spectrum is {spectrum.dtype} {list(spectrum.shape)}"
        )
    if n < 1:
        raise RuntimeError(f"musa_irfft_graph requires n to be at least 1, and it is {n}")
