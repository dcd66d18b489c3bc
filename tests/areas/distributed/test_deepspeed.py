"""DeepSpeed on two ranks learns what plain PyTorch learns on the CPU: each stage of ZeRO, and what it keeps in the CPU's memory.

All slow. docs/how-to/distributed.md gives the version it was run with.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from support.launch import PLAIN, PROGRAMS, WAYS, Outcome, needs, python, torchrun

pytestmark = [pytest.mark.slow, pytest.mark.once]
PROGRAM = PROGRAMS / "deepspeed_digits.py"
#: Seconds for one run. Two optimizers are compiled, which takes many minutes on a busy machine.
PATIENCE = 1800


@pytest.fixture(autouse=True)
def _deepspeed() -> None:
    needs("deepspeed", "sklearn")


@pytest.fixture(scope="module")
def extensions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A folder of our own for what DeepSpeed compiles."""
    return {"TORCH_EXTENSIONS_DIR": str(tmp_path_factory.mktemp("extensions"))}


@cache
def wanted() -> dict[int, float]:
    """The losses of PyTorch's own training loop, on the CPU in one process."""
    losses = python(PROGRAM, "plain", folder=PROGRAMS, env=PLAIN).must_succeed().losses
    assert losses[2] < 0.5 * losses[1]
    return losses


def agrees(done: Outcome, stage: int, optimizer: str, rel: float = 1e-4) -> None:
    assert done.devices == {0: "cuda:0", 1: "cuda:1"}
    assert done.output.count(f"stage {stage} nccl {optimizer}") == 2
    assert done.losses == pytest.approx(wanted(), rel=rel)


def loaded(done: Outcome) -> None:
    """A new engine that has loaded the checkpoint computes what the trained one does."""
    found = re.findall(r"loaded (\S+) -> (\S+) of (\d\.\d{6})", done.output)
    assert len(found) == 2
    for before, after, trained in found:
        assert float(after) == pytest.approx(float(trained), abs=1e-5) and float(before) > 2 * float(after)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("stage", [0, 1, 2, 3])
def test_stage(tmp_path: Path, stage: int, way: str) -> None:
    words = ("accumulate", f"save={tmp_path}")
    done = torchrun(PROGRAM, stage, "torch", *words, folder=tmp_path, way=way).must_succeed()
    agrees(done, stage, "AdamW")
    loaded(done)


def test_in_lower_precision(tmp_path: Path) -> None:
    agrees(torchrun(PROGRAM, 2, "torch", "bf16", folder=tmp_path).must_succeed(), 2, "AdamW", rel=0.01)


@pytest.mark.parametrize("way", ["native", "portable"])
def test_optimizer_of_torch_in_the_memory_of_the_cpu(tmp_path: Path, way: str) -> None:
    done = torchrun(PROGRAM, 3, "torch", "optimizer", "parameters", folder=tmp_path, way=way).must_succeed()
    agrees(done, 3, "AdamW")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("stage", "optimizer", "offloaded"),
    [
        (1, "FusedAdam", ()),
        (2, "DeepSpeedCPUAdam", ("optimizer",)),
        (3, "DeepSpeedCPUAdam", ("optimizer", "parameters")),
    ],
)
def test_optimizers_that_deepspeed_compiles(
    tmp_path: Path, extensions: dict[str, str], stage: int, optimizer: str, offloaded: tuple[str, ...], way: str
) -> None:
    """FusedAdam is written in CUDA, DeepSpeedCPUAdam in C++ with CUDA's headers."""
    words = (PROGRAM, stage, "config", *offloaded)
    done = torchrun(*words, folder=tmp_path, env=extensions, way=way, patience=PATIENCE).must_succeed()
    agrees(done, stage, optimizer)


@pytest.mark.parametrize("way", ["native", "portable"])
def test_launcher_of_deepspeed(tmp_path: Path, way: str) -> None:
    _, env = WAYS[way]
    launcher = ("-m", "deepspeed.launcher.runner", "--num_gpus", 2)
    done = python(*launcher, PROGRAM, 2, "torch", folder=tmp_path, env=env, patience=PATIENCE).must_succeed()
    agrees(done, 2, "AdamW")


def test_report_of_deepspeed(tmp_path: Path) -> None:
    """It finds our nvcc, and calls its operators buildable."""
    report = python("-m", "deepspeed.env_report", folder=tmp_path).must_succeed().output
    assert re.search(r"torch cuda version \.+ 11\.8", report) and re.search(r"nvcc version \.+ 11\.8", report)
    for operator in ("fused_adam", "cpu_adam", "fused_lamb", "transformer_inference", "quantizer"):
        assert re.search(rf"^{operator} \.+ .*NO.* \.+ .*OKAY", report, re.MULTILINE), operator
