"""Faults that are planted in the device are found and named, and everything else is checked all the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from support.interpreter import Interpreter

pytestmark = [pytest.mark.musa, pytest.mark.once]

# Executed in each process of a run, once the battery is there: on the side of the device, and not of the programs.
HOOK = """
import wrapt

@wrapt.when_imported("torch_battery.check")
def plant(module):
    import torch
    exec({fault!r}, {{"torch": torch}})
"""
WRONG_OPERATOR = """
library = torch.library.Library("aten", "IMPL")
gelu = lambda x, *, approximate="none": torch.ops.aten.gelu(x.cpu(), approximate=approximate).mul(1.01).to(x.device)
library.impl("gelu", gelu, "CUDA", allow_override=True) if OVERRIDE else library.impl("gelu", gelu, "CUDA")
torch.kept = library
""".replace("OVERRIDE", "'allow_override' in torch.library.Library.impl.__code__.co_varnames")
CRASHING_OPERATOR = WRONG_OPERATOR.replace(
    "torch.ops.aten.gelu(x.cpu(), approximate=approximate).mul(1.01).to(x.device)", '__import__("ctypes").string_at(0)'
)
MISSING_OPERATOR = WRONG_OPERATOR.replace(
    "torch.ops.aten.gelu(x.cpu(), approximate=approximate).mul(1.01).to(x.device)",
    "(_ for _ in ()).throw(NotImplementedError('no kernel for gelu'))",
)
STREAM_RACE = "torch.cuda.Stream.wait_event = lambda self, event: None"
EVENT_RACE = "torch.cuda.Event.wait = lambda self, stream=None: None"
BROKEN_COLLECTIVE = """
import torch.distributed as dist
whole = dist.all_reduce
def all_reduce(tensor, *arguments, **keywords):
    work = whole(tensor, *arguments, **keywords)
    if dist.get_rank() == 1 and tensor.numel() > 1:
        tensor[-1] += 1
    return work
dist.all_reduce = all_reduce
"""
HALF_A_COLLECTIVE = """
import torch.distributed as dist, os, sys
if sys.argv[1:2] == ["1"]:
    dist.broadcast = lambda *arguments, **keywords: os._exit(9)
"""
TF32 = "torch.backends.cuda.matmul.allow_tf32 = True"
SEVERAL = """
torch.set_default_dtype(torch.float64)
torch.backends.cudnn.benchmark = True
torch.set_autocast_dtype("cuda", torch.bfloat16)
"""


def verify(musa: Interpreter, folder: Path, fault: str, *arguments: str, **env: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, report and text of a run with a planted fault."""
    customs = folder / "customs"
    customs.mkdir(exist_ok=True)
    (customs / "sitecustomize.py").write_text(HOOK.format(fault=fault))
    path = ":".join(filter(None, [str(customs), musa.env.get("PYTHONPATH")]))
    command = ["-m", "torchada", "verify", "--simulate", "--report", str(folder / "out.json"), *arguments]
    done = musa.run(command, env={"PYTHONPATH": path, **env}, check=False, timeout=600)
    return done.returncode, json.loads((folder / "out.json").read_text()), done.stdout


def failed(found: dict[str, Any]) -> set[str]:
    return {check["name"] for check in found["checks"] if check["outcome"] in ("failed", "crashed", "timed out")}


def of_types(names: Sequence[str], *dtypes: str) -> set[str]:
    return {f"{name}.{dtype}" for name in names for dtype in dtypes}


FLOATS = ("float32", "float16", "bfloat16")


@pytest.mark.full
def test_a_wrong_operator_is_found_in_every_type_and_in_what_uses_it(musa: Interpreter, tmp_path: Path) -> None:
    code, found, text = verify(musa, tmp_path, WRONG_OPERATOR, "--only", "pointwise", "--only", "training")
    assert code == 1 and not found["ok"]
    wrong = failed(found)
    assert wrong >= of_types(["pointwise.gelu", "pointwise.gelu_tanh"], "float32", "float16")
    assert wrong <= of_types(["pointwise.gelu", "pointwise.gelu_tanh"], *FLOATS) | {"training.transformer"}
    assert "FAILED pointwise.gelu.float32" in text and "where the CPU has" in text
    assert found["totals"]["passed"] > 290


@pytest.mark.full
@pytest.mark.parametrize(
    ("fault", "outcome", "detail"),
    [
        (CRASHING_OPERATOR, "crashed", "the process was ended by SIGSEGV"),
        (MISSING_OPERATOR, "failed", "NotImplementedError: no kernel for gelu"),
    ],
    ids=["crashes", "raises"],
)
def test_an_operator_that_ends_the_process_is_a_result(
    musa: Interpreter, tmp_path: Path, fault: str, outcome: str, detail: str
) -> None:
    chosen = ["pointwise.gelu", "pointwise.add", "losses.mse_loss"]
    code, found, _ = verify(musa, tmp_path, fault, *(word for name in chosen for word in ("--only", name)))
    assert code == 1
    assert {(each["outcome"], each["detail"]) for each in found["checks"] if each["name"] in failed(found)} == {
        (outcome, detail)
    }
    assert failed(found) == of_types(["pointwise.gelu"], *FLOATS)
    assert found["totals"]["passed"] == 8


