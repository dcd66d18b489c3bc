"""Compiles a file of tests/musasim/device with the simulated toolkit, for tests to call its entry points.

With DEVICE_CODE_BY=nvcc it is compiled for an NVIDIA GPU instead, in CUDA's names: the hardware itself then says whether the tests
expect the right thing of device code.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
from pathlib import Path

import torch

from musasim.toolkit import home
from support.interpreter import ROOT
from torchada.porting import port_source

_SOURCES = ROOT / "tests" / "musasim" / "device"
BY_NVCC = os.environ.get("DEVICE_CODE_BY") == "nvcc"
_NAMES_OF_CUDA = {
    "musa": "cuda",
    "MUSA": "CUDA",
    "MUSART": "CUDART",
    "murand": "curand",
    "__mt_": "__nv_",
    "__MT_": "__NV_",
    "__musa_cvt": "__nv_cvt",
}


def in_names_of_cuda(text: str) -> str:
    return re.sub("|".join(sorted(_NAMES_OF_CUDA, key=len, reverse=True)), lambda name: _NAMES_OF_CUDA[name[0]], text)


def compile_kernels(name: str, folder: Path, *options: str) -> Path:
    library = folder / f"{Path(name).stem}.so"
    command = [*(_nvcc if BY_NVCC else _mcc)(name, folder), *(options or ("-O1",)), "-shared", "-o", str(library)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return library


def _mcc(name: str, folder: Path) -> list[str]:
    return [str(home() / "bin" / "mcc"), "-fPIC", str(_SOURCES / name), "-lmusart"]


def _nvcc(name: str, folder: Path) -> list[str]:
    for source in (_SOURCES / name, *_SOURCES.glob("*.h")):
        written = folder / source.name.replace(".mu", ".cu")
        written.write_text(in_names_of_cuda(source.read_text(encoding="utf-8")), encoding="utf-8")
    source = str((folder / name).with_suffix(".cu"))
    return ["nvcc", "-Xcompiler", "-fPIC", "-cudart", "shared", "-arch", "native", "-std=c++17", "-rdc=false", source]


def said_of(code: str, folder: Path) -> str:
    """What the compiler says of CUDA C++ that it refuses, or nothing."""
    source = folder / ("snippets.cu" if BY_NVCC else "snippets.mu")
    source.write_bytes(code.encode() if BY_NVCC else port_source(code.encode()).text)
    mcc = [str(home() / "bin" / "mcc"), "-fsyntax-only"]
    command = ["nvcc", "-std=c++17", "-arch", "native", "-cuda", "-o", str(folder / "snippets.ii")] if BY_NVCC else mcc
    environment = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run([*command, str(source)], capture_output=True, text=True, timeout=300, env=environment)
    return "" if done.returncode == 0 else done.stderr


class Kernels:
    """The entry points of a library: a name takes tensors on the CPU and whole numbers, and must answer musaSuccess."""

    def __init__(self, library: Path) -> None:
        self.library = library
        self._library = ctypes.CDLL(str(library))

    def run(self, entry: str, *arguments: torch.Tensor | int) -> None:
        words = [
            ctypes.c_void_p(each.data_ptr()) if isinstance(each, torch.Tensor) else ctypes.c_long(each)
            for each in arguments
        ]
        for each in arguments:
            assert isinstance(each, int) or each.is_contiguous()
        get_last_error = "cudaGetLastError" if BY_NVCC else "musaGetLastError"
        self._library[get_last_error]()  # clear an error that another test of this process has left
        assert getattr(self._library, entry)(*words) == 0

    def map(self, entry: str, dtype: torch.dtype, *inputs: torch.Tensor) -> torch.Tensor:
        """One element of the result from one of each input, by an entry point that on_device.h made."""
        result = torch.empty(inputs[0].numel(), dtype=dtype)
        self.run(f"map_{entry}", *inputs, result, result.numel())
        return result
