"""Sends the device's tensors to other processes by a handle to their memory, as for CUDA."""

from __future__ import annotations

from torch.multiprocessing import reductions

from .rewriting import rewrite


def install() -> None:
    rewrite(reductions.reduce_tensor, {}, {"cuda": "musa"})