@pytest.mark.full
@pytest.mark.parametrize(
    ("fault", "orders"),
    [
        pytest.param(STREAM_RACE, ["event", "wait_stream"], id="streams", marks=pytest.mark.slow),
        pytest.param(EVENT_RACE, ["event", "wait_stream", "event_wait"], id="events"),
    ],
)
def test_a_stream_that_does_not_wait_is_found(musa: Interpreter, tmp_path: Path, fault: str, orders: list[str]) -> None:
    """The simulator computes at once, so the values are right; the events' times and the sanitizer show it."""
    code, found, text = verify(musa, tmp_path, fault, "--only", "streams")
    assert code == 1
    assert failed(found) == {f"streams.{way}_by_{order}" for way in ("times", "no_race") for order in orders}
    assert "two streams use a tensor in no order, although one waits for the other" in " ".join(text.split())


@pytest.mark.slow
def test_a_broken_collective_is_found(musa: Interpreter, tmp_path: Path) -> None:
    code, found, _ = verify(musa, tmp_path, BROKEN_COLLECTIVE, "--only", "collectives")
    assert code == 1
    kinds = ("", "_float16", "_bfloat16", "_int64", "_operations")
    assert failed(found) == {*(f"collectives.all_reduce{kind}" for kind in kinds), "collectives.asynchronous"}
    (first,) = (each["detail"] for each in found["checks"] if each["name"] == "collectives.all_reduce")
    assert first.startswith("rank 1 of 2: the sum of all_reduce is") and "1 of 1000 not equal" in first


@pytest.mark.slow
def test_a_rank_that_ends_is_found_and_the_next_collective_has_new_ranks(musa: Interpreter, tmp_path: Path) -> None:
    code, found, _ = verify(musa, tmp_path, HALF_A_COLLECTIVE, "--only", "collectives", "--level", "standard")
    assert code == 1
    assert failed(found) == {"collectives.broadcast"}
    (broken,) = (each for each in found["checks"] if each["outcome"] != "passed")
    assert "rank 1 has ended with 9" in broken["detail"]


@pytest.mark.full
@pytest.mark.parametrize(
    ("fault", "env", "expected"),
    [
        (TF32, {}, {"defaults.allow_tf32", "defaults.matmul_precision"}),
        # torch_musa 2.7.1 starts with TF32, newer releases without.
        (
            "",
            {"TORCHADA_VENDOR_PRECISION": "1", "MUSASIM_RELEASE": "2.7.1"},
            {"defaults.allow_tf32", "defaults.matmul_precision"},
        ),
        (
            SEVERAL,
            {},
            {"defaults.dtype", "defaults.new_tensors", "defaults.cudnn_benchmark", "defaults.autocast_dtype"},
        ),
    ],
    ids=["TF32", "the vendor's precision", "several"],
)
def test_a_bad_default_is_found(
    musa: Interpreter, tmp_path: Path, fault: str, env: dict[str, str], expected: set[str]
) -> None:
    code, found, text = verify(musa, tmp_path, fault, "--only", "defaults", **env)
    assert code == 1
    assert failed(found) == expected
    assert all(f"FAILED {name}" in text for name in expected)


@pytest.mark.full
def test_a_conversion_that_truncates_is_found(musa: Interpreter, tmp_path: Path) -> None:
    fault = """
import torch
whole = torch.Tensor.bfloat16
torch.Tensor.bfloat16 = lambda x: whole((x.view(torch.int32) & -65536).view(torch.float32)) if x.is_cuda else whole(x)
"""
    _, found, _ = verify(musa, tmp_path, fault, "--only", "conversions")
    assert failed(found) == {"conversions.to_bfloat16.float32"}


@pytest.mark.slow
def test_four_faults_at_once_are_all_found_and_the_rest_passes(musa: Interpreter, tmp_path: Path) -> None:
    fault = "\n".join([WRONG_OPERATOR, STREAM_RACE, BROKEN_COLLECTIVE, TF32])
    code, found, _ = verify(musa, tmp_path, fault)
    names = failed(found)
    assert code == 1 and found["totals"]["passed"] > 1300
    for expected in (
        "pointwise.gelu.float32",
        "streams.no_race_by_event",
        "collectives.all_reduce",
        "defaults.allow_tf32",
    ):
        assert expected in names
    groups = {name.partition(".")[0] for name in names}
    assert groups <= {"pointwise", "streams", "collectives", "defaults", "training", "autograd"}
