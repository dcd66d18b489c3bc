"""CUDA's switches for TF32 on each release of torch_musa: what they set, what they read, how they start, and undo."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from support.interpreter import Interpreter

pytestmark = pytest.mark.once

ONE_FOR_BOTH, ONE_EACH = ["2.7.1"], ["2.9.1", "2.11.0"]
RELEASES = ONE_FOR_BOTH + ONE_EACH
NEW_PRECISION = hasattr(torch._C, "_set_fp32_precision_setter")

# CUDA's answers, then the backend's: for matrix products, for convolutions.
STATE = """
import json, torch
from torch import backends
from torch.backends import cuda, cudnn, mudnn

def products():
    return backends.musa.matmul.allow_tf32 if hasattr(backends, "musa") else mudnn.allow_tf32

def state():
    return [cuda.matmul.allow_tf32, torch.get_float32_matmul_precision(), cudnn.allow_tf32, products(), mudnn.allow_tf32]
"""
AT_FIRST = [False, "highest", True]
TF32 = [True, "high", True]


def state_after(musa: Interpreter, release: str, code: str = "", **env: str) -> Any:
    return musa.json(
        f"{STATE}\n{code}\nprint(json.dumps(state()))", env={"MUSASIM_RELEASE": release, **env}, forked=not env
    )


# --- how they start -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("release", RELEASES)
def test_they_start_as_on_cuda(musa: Interpreter, release: str) -> None:
    """Convolutions on 2.7.1 are refused TF32 because matrix products are: there is one switch."""
    assert state_after(musa, release) == [*AT_FIRST, False, release in ONE_EACH]


@pytest.mark.parametrize("release", RELEASES)
def test_they_start_as_the_vendors_by_the_variable(musa: Interpreter, release: str) -> None:
    expected = [*AT_FIRST, False, True] if release in ONE_EACH else [*TF32, True, True]
    assert state_after(musa, release, TORCHADA_VENDOR_PRECISION="1") == expected


@pytest.mark.parametrize("release", RELEASES)
def test_the_variable_of_cuda_allows_tf32(musa: Interpreter, release: str) -> None:
    assert state_after(musa, release, TORCH_ALLOW_TF32_CUBLAS_OVERRIDE="1") == [*TF32, True, True]


def test_the_variable_of_musa_allows_tf32(musa: Interpreter) -> None:
    assert state_after(musa, "2.9.1", TORCH_ALLOW_TF32_MUBLAS_OVERRIDE="1") == [*TF32, True, True]


@pytest.mark.parametrize("release", RELEASES)
def test_what_a_program_set_before_torchada_came_stays(musa: Interpreter, release: str) -> None:
    code = "import torchada\ntorchada.disable()\n{}\ntorchada.enable()"
    asked = state_after(musa, release, code.format("torch.set_float32_matmul_precision('high')"))
    assert asked == [*TF32, True, True]
    refused = state_after(musa, release, code.format("mudnn.allow_tf32 = False"))
    assert refused == [False, "highest", False, False, False]
    refused = state_after(musa, release, code.format("cudnn.allow_tf32 = False"))
    assert refused == [False, "highest", False, False, False]


# --- what they set and read ------------------------------------------------------------------------------------------

# What a program does, and what holds then: CUDA's answers, whether TF32 is allowed to products and to convolutions.
SETTINGS = [
    ("cuda.matmul.allow_tf32 = True", TF32, True, True),
    ("cuda.matmul.allow_tf32 = True; cuda.matmul.allow_tf32 = False", AT_FIRST, False, True),
    ("torch.set_float32_matmul_precision('high')", TF32, True, True),
    ("torch.set_float32_matmul_precision('medium')", [True, "medium", True], True, True),
    (
        "torch.set_float32_matmul_precision('high'); torch.set_float32_matmul_precision('highest')",
        AT_FIRST,
        False,
        True,
    ),
    ("cudnn.allow_tf32 = False", [False, "highest", False], False, False),
    ("cudnn.allow_tf32 = False; cudnn.allow_tf32 = True", AT_FIRST, False, True),
    ("cuda.matmul.allow_tf32 = True; cudnn.allow_tf32 = False", [True, "high", False], True, False),
    ("cudnn.set_flags(_allow_tf32=False)", [False, "highest", False], False, False),
    ("with cudnn.flags(allow_tf32=False): pass", AT_FIRST, False, True),
]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(("code", "answers", "products", "convolutions"), SETTINGS)
def test_settings(
    musa: Interpreter, release: str, code: str, answers: list[Any], products: bool, convolutions: bool
) -> None:
    both = products and convolutions
    expected = [products, convolutions] if release in ONE_EACH else [both, both]
    assert state_after(musa, release, code) == [*answers, *expected]


# fp32_precision: what a program does, what it reads then, and whether TF32 is allowed to products and to convolutions.
PRECISIONS = [
    ("", ["none", "tf32"], False, True),
    ("cuda.matmul.fp32_precision = 'tf32'", ["tf32", "tf32"], True, True),
    ("cuda.matmul.fp32_precision = 'tf32'; cuda.matmul.fp32_precision = 'none'", ["none", "tf32"], False, True),
    ("cudnn.conv.fp32_precision = 'ieee'", ["none", "ieee"], False, False),
    ("cudnn.conv.fp32_precision = 'ieee'; cudnn.conv.fp32_precision = 'tf32'", ["none", "tf32"], False, True),
    ("cuda.matmul.fp32_precision = 'tf32'; cudnn.conv.fp32_precision = 'ieee'", ["tf32", "ieee"], True, False),
    ("backends.fp32_precision = 'tf32'", ["tf32", "tf32"], True, True),
    ("backends.fp32_precision = 'tf32'; backends.fp32_precision = 'none'", ["none", "tf32"], False, True),
]


@pytest.mark.skipif(not NEW_PRECISION, reason="this torch has no fp32_precision")
@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(("code", "reads", "products", "convolutions"), PRECISIONS)
def test_fp32_precision(
    musa: Interpreter, release: str, code: str, reads: list[str], products: bool, convolutions: bool
) -> None:
    both = products and convolutions
    expected = [products, convolutions] if release in ONE_EACH else [both, both]
    show = "print(json.dumps([cuda.matmul.fp32_precision, cudnn.conv.fp32_precision, products(), mudnn.allow_tf32]))"
    env = {"MUSASIM_RELEASE": release}
    assert musa.json(f"{STATE}\n{code}\n{show}", env=env, forked=True) == [*reads, *expected]


@pytest.mark.parametrize("release", ONE_EACH)
def test_the_backends_own_names_are_read_by_cudas(musa: Interpreter, release: str) -> None:
    assert state_after(musa, release, "backends.musa.matmul.allow_tf32 = True") == [*TF32, True, True]
    assert state_after(musa, release, "mudnn.allow_tf32 = False") == [False, "highest", False, False, False]


# --- compiled, frozen, undone -----------------------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("setting", ["pass", "cuda.matmul.allow_tf32 = True", "own.allow_tf32 = True"])
def test_compilation_changes_nothing(musa: Interpreter, release: str, setting: str) -> None:
    """dynamo saves the precision of matrix products, and sets it again."""
    code = f"""
