"""The examples under torchrun: the same losses on any number of ranks, and nothing lost when one dies."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from support.launch import EPOCHS, EXAMPLES, PROGRAMS, Outcome, Reference, by_hand, free_port, node, started, torchrun

pytestmark = pytest.mark.once

DDP = EXAMPLES / "train_ddp.py"


def on_its_own_device(done: Outcome, ranks: int) -> None:
    assert done.devices == {rank: f"cuda:{rank}" for rank in range(ranks)}


def same_curve(done: Outcome, wanted: Outcome, tolerance: float = 1e-4) -> None:
    assert list(wanted.losses) == [*range(1, EPOCHS + 1)]
    assert wanted.losses[EPOCHS] < 0.8 * wanted.losses[1]  # it does learn
    assert done.losses == pytest.approx(wanted.losses, rel=tolerance)


def tensors(path: Path) -> dict[str, torch.Tensor]:
    state: dict[str, Any] = torch.load(path, map_location="cpu")
    return state.get("model", state)


def close(path: Path, other: Path) -> None:
    ours, theirs = tensors(path), tensors(other)
    torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("kind", "file"), [("ddp", "digits_ddp.pt"), pytest.param("fsdp", "digits_fsdp.pt", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_the_loss_is_that_of_one_process(reference: Reference, kind: str, file: str, ranks: int) -> None:
    (alone, folder), (together, other) = reference(kind, 1), reference(kind, ranks)
    on_its_own_device(alone, 1)
    on_its_own_device(together, ranks)
    same_curve(together, alone)
    close(other / file, folder / file)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ddp", "fsdp"])
def test_lower_precision(reference: Reference, tmp_path: Path, kind: str) -> None:
    done = torchrun(EXAMPLES / f"train_{kind}.py", "--bf16", "--epochs", EPOCHS, folder=tmp_path).must_succeed()
    alone, _ = reference(kind, 1)
    assert done.losses != alone.losses
    same_curve(done, alone, tolerance=0.05)


@pytest.mark.slow
def test_shards_go_on_on_another_number_of_ranks(reference: Reference, tmp_path: Path) -> None:
    """One epoch on two ranks, the next on four: the sharded checkpoint is read by whoever comes."""
    program = EXAMPLES / "train_fsdp.py"
    torchrun(program, "--epochs", EPOCHS - 1, folder=tmp_path, ranks=2).must_succeed()
    done = torchrun(program, "--epochs", EPOCHS, folder=tmp_path, ranks=4).must_succeed()
    alone, folder = reference("fsdp", 1)
    assert f"{EPOCHS - 1} epochs are finished" in done.output
    assert done.losses == pytest.approx({EPOCHS: alone.losses[EPOCHS]}, rel=1e-4)
    close(tmp_path / "digits_fsdp.pt", folder / "digits_fsdp.pt")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ddp", pytest.param("fsdp", marks=pytest.mark.slow)])
def test_training_goes_on_where_a_killed_rank_left_it(reference: Reference, tmp_path: Path, kind: str) -> None:
    """Rank 1 is killed in the second epoch; torchrun starts both again, and they begin that epoch anew."""
    command = (PROGRAMS / "struck.py", "SIGKILL", 30, EXAMPLES / f"train_{kind}.py", "--epochs", EPOCHS)
    done = torchrun(*command, folder=tmp_path, options=["--max-restarts=1"]).must_succeed()
    assert done.output.count("rank 1 gets SIGKILL") == 1
    assert done.output.count("1 epochs are finished") == 1
    undisturbed, folder = reference(kind, 2)
    assert done.losses == undisturbed.losses
    ours, theirs = tensors(tmp_path / f"digits_{kind}.pt"), tensors(folder / f"digits_{kind}.pt")
    assert list(ours) == list(theirs)
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize(
    ("sent", "timeout", "message"),
    [
        ("SIGKILL", 60, "remote process exited or there was a network error"),
        ("SIGSTOP", 5, "Watchdog caught collective operation timeout"),
    ],
)
@pytest.mark.slow
def test_the_others_end_with_an_error(tmp_path: Path, sent: str, timeout: float, message: str) -> None:
    """Without torchrun, which would end them: the rank that is left says why, at once or when the timeout is over."""
    command = (PROGRAMS / "struck.py", sent, 5, DDP, "--timeout", timeout)
    with started(command, command, folder=tmp_path, envs=by_hand(2)) as (left, struck):
        done = left.wait()
        if sent == "SIGSTOP":
            struck.process.kill()
        other = struck.wait()
    assert "rank 1 gets" in other.output and other.code == -signal.SIGKILL
    assert done.code == 1
    assert "DistBackendError" in done.output and message in done.output


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ("SIGKILL", "Signal 9 (SIGKILL) received by PID"),
        ("SIGSTOP", "Watchdog caught collective operation timeout"),
    ],
)
@pytest.mark.slow
def test_torchrun_ends_all_ranks_when_one_is_lost(tmp_path: Path, sent: str, message: str) -> None:
    """Where no restart is allowed: the error of the rank that was killed, or of the one that has waited for the one that hangs."""
    command = (PROGRAMS / "struck.py", sent, 5, DDP, "--timeout", 5)
    done = torchrun(*command, folder=tmp_path)
    assert done.code == 1 and "ChildFailedError" in done.output
    assert done.output.count("rank 1 gets") == 1 and message in done.output
    assert EPOCHS not in done.losses


@pytest.mark.slow
@pytest.mark.parametrize("rendezvous", ["c10d", "static"])
def test_two_nodes(reference: Reference, tmp_path: Path, rendezvous: str) -> None:
    """Two agents, as on two machines: each counts its devices from 0."""
    port = free_port()
    options = [
        ["--nnodes=2", "--nproc-per-node=1", "--local-addr=127.0.0.1", *more]
        for more in (
            [[f"--node-rank={rank}", "--master-addr=127.0.0.1", f"--master-port={port}"] for rank in range(2)]
            if rendezvous == "static"
            else [["--rdzv-id=7", "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{port}"]] * 2
        )
    ]
    commands = [node(*each, command=(DDP, "--epochs", EPOCHS)) for each in options]
    with started(*commands, folder=tmp_path) as agents:
        done = [agent.wait().must_succeed() for agent in agents]
    assert {rank: device for each in done for rank, device in each.devices.items()} == {0: "cuda:0", 1: "cuda:0"}
    assert [len(each.devices) for each in done] == [1, 1]
    (speaker,) = (each for each in done if each.losses)
    same_curve(speaker, reference("ddp", 1)[0])


def test_the_examples_have_not_heard_of_us() -> None:
    for kind in ("ddp", "fsdp"):
        text = (EXAMPLES / f"train_{kind}.py").read_text().lower()
        assert "musa" not in text and "mccl" not in text and "torchada" not in text and '"nccl"' in text
