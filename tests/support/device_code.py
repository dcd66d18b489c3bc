"""Compiles a file of tests/musasim/device with the simulated toolkit, for tests to call its entry points."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import torch

from musasim.toolkit import home
from support.interpreter import ROOT

_SOURCES = ROOT / "tests" / "musasim" / "device"


def compile_kernels(name: str, folder: Path, *options: str) -> Path:
    library = folder / f"{Path(name).stem}.so"
    command = [
        str(home() / "bin" / "mcc"),
        *(options or ("-O1",)),
        "-shared",
        "-fPIC",
        str(_SOURCES / name),
        "-o",
        str(library),
        "-lmusart",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return library


class Kernels:
    """The entry points of a library: a name takes tensors on the CPU and whole numbers, and must answer musaSuccess."""

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))

    def run(self, entry: str, *arguments: torch.Tensor | int) -> None:
        words = [
            ctypes.c_void_p(each.data_ptr()) if isinstance(each, torch.Tensor) else ctypes.c_long(each)
            for each in arguments
        ]
        for each in arguments:
            assert isinstance(each, int) or each.is_contiguous()
        self._library.musaGetLastError()  # clear an error that another test of this process has left
        assert getattr(self._library, entry)(*words) == 0

    def map(self, entry: str, dtype: torch.dtype, *inputs: torch.Tensor) -> torch.Tensor:
        """One element of the result from one of each input, by an entry point that on_device.h made."""
        result = torch.empty(inputs[0].numel(), dtype=dtype)
        self.run(f"map_{entry}", *inputs, result, result.numel())
        return result
