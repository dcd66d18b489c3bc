"""Tensors of the device sent to another process: as tensors of CUDA are, by a handle to the memory."""

from __future__ import annotations

from torch.multiprocessing import reductions

from .rewriting import rewrite


def install() -> None:
    rewrite(reductions.reduce_tensor, {}, {"cuda": "musa"})
