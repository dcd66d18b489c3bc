"""An error that ends a program is followed by one line with the way out, where torchada knows it."""

from __future__ import annotations

import pytest

from support.interpreter import Interpreter
from torchada.areas.cuda._hints import HINTS, way_out
from torchada.backends.host import HOST
from torchada.backends.musa import MUSA

pytestmark = pytest.mark.once

SAID = (
    ("ClampScalar Unsupported tensor dtype: Double", "TORCHADA_ALL_DTYPES=0"),
    ("Unsupported dtype Half", "TORCHADA_ALL_DTYPES=0"),
    ("Dtype of weight tensor of Convolution only support Float32 and Half/BFloat16", "TORCHADA_ALL_DTYPES=0"),
    (
        "Gloo connectFullMesh failed with ... timed out connecting",
        "NCCL_SOCKET_IFNAME names the network's interface to MCCL",
    ),
    ("MUSA error: no MUSA-capable device is detected", "torchada doctor"),
    ("MUSA error: invalid device ordinal", "MUSA_VISIBLE_DEVICES"),
    (
        "MUSA_HOME environment variable is not set. Please set it to your MUSA install root.",
        "MUSA_HOME names the folder",
    ),
    ("libcudart.so.12: cannot open shared object file: No such file or directory", "compiled for CUDA"),
)


@pytest.mark.parametrize(("text", "way"), SAID)
def test_an_error_whose_way_out_is_known_is_answered_with_it(text: str, way: str) -> None:
    assert way in way_out(RuntimeError(text), MUSA)


def test_each_hint_is_tried_here() -> None:
    assert len({way_out(RuntimeError(text), MUSA) for text, _ in SAID}) == len(HINTS)


def test_an_error_that_nobody_knows_is_left_alone() -> None:
    assert way_out(ValueError("dtype of the table"), MUSA) == way_out(KeyboardInterrupt(), HOST) == ""


def test_the_cause_of_an_error_counts() -> None:
    error = ValueError("cannot train")
    error.__cause__ = RuntimeError("Unsupported dtype Half")
    assert "TORCHADA_ALL_DTYPES=0" in way_out(error, MUSA)
    hidden = ValueError("cannot train")
    hidden.__context__, hidden.__suppress_context__ = RuntimeError("Unsupported dtype Half"), True
    assert way_out(hidden, MUSA) == ""


PROGRAM = "import torch; torch.nn.functional.hardtanh(torch.ones(2, device='cuda', dtype=torch.float64))"


@pytest.mark.musa
def test_the_hint_follows_the_traceback(musa: Interpreter) -> None:
    done = musa.run(["-c", PROGRAM], check=False, env={"TORCHADA_ALL_DTYPES": "0"})
    *_, error, hint = done.stderr.splitlines()
    assert done.returncode == 1 and error.startswith("RuntimeError: ClampScalar Unsupported")
    assert hint.startswith("torchada: torch_musa refuses this data type")


@pytest.mark.musa
def test_hooks_of_the_program_before_and_after_torch_are_called(musa: Interpreter) -> None:
    code = """
import sys
def before(*error): print("before")
sys.excepthook = before
import torch
def after(*error): print("after"); ours(*error)
ours, sys.excepthook = sys.excepthook, after
raise RuntimeError("Unsupported dtype Half")
"""
    done = musa.run(["-c", code], check=False)
    assert done.stdout.split() == ["after", "before"] and done.stderr.startswith("torchada: torch_musa refuses")


@pytest.mark.full
def test_without_a_device_of_musa_nothing_is_said(plain: Interpreter) -> None:
    code = (
        "import torch, sys; assert sys.excepthook is sys.__excepthook__; raise RuntimeError('Unsupported dtype Half')"
    )
    for env in ({}, {"TORCHADA_PLATFORM": "host"}):
        done = plain.run(["-c", code], check=False, env=env)
        assert done.stderr.splitlines()[-1] == "RuntimeError: Unsupported dtype Half"
