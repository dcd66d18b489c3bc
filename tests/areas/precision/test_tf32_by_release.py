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

def unknown(precision):
    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.set_float32_matmul_precision(precision)

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


@pytest.mark.full
@pytest.mark.parametrize("release", RELEASES)
def test_they_start_as_the_vendors_by_the_variable(musa: Interpreter, release: str) -> None:
    expected = [*AT_FIRST, False, True] if release in ONE_EACH else [*TF32, True, True]
    assert state_after(musa, release, TORCHADA_VENDOR_PRECISION="1") == expected


@pytest.mark.full
@pytest.mark.parametrize("release", RELEASES)
def test_the_variable_of_cuda_allows_tf32(musa: Interpreter, release: str) -> None:
    assert state_after(musa, release, TORCH_ALLOW_TF32_CUBLAS_OVERRIDE="1") == [*TF32, True, True]


def test_the_variable_of_musa_allows_tf32(musa: Interpreter) -> None:
    assert state_after(musa, "2.9.1", TORCH_ALLOW_TF32_MUBLAS_OVERRIDE="1") == [*TF32, True, True]


@pytest.mark.full
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
SETTINGS: list[tuple[str, list[Any], bool, bool]] = [
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
    # torch warns of words that it does not know, and changes nothing.
    ("unknown('HIGHEST')", AT_FIRST, False, True),
    ("unknown('tf32')", AT_FIRST, False, True),
    ("torch.set_float32_matmul_precision('high'); unknown('none')", TF32, True, True),
    ("cudnn.allow_tf32 = False", [False, "highest", False], False, False),
    ("cudnn.allow_tf32 = False; cudnn.allow_tf32 = True", AT_FIRST, False, True),
    ("cuda.matmul.allow_tf32 = True; cudnn.allow_tf32 = False", [True, "high", False], True, False),
    ("cudnn.set_flags(_allow_tf32=False)", [False, "highest", False], False, False),
    ("with cudnn.flags(allow_tf32=False): pass", AT_FIRST, False, True),
]


RESET = "torch.set_float32_matmul_precision('highest'); cudnn.allow_tf32 = True"


def after_each(musa: Interpreter, release: str, settings: list[str], reset: str, show: str) -> dict[str, Any]:
    """What `show` is after each of the settings, all of which are made in one process."""
    code = f"""
results = {{}}
for setting in {settings!r}:
    exec({reset!r})
    exec(setting)
    results[setting] = {show}
print(json.dumps(results))
"""
    results: dict[str, Any] = musa.json(STATE + code, env={"MUSASIM_RELEASE": release}, forked=True)
    return results


def governed(release: str, products: bool, convolutions: bool) -> list[bool]:
    """The backend's switch for each, where CUDA's allow this."""
    return [products, convolutions] if release in ONE_EACH else [products and convolutions] * 2


@pytest.mark.full
@pytest.mark.parametrize("release", RELEASES)
def test_settings(musa: Interpreter, release: str) -> None:
    results = after_each(musa, release, [code for code, *_ in SETTINGS], RESET, "state()")
    assert results == {code: [*answers, *governed(release, *allowed)] for code, answers, *allowed in SETTINGS}


# fp32_precision: what a program does, what it reads then, and whether TF32 is allowed to products and to convolutions.
PRECISIONS: list[tuple[str, list[str], bool, bool]] = [
    ("", ["none", "tf32"], False, True),
    ("cuda.matmul.fp32_precision = 'tf32'", ["tf32", "tf32"], True, True),
    ("cuda.matmul.fp32_precision = 'tf32'; cuda.matmul.fp32_precision = 'none'", ["none", "tf32"], False, True),
    ("cudnn.conv.fp32_precision = 'ieee'", ["none", "ieee"], False, False),
    ("cudnn.conv.fp32_precision = 'none'", ["none", "none"], False, False),
    ("cudnn.conv.fp32_precision = 'ieee'; cudnn.conv.fp32_precision = 'tf32'", ["none", "tf32"], False, True),
    ("cuda.matmul.fp32_precision = 'tf32'; cudnn.conv.fp32_precision = 'ieee'", ["tf32", "ieee"], True, False),
    ("backends.fp32_precision = 'tf32'", ["tf32", "tf32"], True, True),
    ("backends.fp32_precision = 'tf32'; backends.fp32_precision = 'none'", ["none", "tf32"], False, True),
]


NEW_RESET = "backends.fp32_precision = cuda.matmul.fp32_precision = 'none'; cudnn.conv.fp32_precision = 'tf32'"
NEW_STATE = "[cuda.matmul.fp32_precision, cudnn.conv.fp32_precision, products(), mudnn.allow_tf32]"


@pytest.mark.full
@pytest.mark.skipif(not NEW_PRECISION, reason="this torch has no fp32_precision")
@pytest.mark.parametrize("release", RELEASES)
def test_fp32_precision(musa: Interpreter, release: str) -> None:
    results = after_each(musa, release, [code for code, *_ in PRECISIONS], NEW_RESET, NEW_STATE)
    assert results == {code: [*reads, *governed(release, *allowed)] for code, reads, *allowed in PRECISIONS}


@pytest.mark.parametrize("release", ONE_EACH)
def test_the_backends_own_names_are_read_by_cudas(musa: Interpreter, release: str) -> None:
    assert state_after(musa, release, "backends.musa.matmul.allow_tf32 = True") == [*TF32, True, True]
    assert state_after(musa, release, "mudnn.allow_tf32 = False") == [False, "highest", False, False, False]


# --- compiled, frozen, undone -----------------------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.parametrize("release", RELEASES)
def test_compilation_changes_nothing(musa: Interpreter, release: str) -> None:
    """dynamo saves the precision of matrix products, and sets it again."""
    code = """
own = backends.musa.matmul if hasattr(backends, "musa") else mudnn
x = torch.ones(2, 2, device="cuda")

def f(x):
    return x @ x if cuda.matmul.allow_tf32 else x - 1

refused = "torch.set_float32_matmul_precision('highest')"
for setting in ("pass", "own.allow_tf32 = True", f"{refused}; own.allow_tf32 = True", "cuda.matmul.allow_tf32 = True"):
    exec(setting)
    torch.compiler.reset()
    before, expected = state(), f(x).tolist()
    assert torch.compile(f, backend="eager", fullgraph=True)(x).tolist() == expected, setting
    assert state() == before, (setting, state(), before)
    assert before[0] == (setting != "pass")
"""
    state_after(musa, release, code)


@pytest.mark.full
@pytest.mark.parametrize("release", RELEASES)
def test_frozen_flags_can_be_set_by_torchs_setters(musa: Interpreter, release: str) -> None:
    code = "backends.disable_global_flags()\ntorch.set_float32_matmul_precision('high')"
    assert state_after(musa, release, code) == [*TF32, True, True]


@pytest.mark.full
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
