"""Several processes with the simulator and a process group. They run one function after another, so that many tests share one
start of the processes."""

from __future__ import annotations

import contextlib
import multiprocessing as mp
import os
import socket
import traceback
from collections.abc import Callable, Iterator
from datetime import timedelta
from multiprocessing.connection import Connection
from typing import Any

from support.releases import skip_on_older_torch

#: Seconds for one function on all ranks; a loaded machine is slow.
PATIENCE = 120
_ENVIRONMENT = {
    "TORCHADA_DISABLE": "1",
    "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
    "OMP_NUM_THREADS": "1",
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": "0",
}


def meeting_point() -> str:
    """An unused address at which ranks find each other."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        return f"tcp://localhost:{free.getsockname()[1]}"


def connect(rank: int, size: int, rendezvous: str, backend: str = "mccl", seconds: float = 60, **more: Any) -> None:
    """The first steps of a program: choose a device for each process, and join the group."""
    import torch
    import torch.distributed as dist

    torch.musa.set_device(rank % torch.musa.device_count())
    dist.init_process_group(
        backend,
        init_method=rendezvous,
        rank=rank,
        world_size=size,
        timeout=timedelta(seconds=seconds),
        **more,
    )


def _serve(rank: int, size: int, rendezvous: str, orders: Connection) -> None:
    import warnings

    import musasim

    musasim.install()
    import torch_musa  # noqa: F401

    warnings.simplefilter("ignore", FutureWarning)  # torch renames its collectives from release to release
    connect(rank, size, rendezvous)
    while True:
        order = orders.recv()
        if order is None:
            break
        function, args = order
        try:
            orders.send((True, function(rank, size, *args)))
        except BaseException:
            orders.send((False, traceback.format_exc()))
    import torch.distributed as dist

    if dist.is_initialized():
        dist.destroy_process_group()


class Ranks:
    """`size` processes; `run` calls a function of a module in each of them."""

    def __init__(self, size: int, **environment: str) -> None:
        self.size = size
        self._environment = {**_ENVIRONMENT, **environment}
        self._processes: list[Any] = []
        self._orders: list[Connection] = []

    def run(self, function: Callable[..., Any], *args: Any, patience: float = PATIENCE) -> list[Any]:
        """The results of `function(rank, size, *args)` on each rank; raises with the errors of the ranks that failed."""
        self._start()
        for orders in self._orders:
            orders.send((function, args))
        answers = [self._answer(rank, patience) for rank in range(self.size)]
        wrong = [f"rank {rank}: {answer}" for rank, (fine, answer) in enumerate(answers) if not fine]
        if wrong:
            self.stop(kill=True)  # the others may wait for ever
            raise AssertionError("\n".join(wrong))
        return [answer for _, answer in answers]

    def kill(self, rank: int) -> None:
        self._processes[rank].kill()
        self._processes[rank].join()

    def ask(self, rank: int, function: Callable[..., Any], *args: Any) -> None:
        """Start `function` on one rank and do not wait."""
        self._start()
        self._orders[rank].send((function, args))

    def answer(self, rank: int, patience: float = PATIENCE) -> Any:
        fine, answer = self._answer(rank, patience)
        assert fine, answer
        return answer

    def stop(self, kill: bool = False) -> None:
        for process, orders in zip(self._processes, self._orders):
            if kill:
                process.kill()
            else:
                with contextlib.suppress(OSError):
                    orders.send(None)
        for process in self._processes:
            process.join(PATIENCE)
            process.kill()
        self._processes, self._orders = [], []

    def _start(self) -> None:
        if self._processes:
            return
        skip_on_older_torch(self._environment)
        context = mp.get_context("spawn")
        rendezvous = meeting_point()
        with _environment(self._environment):
            for rank in range(self.size):
                ours, theirs = context.Pipe()
                process = context.Process(target=_serve, args=(rank, self.size, rendezvous, theirs), daemon=True)
                process.start()
                theirs.close()
                self._processes.append(process)
                self._orders.append(ours)

    def _answer(self, rank: int, patience: float) -> tuple[bool, Any]:
        if not self._orders[rank].poll(patience):
            return False, f"no answer within {patience} s"
        try:
            return self._orders[rank].recv()  # type: ignore[no-any-return]
        except EOFError:
            return False, "the process has ended"


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
