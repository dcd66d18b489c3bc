"""The process group `mccl` when ranks are late, leave or die: no rank waits for longer than the timeout."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

from support.interpreter import Interpreter
from support.ranks import Ranks, meeting_point

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def two() -> Iterator[Ranks]:
    ranks = Ranks(2)
    yield ranks
    ranks.stop(kill=True)


def found_anew(rank: int, size: int, address: str, seconds: float) -> None:
    from support.ranks import connect

    dist.destroy_process_group()
    connect(rank, size, address, seconds=seconds)


def fails(kind: str) -> str:
    """The error that an operation raises."""
    tensor = torch.ones(2, device="musa")
    calls: dict[str, Callable[[], Any]] = {
        "all_reduce": lambda: dist.all_reduce(tensor),
        "recv": lambda: dist.recv(tensor, 1 - dist.get_rank()),
        "wait": lambda: dist.barrier(async_op=True).wait(timedelta(seconds=1)),
    }
    with pytest.raises(dist.DistBackendError) as caught:
        calls[kind]()
    return str(caught.value)


def result(work: Any) -> str:
    """What the future result of a work says, a WorkResult."""
    from torch._C._distributed_c10d import WorkResult

    return str(WorkResult(work.get_future_result().wait()).name)


def late(rank: int, size: int, address: str) -> list[str]:
    found_anew(rank, size, address, seconds=3)
    if rank == 1:
        time.sleep(5)
        return [fails("all_reduce")]
    answers = [fails("all_reduce"), fails("all_reduce")]
    backend = dist.group.WORLD._get_backend(torch.device("musa"))
    assert backend.get_error().name == "TIMEOUT"
    time.sleep(2)
    return answers


def reason(rank: int, size: int, address: str) -> str:
    """The group cannot be used any more, but the same processes can create another one."""
    found_anew(rank, size, address, seconds=60)
    dist.all_reduce(tensor := torch.ones(2, device="musa"))
    return str(tensor.tolist())


@pytest.mark.slow
def test_a_late_rank_causes_a_timeout(two: Ranks) -> None:
    (first, second), (other,) = two.run(late, meeting_point())
    assert "[Rank 0] Watchdog caught collective operation timeout: WorkMCCL(SeqNum=1, OpType=ALLREDUCE" in first
    assert "NumelIn=2, NumelOut=2, Timeout(ms)=3000)" in first
    assert "MCCL communicator was aborted on rank 0. Original reason for failure was: [Rank 0] Watchdog" in second
    assert "remote process exited or there was a network error" in other
    assert two.run(reason, meeting_point()) == ["[2.0, 2.0]"] * 2


def waits(rank: int, size: int, kind: str) -> str:
    return fails(kind)


def nothing(rank: int, size: int) -> None:
    dist.barrier()


@pytest.mark.full
@pytest.mark.parametrize("kind", ["all_reduce", pytest.param("recv", marks=pytest.mark.slow)])
def test_a_dead_rank_is_reported_to_the_others(kind: str) -> None:
    two = Ranks(2)
    try:
        two.run(nothing)
        two.ask(0, waits, kind)
        time.sleep(0.5)
        two.kill(1)
        text = two.answer(0)
    finally:
        two.stop(kill=True)
    assert "remote process exited or there was a network error" in text and "by peer" in text
    assert "OpType=" + {"all_reduce": "ALLREDUCE", "recv": "RECV"}[kind] in text


def waits_for_a_time(rank: int, size: int, address: str) -> str:
    found_anew(rank, size, address, seconds=60)
    if rank == 0:
        return fails("wait")
    time.sleep(2)
    return ""


@pytest.mark.full
def test_waiting_ends_after_the_given_time(two: Ranks) -> None:
    text, _ = two.run(waits_for_a_time, meeting_point())
    assert "Watchdog caught collective operation timeout" in text


def goes_on(rank: int, size: int, address: str) -> list[str]:
    """Without handling of errors, the program learns of a failure from the future result only."""
    found_anew(rank, size, address, seconds=2)
    dist.all_reduce(tensor := torch.ones(2, device="musa"))
    (barrier := dist.barrier(async_op=True)).wait()
    answers = [str(tensor.tolist()), result(barrier)]
    if rank == 1:
        time.sleep(4)
        return answers
    work = dist.all_reduce(tensor, async_op=True)
    work.wait()
    with pytest.raises(dist.DistBackendError, match="communicator was aborted on rank 0"):
        dist.all_reduce(tensor)
    return [*answers, result(work)]


@pytest.mark.full
@pytest.mark.parametrize("name", ["TORCH_MCCL_ASYNC_ERROR_HANDLING", "MCCL_ASYNC_ERROR_HANDLING"])
def test_a_program_may_ask_that_nobody_handles_errors(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "0")
    ranks = Ranks(2)
    try:
        assert ranks.run(goes_on, meeting_point()) == [["[2.0, 2.0]", "SUCCESS", "TIMEOUT"], ["[2.0, 2.0]", "SUCCESS"]]
    finally:
        ranks.stop(kill=True)


@pytest.mark.parametrize("name", ["BLOCKING_WAIT", "ASYNC_ERROR_HANDLING", "NAN_CHECK", "TRACE_BUFFER_SIZE"])
def test_a_group_refuses_variables_that_torch_musa_refuses(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    from torch_musa._MUSAC import ProcessGroupMCCL

    monkeypatch.setenv(f"TORCH_MCCL_{name}", "abc")
    with pytest.raises(RuntimeError, match=f"Invalid value for environment variable: TORCH_MCCL_{name}"):
        ProcessGroupMCCL(dist.HashStore(), 0, 1)


def given_up(rank: int, size: int, address: str) -> None:
    found_anew(rank, size, address, seconds=60)
    backend = dist.group.WORLD._get_backend(torch.device("musa"))
    if rank == 0:
        work = dist.all_reduce(torch.ones(2, device="musa"), async_op=True)
        backend.abort()
        with pytest.raises(dist.DistBackendError, match=r"communicator was aborted on rank 0.*by the program"):
            work.wait()
        assert work.is_completed() and result(work) == "COMM_ERROR"
        assert backend.get_error().name == "COMM_ERROR"
        with pytest.raises(dist.DistBackendError, match="aborted on rank 0"):
            dist.barrier()


@pytest.mark.full
def test_an_aborted_group_refuses_operations(two: Ranks) -> None:
    two.run(given_up, meeting_point())
    assert two.run(reason, meeting_point()) == ["[2.0, 2.0]"] * 2


def met(store: Any, ranks: list[int], size: int, seconds: float = 20) -> list[str]:
    """The text that each rank, in its own thread, reads from its part of the store, where rank 0 has written all names."""
    from torch_musa.core.process_group import _meet

    store.set_timeout(timedelta(seconds=seconds))

    def meet(rank: int) -> str:
        _, part = _meet(store, rank, size)
        part.set(f"name {rank}", str(time.monotonic_ns()))
        return " ".join(part.get(f"name {other}").decode() for other in range(size))

    with ThreadPoolExecutor(len(ranks)) as pool:
        return list(pool.map(meet, ranks))


def test_entries_of_earlier_processes_in_the_store_are_not_read() -> None:
    """torchrun keeps the store when it restarts workers: three ranks meet, one arrives and dies, three meet again."""
    store = dist.HashStore()
    first, *same = met(store, [0, 1, 2], 3)
    assert same == [first] * 2
    with pytest.raises(dist.DistStoreError, match="rank 2: the other ranks did not arrive"):
        met(store, [2], 3, seconds=0.2)
    second, *same = met(store, [2, 1, 0], 3)
    assert same == [second] * 2
    assert not set(first.split()) & set(second.split())


ENDS = """
import multiprocessing, sys, tempfile

def leave(rank, path):
    import musasim
    musasim.install()
    import torch, torch_musa
    import torch.distributed as dist
    dist.init_process_group(store=dist.FileStore(path, 2), rank=rank, world_size=2)
    for _ in range(3):
        dist.group.WORLD.allreduce(torch.rand(1000, device=f"musa:{rank}"))

if __name__ == "__main__":
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        ranks = [spawn.Process(target=leave, args=(rank, folder + "/store")) for rank in range(2)]
        [each.start() for each in ranks]
        [each.join() for each in ranks]
    print([each.exitcode for each in ranks])
"""


@pytest.mark.full
def test_a_program_may_end_before_its_collectives(tmp_path: Path) -> None:
    (tmp_path / "ends.py").write_text(ENDS)
    plain = Interpreter(env={"TORCHADA_DISABLE": "1", "OMP_NUM_THREADS": "1"}, cwd=tmp_path)
    for _ in range(2):
        assert plain.run(["ends.py"]).stdout.splitlines()[-1] == "[0, 0]"
