"""Two ranks of CUDA code on NCCL (distributed_checks.py), against one process on the CPU, and against the program for MCCL."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from support import distributed_checks as checks
from support.interpreter import TORCH

# torch 2.9's pipelines begin by sending an integer to a rank that receives a float, which the library refuses.
SENDS_ANOTHER_TYPE = TORCH[:2] == (2, 9)
HAS_CONTEXTS = find_spec("torch.distributed.tensor.experimental._context_parallel") is not None
# Two ranks train on the halves of a batch; an optimizer that sees the whole batch takes the same steps.
PRECISION = {"abs": 2e-4}


def launch(place: Path, names: list[str], **environment: str) -> list[dict[str, Any]]:
    """What each rank answered, check by check: [True, answer] or [False, traceback]."""
    call = [sys.executable, "-W", "ignore", checks.__file__, str(place), *names]
    done = subprocess.run(
        call, env={**os.environ, "OMP_NUM_THREADS": "1", **environment}, capture_output=True, text=True
    )
    files = [place / f"{rank}.json" for rank in range(checks.SIZE)]
    assert all(file.exists() for file in files), done.stdout + done.stderr
    return [json.loads(file.read_text()) for file in files]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[Any]]:
    """`answers(name)`: what the ranks answered, all checks being run in one start of the two."""
    left_out = [checks.pipeline] if SENDS_ANOTHER_TYPE else []
    left_out += [] if HAS_CONTEXTS else [checks.parallel_contexts, checks.parallel_context_of_a_module]
    names = [check.__name__ for check in checks.QUICK if check not in left_out]
    found = launch(tmp_path_factory.mktemp("ranks"), names)

    def of(name: str) -> list[Any]:
        for rank, answer in enumerate(found):
            fine, value = answer.get(name, [False, "not reached: a check before this one has failed"])
            assert fine, f"rank {rank}: {value}"
        return [answer[name][1] for answer in found]

    return of


def whole_batches(make: Callable[[Any], torch.optim.Optimizer], steps: int = 3) -> list[float]:
    """The losses of one process, on the CPU, with the batches of all ranks."""
    net = checks.model()
    optimizer, seen = make(net.parameters()), []
    for step in range(steps):
        optimizer.zero_grad()
        whole = torch.cat([checks.batch(rank, step).cpu() for rank in range(checks.SIZE)])
        loss = net(whole).square().mean()
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    return seen


@pytest.mark.full
def test_data_parallel_training(answers: Callable[[str], list[Any]]) -> None:
    expected = pytest.approx(whole_batches(lambda p: torch.optim.SGD(p, lr=0.1)), **PRECISION)
    assert answers("data_parallel") == [expected, expected]
    for found in answers("communication_hooks"):
        assert found == [expected, expected, expected]
    sharded = pytest.approx(whole_batches(lambda p: torch.optim.Adam(p, lr=0.01)), **PRECISION)
    assert answers("sharded_optimizer") == [sharded, sharded]
    assert answers("unused_parameters_and_uneven_inputs")
    ours, theirs = answers("batch_norm_of_all")
    assert ours == theirs
    whole = torch.cat([checks.batch(rank, 0).cpu() for rank in range(checks.SIZE)])
    assert ours == pytest.approx([0.1 * (whole.sum(1) * 0.5 + 0.5).mean().item()] * 4, **PRECISION)


@pytest.mark.full
def test_fully_sharded_training(answers: Callable[[str], list[Any]]) -> None:
    expected = pytest.approx(whole_batches(lambda p: torch.optim.SGD(p, lr=0.1)), **PRECISION)
    assert answers("fully_sharded") == [[expected] * 3] * 2
    for found in answers("fully_shard_each"):
        assert len(found) >= 4 and all(losses == expected for losses in found)


@pytest.mark.full
def test_fully_sharded_training_on_the_cpu(answers: Callable[[str], list[Any]]) -> None:
    """torch_musa replaces FSDP2's methods for the meshes of all devices, by its own."""
    expected = pytest.approx(whole_batches(lambda p: torch.optim.SGD(p, lr=0.1)), **PRECISION)
    assert answers("fully_shard_on_the_cpu") == [expected, expected]


@pytest.mark.full
def test_tensor_parallel(answers: Callable[[str], list[Any]]) -> None:
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    torch.manual_seed(0)
    for parameter in net.parameters():
        nn.init.normal_(parameter, std=0.3)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    losses = []
    for step in range(2):
        optimizer.zero_grad()
        loss = net(checks.batch(0, step).cpu()).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    whole = torch.arange(12.0).view(4, 3)
    for product, shape, gathered, *found in answers("tensor_parallel"):
        assert (product, shape, gathered) == ((whole @ whole.t()).sum().item(), [2, 3], 12)
        assert found == pytest.approx(losses, **PRECISION)


@pytest.mark.skipif(SENDS_ANOTHER_TYPE, reason="this torch sends an integer where it receives a float")
@pytest.mark.full
def test_pipelines(answers: Callable[[str], list[Any]]) -> None:
    net = checks.model()
    losses = [net(part).square().mean() for part in checks.batch(0, 0).cpu().chunk(2)]
    (sum(losses) / 2).backward()
    first, second = ([sum(p.grad.abs().sum().item() for p in part.parameters())] for part in (net[:2], net[2:]))
    second += [loss.item() for loss in losses]
    assert answers("pipeline") == [pytest.approx(first * 2, abs=1e-3), pytest.approx(second * 2, abs=1e-3)]


