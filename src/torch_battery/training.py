"""Small models: the curve of the loss on the device against the same in double precision on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from torch_battery.check import Level, Tolerance, expect
from torch_battery.compare import same
from torch_battery.inputs import Inputs
from torch_battery.precision import without_tf32
from torch_battery.table import Program

GROUP = "training"
_TOLERANCE = Tolerance(1e-3, 1e-4)
_LOW_PRECISION = Tolerance(1e-1, 5e-2)


class _Convolutional(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 8, 3), nn.GroupNorm(2, 8), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5),
        )  # fmt: skip

    def forward(self, x: Any) -> Any:
        return self.layers(x)


class _Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(5, 16), nn.Embedding(9, 16)
        self.inner, self.norm = nn.Linear(16, 48), nn.LayerNorm(16)
        self.layers, self.head = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16)), nn.Linear(16, 5)

    def forward(self, x: Any) -> Any:
        h = self.words(x) + self.places(torch.arange(x.shape[1], device=x.device))
        q, k, v = (part.unflatten(-1, (2, 8)).transpose(1, 2) for part in self.inner(h).chunk(3, -1))
        h = h + F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        return self.head(h + self.layers(self.norm(h))).flatten(0, 1)


class _Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.inner, self.head = nn.Embedding(5, 8), nn.LSTM(8, 12, batch_first=True), nn.Linear(12, 5)

    def forward(self, x: Any) -> Any:
        return self.head(self.inner(self.words(x))[0]).flatten(0, 1)


def _dense() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 5))


def _images(make: Inputs) -> tuple[torch.Tensor, torch.Tensor]:
    return make(8, 3, 10, 10), make.integers(5, 8)


def _rows(make: Inputs) -> tuple[torch.Tensor, torch.Tensor]:
    return make(24, 6), make.integers(5, 24)


def _sentences(make: Inputs) -> tuple[torch.Tensor, torch.Tensor]:
    words = make.integers(5, 6, 9)
    return words, words.roll(1, 1).flatten()


_Batch = Callable[[Inputs], tuple[torch.Tensor, torch.Tensor]]


def _curve(model: nn.Module, x: torch.Tensor, y: torch.Tensor, steps: int, dtype: torch.dtype | None) -> list[float]:
    """The losses of each step; with a `dtype`, under autocast with a gradient scaler."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cuda", enabled=dtype == torch.float16)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=dtype, enabled=dtype is not None):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


def _compared(
    make: Callable[[], nn.Module], batch: _Batch, steps: int, dtype: torch.dtype | None, allowed: Tolerance
) -> float:
    torch.manual_seed(21)
    host = make()
    own = make()
    own.load_state_dict(host.state_dict())
    x, y = batch(Inputs(torch.float32, "training"))
    with without_tf32():
        losses = _curve(own.cuda(), x.cuda(), y.cuda(), steps, dtype)
    expected = _curve(host.double(), x.double() if x.is_floating_point() else x, y, steps, None)
    expect(losses[-1] < losses[0], f"the loss does not fall: {losses[0]:.4f}, and {losses[-1]:.4f} after {steps} steps")
    numbers = [torch.tensor(curve, dtype=torch.float64) for curve in (losses, expected)]
    return same(numbers[0], numbers[1], allowed, "the loss")


def _row(
    subject: str, make: Callable[[], nn.Module], batch: _Batch, level: Level = "standard", steps: int = 25,
    dtype: torch.dtype | None = None, allowed: Tolerance = _TOLERANCE,
) -> Program:  # fmt: skip
    return Program(subject, partial(_compared, make, batch, steps, dtype, allowed), level, allowed)


TABLE = [
    _row("dense", _dense, _rows, "quick"),
    _row("convolutional", _Convolutional, _images),
    _row("transformer", _Transformer, _sentences),
    _row("recurrent", _Recurrent, _sentences),
    _row("dense_float16", _dense, _rows, dtype=torch.float16, allowed=_LOW_PRECISION),
    _row("transformer_bfloat16", _Transformer, _sentences, dtype=torch.bfloat16, allowed=_LOW_PRECISION),
    _row("convolutional_long", _Convolutional, _images, "full", 100, None, _TOLERANCE.times(10)),
    _row("transformer_long", _Transformer, _sentences, "full", 100, None, _TOLERANCE.times(10)),
]