own = backends.musa.matmul if hasattr(backends, "musa") else mudnn
{setting}
before = state()
x = torch.ones(2, 2, device="cuda")
assert torch.compile(lambda x: x @ x, backend="eager", fullgraph=True)(x).tolist() == [[2, 2], [2, 2]]
assert state() == before, (state(), before)
compiled = torch.compile(lambda x: x + 1 if cuda.matmul.allow_tf32 else x - 1, backend="eager", fullgraph=True)
assert compiled(x)[0, 0].item() == (2 if before[0] else 0)
"""
    state_after(musa, release, code)


@pytest.mark.parametrize("release", RELEASES)
def test_frozen_flags_can_be_set_by_torchs_setters(musa: Interpreter, release: str) -> None:
    code = "backends.disable_global_flags()\ntorch.set_float32_matmul_precision('high')"
    assert state_after(musa, release, code) == [*TF32, True, True]


@pytest.mark.parametrize("release", RELEASES)
def test_undo_gives_the_backends_switches_back(musa: Interpreter, release: str) -> None:
    code = """
import torchada
cuda.matmul.allow_tf32, cudnn.allow_tf32 = True, False
torchada.disable()
undone = [products(), mudnn.allow_tf32]
cuda.matmul.allow_tf32 = cudnn.allow_tf32 = True
assert undone == [products(), mudnn.allow_tf32], "torch's own switches no longer reach the backend's"
print(json.dumps(undone))
"""
    undone = musa.json(STATE + code, env={"MUSASIM_RELEASE": release}, forked=True)
    assert undone == ([False, True] if release in ONE_EACH else [True, True])
