"""The programs whose speed is measured."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from torch_battery.speed import Benchmark, Run

_WIDTH = 256  # of the small transformer


def _random(device: str, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1)).to(dtype).to(device)


def _matmul(dtype: torch.dtype, device: str, size: int) -> Run:
    a, b = (_random(device, size, size, dtype=dtype) for _ in range(2))
    out = torch.empty_like(a)
    return lambda: torch.mm(a, b, out=out)


def _convolution(device: str, size: int) -> Run:
    a, b = _random(device, size, 64, 28, 28), _random(device, 64, 64, 3, 3)
    return lambda: F.conv2d(a, b, padding=1)


def _attention(dtype: torch.dtype, device: str, size: int) -> Run:
    q, k, v = (_random(device, 1, 8, size, 64, dtype=dtype) for _ in range(3))
    return lambda: F.scaled_dot_product_attention(q, k, v)


def _elementwise(device: str, size: int) -> Run:
    a, b = _random(device, size), _random(device, size)
    out = torch.empty_like(a)
    return lambda: torch.add(a, b, out=out)


def _reduction(device: str, size: int) -> Run:
    a = _random(device, size)
    return lambda: a.sum()


def _copy(to_device: bool, pinned: bool, device: str, size: int) -> Run:
    """Between host and device; on the CPU the same copy within its memory."""
    host = torch.zeros(size, dtype=torch.uint8)
    if device == "cuda" and pinned:
        host = host.pin_memory()
    other = torch.zeros(size, dtype=torch.uint8, device=device)
    source, target = (host, other) if to_device else (other, host)
    return lambda: target.copy_(source, non_blocking=pinned)


def _within(device: str, size: int) -> Run:
    source, target = (torch.zeros(size, dtype=torch.uint8, device=device) for _ in range(2))
    return lambda: target.copy_(source)


def _launch(device: str, size: int) -> Run:
    a = torch.zeros(size, device=device)
    return lambda: a.add_(1)


def _round_trip(device: str, size: int) -> Run:
    a = torch.zeros(size, device=device)
    return lambda: a.add_(1)[0].item()


def _training(device: str, size: int) -> Run:
    """A step of AdamW with a transformer of two layers, `size` sentences of 64 words."""
    torch.manual_seed(1)
    layer: Any = nn.TransformerEncoderLayer(_WIDTH, 8, 4 * _WIDTH, dropout=0.0, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    x = _random(device, size, 64, _WIDTH)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        model(x).pow(2).mean().backward()
        optimizer.step()

    return step


_SQUARES = (256, 512, 1024, 2048, 4096, 8192)
_BYTES = tuple(1 << power for power in (20, 22, 24, 26, 28))
_NUMBERS = tuple(1 << power for power in (18, 20, 22, 24, 26))
BENCHMARKS = (
    *(
        Benchmark(
            f"matmul.{name}",
            "product of two square matrices",
            "FLOP",
            lambda n: 2.0 * n**3,
            partial(_matmul, dtype),
            _SQUARES,
        )
        for name, dtype in (("float32", torch.float32), ("float16", torch.float16), ("bfloat16", torch.bfloat16))
    ),
    Benchmark(
        "convolution.float32",
        "3x3, 64 channels, 28x28, a batch of this size",
        "FLOP",
        lambda n: 2.0 * n * 64 * 28 * 28 * 64 * 9,
        _convolution,
        (1, 4, 16, 64, 256),
    ),
    *(
        Benchmark(
            f"attention.{name}",
            "8 heads of 64, a sequence of this length",
            "FLOP",
            lambda n: 4.0 * 8 * n * n * 64,
            partial(_attention, dtype),
            (128, 256, 512, 1024, 2048, 4096),
        )
        for name, dtype in (("float32", torch.float32), ("bfloat16", torch.bfloat16))
    ),
    Benchmark("elementwise", "sum of two vectors of float32", "B", lambda n: 12.0 * n, _elementwise, _NUMBERS),
    Benchmark("reduction", "sum of a vector of float32", "B", lambda n: 4.0 * n, _reduction, _NUMBERS),
    Benchmark(
        "copy.within", "a copy within the device's memory, read and written", "B", lambda n: 2.0 * n, _within, _BYTES
    ),
    Benchmark(
        "copy.to_device",
        "from pinned memory; on the CPU a copy of the same size",
        "B",
        float,
        partial(_copy, True, True),
        _BYTES,
    ),
    Benchmark(
        "copy.to_host",
        "to pinned memory; on the CPU a copy of the same size",
        "B",
        float,
        partial(_copy, False, True),
        _BYTES,
    ),
    Benchmark("copy.to_device_pageable", "from ordinary memory", "B", float, partial(_copy, True, False), _BYTES),
    Benchmark(
        "latency.launch",
        "one addition after the other, of one number",
        "call",
        lambda n: 1.0,
        _launch,
        (1,),
        by_clock=True,
    ),
    Benchmark(
        "latency.round_trip",
        "an addition, and the result read by the program",
        "call",
        lambda n: 1.0,
        _round_trip,
        (1,),
        by_clock=True,
    ),
    Benchmark(
        "training.transformer",
        "a step of AdamW, two layers of 256, a batch of this size",
        "step",
        lambda n: 1.0,
        _training,
        (1, 4, 16, 64),
        by_clock=True,
    ),
)
