"""Inputs of checks: made on the CPU, always the same for one check, and copied to the device."""

from __future__ import annotations

import zlib
from typing import Any

import torch


class Inputs:
    """Makes tensors of one data type on the CPU. `seed` is a text."""

    def __init__(self, dtype: torch.dtype, seed: str) -> None:
        self.dtype = dtype
        self._generator = torch.Generator().manual_seed(zlib.crc32(seed.encode()))

    def __call__(self, *shape: int) -> torch.Tensor:
        """Normally distributed numbers; integers from -9 to 9, for unsigned types from 0; or coins."""
        if self.dtype == torch.bool:
            return self.mask(*shape)
        if not self._is_real:
            low = 0 if self.dtype == torch.uint8 else -9
            return torch.randint(low, 10, shape, generator=self._generator).to(self.dtype)
        return self._typed(torch.randn(shape, generator=self._generator))

    def positive(self, *shape: int) -> torch.Tensor:
        """Numbers between 0.25 and 2; integers from 1 to 9."""
        if not self._is_real:
            return torch.randint(1, 10, shape, generator=self._generator).to(self.dtype)
        return self._typed(torch.rand(shape, generator=self._generator) * 1.75 + 0.25)

    def unit(self, *shape: int) -> torch.Tensor:
        """Numbers between -0.9 and 0.9."""
        return self._typed(torch.rand(shape, generator=self._generator) * 1.8 - 0.9)

    def share(self, *shape: int) -> torch.Tensor:
        """Numbers between 0.05 and 0.95."""
        return self._typed(torch.rand(shape, generator=self._generator) * 0.9 + 0.05)

    def distinct(self, *shape: int) -> torch.Tensor:
        """Numbers that are all different, and exact in every type if there are at most 256 of them (integers: at most 128)."""
        count = torch.Size(shape).numel()
        numbers = torch.randperm(count, generator=self._generator).reshape(shape)
        return self._typed((numbers - count // 2) / 4) if self._is_real else numbers.to(self.dtype)

    def apart(self, *shape: int) -> torch.Tensor:
        """Numbers far from the kinks of functions that are not smooth at integers."""
        return self._typed(torch.randint(-3, 3, shape, generator=self._generator) + 0.5)

    def integers(self, high: int, *shape: int) -> torch.Tensor:
        """Indices from 0 to `high` - 1."""
        return torch.randint(high, shape, generator=self._generator)

    def order(self, count: int) -> torch.Tensor:
        """The indices from 0 to `count` - 1 in another order."""
        return torch.randperm(count, generator=self._generator)

    def mask(self, *shape: int) -> torch.Tensor:
        """Coins, as bools."""
        return torch.randint(2, shape, generator=self._generator).bool()

    def definite(self, size: int) -> torch.Tensor:
        """A symmetric matrix with eigenvalues from 1 on."""
        matrix = torch.randn(size, size, generator=self._generator) / size**0.5
        return self._typed(matrix @ matrix.T + torch.eye(size))

    @property
    def _is_real(self) -> bool:
        return self.dtype.is_floating_point or self.dtype.is_complex

    def _typed(self, tensor: torch.Tensor) -> torch.Tensor:
        if self.dtype.is_complex:
            return torch.complex(tensor, tensor.flip(-1)).to(self.dtype)
        return tensor.to(self.dtype)


def wide(value: Any) -> Any:
    """The same input with real numbers in double precision, for the reference."""
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.double()
    if isinstance(value, torch.Tensor) and value.is_complex():
        return value.to(torch.complex128)
    return [wide(item) for item in value] if isinstance(value, list) else value


def moved(value: Any) -> Any:
    """The same input on the device."""
    if isinstance(value, torch.Tensor):
        return value.to("cuda")
    return [moved(item) for item in value] if isinstance(value, list) else value


def strided(value: Any) -> Any:
    """The same values with gaps between the elements, or with other strides."""
    if isinstance(value, list):
        return [strided(item) for item in value]
    if not isinstance(value, torch.Tensor) or value.dim() == 0:
        return value
    if value.dim() == 1:
        return torch.stack([value, value], 1)[:, 0]
    return value.transpose(-1, -2).contiguous().transpose(-1, -2)
