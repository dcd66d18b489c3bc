"""Distributed code that others have written, or teach: launchers and trainers of libraries, and PyTorch's tutorials.

All slow. What needs a library that is not installed is skipped; docs/how-to/distributed.md gives the versions they were run with.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from support.launch import CONTROL, PLAIN, PROGRAMS, WAYS, Outcome, free_port, needs, python, torchrun

pytestmark = [pytest.mark.slow, pytest.mark.once]
OFFLINE = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
#: torch.cuda.is_available() is True for everybody.
AVAILABLE = {"TORCHADA_FORCE_CUDA_AVAILABLE": "1", **OFFLINE}


def agree(together: Outcome, wanted: Outcome, devices: list[str]) -> None:
    """Two ranks on these devices have learnt what another run has."""
    assert [together.devices[rank] for rank in range(2)] == devices
    assert len(wanted.losses) == 2 and wanted.losses[2] < wanted.losses[1]
    assert together.losses == pytest.approx(wanted.losses, rel=1e-3)


# ---------------------------------------------------------------- PyTorch's tutorials


@pytest.mark.parametrize("backend", [[], ["by device"]], ids=["nccl", "default backend"])
def test_the_tutorial_on_ddp(tmp_path: Path, backend: list[str]) -> None:
    env = AVAILABLE if backend else {}
    done = python(PROGRAMS / "ddp_tutorial.py", free_port(), *backend, folder=tmp_path, env=env).must_succeed()
    assert done.devices == {0: "cuda:0", 1: "cuda:1"}
    for rank in range(2):
        told = f"nccl basic=True checkpoint=True from=['cuda:{rank}'] spread=True on=cuda:{2 * rank + 1}"
        assert told in done.output


def test_the_tutorials_on_fsdp(tmp_path: Path) -> None:
    done = python(PROGRAMS / "fsdp_tutorial.py", free_port(), folder=tmp_path).must_succeed()
    first, second = (ast.literal_eval(curves) for curves in re.findall(r"curves (\[.*?\]\])", done.output))
    assert first == second  # the losses are those of all ranks
    assert all(later < 0.5 * earlier for earlier, later in first)
    assert len(first) == 3 and first[1] == pytest.approx(first[2], rel=0.2)


# ---------------------------------------------------------------- accelerate

LAUNCH = ("-m", "accelerate.commands.launch", "--num_machines", 1, "--mixed_precision", "no", "--dynamo_backend", "no")
SHARDED = ("--use_fsdp", "--fsdp_version", 2, "--fsdp_auto_wrap_policy", "SIZE_BASED_WRAP")
HOW = {"ddp": ("--multi_gpu",), "fsdp": (*SHARDED, "--fsdp_min_num_params", 1000)}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("how", ["ddp", "fsdp"])
def test_the_launcher_of_accelerate(tmp_path: Path, how: str, way: str) -> None:
    """Held to two ranks of gloo on the CPU."""
    needs("accelerate")
    prefix, switches = WAYS[way]
    program, launch = PROGRAMS / "accelerate_digits.py", (*LAUNCH, "--main_process_port", free_port())
    launch = (*prefix, *launch, "--num_processes", 2, *HOW[how], program, tmp_path / "state")
    together = python(*launch, folder=tmp_path, env={**OFFLINE, **switches}).must_succeed()
    env = {**OFFLINE, **PLAIN, "ACCELERATE_USE_CPU": "true"}
    agree(
        together,
        torchrun(CONTROL, program, tmp_path / "on the CPU", folder=tmp_path, env=env).must_succeed(),
        ["cuda:0", "cuda:1"],
    )
    assert ("DistributedDataParallel" if how == "ddp" else "FSDP") in together.output


# ---------------------------------------------------------------- transformers


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("how", ["ddp", "fsdp"])
def test_the_trainer_of_transformers(tmp_path: Path, how: str, way: str) -> None:
    """Held to two ranks of gloo on the CPU."""
    needs("transformers", "accelerate")
    program = (PROGRAMS / "trainer_bert.py", *(["fsdp"] if how == "fsdp" else []))
    plain = torchrun(CONTROL, PROGRAMS / "trainer_bert.py", folder=tmp_path, env={**OFFLINE, **PLAIN}).must_succeed()
    together = torchrun(*program, folder=tmp_path, env=OFFLINE, way=way).must_succeed()
    agree(together, plain, ["cuda:0", "cuda:1"])


# ---------------------------------------------------------------- Ray Train


def test_ray_train(tmp_path: Path) -> None:
    """Ray starts its workers itself, and shows each the GPU it may use by CUDA_VISIBLE_DEVICES."""
    needs("ray")
    command = (PROGRAMS / "ray_digits.py", tmp_path / "results")
    done = python(*command, folder=tmp_path, env=AVAILABLE, patience=900).must_succeed()  # Ray takes minutes to start
    assert sorted(done.devices.values()) == ["cuda:0", "cuda:1"]
    assert all(f"cuda:{rank}: nccl DistributedDataParallel cuda:{rank}" in done.output for rank in range(2))
    assert 0 < done.losses[2] < 0.5
