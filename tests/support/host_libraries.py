"""Calls the host APIs of the simulated toolkit's libraries by the names of their functions."""

from __future__ import annotations

import ctypes
from typing import Any

import torch

from musasim import toolkit

N, T, C = 0, 1, 2
TYPES = {"S": torch.float, "D": torch.double, "C": torch.cfloat, "Z": torch.cdouble}
NUMBERS = {
    torch.float: 0,
    torch.double: 1,
    torch.half: 2,
    torch.int8: 3,
    torch.cfloat: 4,
    torch.cdouble: 5,
    torch.int32: 10,
    torch.bfloat16: 14,
}


class Library:
    """Calls functions by name: tensors become addresses, a float or complex number the address of a number of the named type."""

    def __init__(self, name: str) -> None:
        self.library = ctypes.CDLL(str(toolkit.home() / "lib" / f"lib{name}.so"))

    def __call__(self, name: str, *arguments: Any) -> int:
        return getattr(self.library, name)(*map(_argument, arguments))

    def must(self, name: str, *arguments: Any) -> None:
        assert self(name, *arguments) == 0, name

    def handle(self, name: str) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        self.must(name, ctypes.byref(made))
        return made


def _argument(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return ctypes.c_void_p(value.data_ptr())
    return ctypes.c_double(value) if isinstance(value, float) else value


def columns(matrix: torch.Tensor) -> torch.Tensor:
    """The numbers of a matrix on the device, by columns, as these libraries take them."""
    return matrix.mT.contiguous().to("musa")


def back(stored: torch.Tensor) -> torch.Tensor:
    return stored.cpu().mT
