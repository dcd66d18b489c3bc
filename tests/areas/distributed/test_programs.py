"""Distributed code that others have written, or teach: launchers and trainers of libraries, and PyTorch's tutorials.

All slow. What needs a library that is not installed is skipped; docs/how-to/distributed.md gives the versions they were run with.
"""

from __future__ import annotations

import ast
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.launch import PROGRAMS, Outcome, free_port, python, torchrun

pytestmark = [pytest.mark.slow, pytest.mark.once]
#: For programs that ask torch.cuda.is_available(): what `torchada run` sets.
AVAILABLE = {"TORCHADA_FORCE_CUDA_AVAILABLE": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
HONEST = {**AVAILABLE, "TORCHADA_FORCE_CUDA_AVAILABLE": "0"}
#: Nothing is redirected, and there is no device.
PLAIN = {"TORCHADA_DISABLE": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}


def needs(*names: str) -> None:
    for name in names:
        if find_spec(name) is None:
            pytest.skip(f"{name} is not installed")


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


@pytest.mark.parametrize("env", [AVAILABLE, HONEST], ids=["available", "honest"])
@pytest.mark.parametrize("way", ["ddp", "fsdp"])
def test_the_launcher_of_accelerate(tmp_path: Path, way: str, env: dict[str, str]) -> None:
    needs("accelerate")
    launch = ("-m", "accelerate.commands.launch", "--num_machines", 1, "--mixed_precision", "no")
    launch += ("--dynamo_backend", "no", "--main_process_port", free_port())
    ways = {
        "ddp": ("--multi_gpu",),
        "fsdp": (
            "--use_fsdp",
            "--fsdp_version",
            2,
            "--fsdp_auto_wrap_policy",
            "SIZE_BASED_WRAP",
            "--fsdp_min_num_params",
            1000,
        ),
    }
    program = (PROGRAMS / "accelerate_digits.py", "state")
    together = python(*launch, "--num_processes", 2, *ways[way], *program, folder=tmp_path, env=env).must_succeed()
    alone = python(*launch, "--num_processes", 1, *program, folder=tmp_path, env=env).must_succeed()
    agree(together, alone, ["cuda:0", "cuda:1"])
    assert ("DistributedDataParallel" if way == "ddp" else "FSDP") in together.output


# ---------------------------------------------------------------- transformers


@pytest.mark.parametrize("way", ["ddp", "fsdp"])
def test_the_trainer_of_transformers(tmp_path: Path, way: str) -> None:
    """Held to two ranks on the CPU: from two on, it prints the losses of all ranks added up."""
    needs("transformers", "accelerate")
    program = (PROGRAMS / "trainer_bert.py", *(["fsdp"] if way == "fsdp" else []))
    plain = torchrun(PROGRAMS / "trainer_bert.py", folder=tmp_path, env={**AVAILABLE, **PLAIN}).must_succeed()
    agree(torchrun(*program, folder=tmp_path, env=AVAILABLE).must_succeed(), plain, ["cuda:0", "cuda:1"])


# ---------------------------------------------------------------- DeepSpeed


def test_the_first_stage_of_deepspeed(tmp_path: Path) -> None:
    needs("deepspeed")
    done = torchrun(PROGRAMS / "deepspeed_digits.py", "state", folder=tmp_path, env=AVAILABLE).must_succeed()
    assert done.devices == {0: "cuda:0", 1: "cuda:1"} and done.output.count("stage 1 nccl") == 2
    assert 0 < done.losses[2] < 0.5 * done.losses[1]


# ---------------------------------------------------------------- Ray Train


def test_ray_train(tmp_path: Path) -> None:
    """Ray starts its workers itself, and shows each the GPU it may use by CUDA_VISIBLE_DEVICES."""
    needs("ray")
    done = python(PROGRAMS / "ray_digits.py", tmp_path / "results", folder=tmp_path, env=AVAILABLE).must_succeed()
    assert sorted(done.devices.values()) == ["cuda:0", "cuda:1"]
    assert all(f"cuda:{rank}: nccl DistributedDataParallel current={rank}" in done.output for rank in range(2))
    assert 0 < done.losses[2] < 0.5