@pytest.mark.full
def test_checkpoints_are_resumed_from(answers: Callable[[str], list[Any]]) -> None:
    ours, theirs = answers("checkpoints")
    assert ours == theirs


@pytest.mark.full
def test_remote_procedures(answers: Callable[[str], list[Any]]) -> None:
    """A module on a worker's device gets what comes from the CPU, and what it gives is sent from there."""
    found, _ = answers("remote_procedures")
    assert found == [4, ["cpu"] * 4, "TensorPipe RPC backend only supports CPU tensors by default"]


@pytest.mark.full
def test_collectives(answers: Callable[[str], list[Any]]) -> None:
    first, second = answers("functional_collectives")
    assert first == [[3, 3], [1, 1, 2, 2], [3], [1, 2], [12, 12], [4, 4]]
    assert second == [[3, 3], [1, 1, 2, 2], [3], [1, 2], [12, 12], [2, 2]]
    refusals = {
        "is only implemented for GLOO backend.",
        "requires a group with a CPU-capable backend (e.g. GLOO).",
    }  # from 2.15 on
    for *sums, refusal in answers("messages"):
        assert sums == [2, 2] and refusal.removeprefix("monitored_barrier ") in refusals


@pytest.mark.full
def test_sums_of_products(answers: Callable[[str], list[Any]]) -> None:
    """MCCL cannot multiply while it adds."""
    halves, whole = [0.5, 1.5, 2.5, 3.5], [0.0, 1.0, 2.0, 3.0]
    for rank, found in enumerate(answers("scaled_sums")):
        part = halves[2 * rank : 2 * rank + 2]
        left = halves if rank == 1 else whole
        assert found == [
            part,
            part,
            left,
            halves,
            [4 * each for each in halves],
            [4 * each for each in halves],
            [4 * each for each in halves],
        ]


@pytest.mark.full
def test_gloo_on_tensors_of_the_device(answers: Callable[[str], list[Any]]) -> None:
    both, sums = [1, 1, 2, 2], [3, 3]
    for rank, found in enumerate(answers("gloo_on_the_device")):
        mine, others = [rank + 1] * 2, [2 - rank] * 2
        assert found == {
            "all_reduce": sums * 2,
            "broadcast": [2, 2],
            "reduce": sums if rank == 0 else mine,
            "all_gather": both,
            "all_gather_into_tensor": both,
            "reduce_scatter": sums,
            "gather": both if rank == 0 else mine,
            "scatter": mine,
            "all_to_all_single": [1, 2],
            "messages": others,
            "from anybody": others if rank == 0 else [1, 1],
            "DistributedDataParallel": [1.5, 1.5],
            "of the device": [6, 6],
        }


@pytest.mark.skipif(not HAS_CONTEXTS, reason="this torch has contexts in another place, which torchada leaves alone")
@pytest.mark.full
def test_attention_of_a_sequence_over_ranks(answers: Callable[[str], list[Any]]) -> None:
    for found in answers("parallel_contexts"):
        assert len(found) == 12 and max(found) < 1e-4


@pytest.mark.skipif(not HAS_CONTEXTS, reason="this torch has contexts in another place, which torchada leaves alone")
@pytest.mark.full
def test_attention_of_a_module_that_is_spread_by_a_plan(answers: Callable[[str], list[Any]]) -> None:
    for found in answers("parallel_context_of_a_module"):
        *far, plain = found
        assert len(far) == 8 and max(far) < 1e-4
        assert plain


@pytest.mark.full
def test_products_of_asynchronous_tensor_parallelism(answers: Callable[[str], list[Any]]) -> None:
    gathered, product, part = [1, 1, 2, 2], [4, 4, 8, 8], [[12, 12, 12]]
    assert answers("fused_products") == [[gathered, product, part, False]] * 2


@pytest.mark.slow
def test_compiled_collectives(tmp_path: Path) -> None:
    expected = whole_batches(lambda p: torch.optim.SGD(p, lr=0.1), steps=2)
    gathered = torch.tensor([1.0, 1.0, 2.0, 2.0]).sin().cos().tolist()
    for answer in launch(tmp_path, ["compiled"]):
        fine, found = answer["compiled"]
        assert fine, found
        total, cosines, losses = found
        assert total == [7, 7] and cosines == pytest.approx(gathered, abs=1e-4)
        assert losses == pytest.approx(expected, **PRECISION)


# Left out is what torch itself cannot do without torchada: it moves a module to the device by assigning .data.
NATIVE = (
    "data_parallel",
    "sharded_optimizer",
    "batch_norm_of_all",
    "tensor_parallel",
    "pipeline",
    "functional_collectives",
    "messages",
)


@pytest.mark.slow
def test_the_program_for_mccl_gives_the_same(tmp_path: Path, answers: Callable[[str], list[Any]]) -> None:
    environment = {"TORCHADA_DISABLE": "1", "CHECKED_DEVICE": "musa", "CHECKED_BACKEND": "mccl"}
    native = launch(tmp_path, list(NATIVE), **environment, TORCH_DEVICE_BACKEND_AUTOLOAD="1")
    for name in NATIVE:
        assert [answer[name] for answer in native] == [[True, value] for value in answers(name)], name
