"""What a process has the device do is counted by name, once somebody has asked for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from musasim.build import build
from support.device_code import compile_kernels
from support.interpreter import Interpreter

pytestmark = [pytest.mark.musa, pytest.mark.once]

CODE = """
import ctypes, json, sys
from musasim import tally
import torch
torch.ones(2, device="cuda") + 1
before = tally.read()
tally.begin()
torch.ones(2, device="cuda") + 1
library = ctypes.CDLL({library!r})
x = (ctypes.c_float * 64)(*range(64))
for _ in range(2):
    library.run_misaligned(x, x, ctypes.c_long(0))
operators, kernels = tally.read()
print(json.dumps([dict(before.operators), dict(operators), dict(kernels)]))
"""


def test_operators_and_kernels_are_counted_from_the_beginning_on(musa: Interpreter, tmp_path: Path) -> None:
    """A kernel's library is linked as an extension is, with the C++ part."""
    folder = build().parent
    linked = ("-O1", f"-L{folder}", "-Wl,--no-as-needed", "-lmusa_python", f"-Wl,-rpath,{folder}")
    library = compile_kernels("memcheck.mu", tmp_path, *linked)
    before, operators, kernels = musa.json(CODE.format(library=str(library)), forked=True)
    assert before == {}
    assert operators["aten::add"] == 1
    assert kernels == {"misaligned": 2}
