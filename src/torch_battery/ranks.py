"""The ranks in which collectives are checked: processes that are started once, and anew after something has gone wrong."""

from __future__ import annotations

import atexit
import json
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

import torch

from torch_battery.check import HOME, Wrong

_MOST = 4  # ranks
_TO_START = 120  # seconds
_TO_ANSWER = 90
_AFTER_A_FAULT = 5  # for the ranks that wait for one that has failed


class _Group:
    def __init__(self, world: int) -> None:
        self.world = world
        self._folder = tempfile.TemporaryDirectory(prefix="torch_battery_")
        self._log = open(Path(self._folder.name) / "errors", "w+b")  # noqa: SIM115
        self._ranks = [self._start(rank) for rank in range(world)]
        self.is_usable, self._has_ended = True, ""
        self.problem = self._answers(_TO_START)

    def _start(self, rank: int) -> subprocess.Popen[bytes]:
        store = str(Path(self._folder.name) / "store")
        command = [sys.executable, "-m", "torch_battery.rank", str(rank), str(self.world), store]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self._log, bufsize=0, cwd=HOME)

    def ask(self, name: str) -> str | None:
        """What is wrong, by the first rank that says so; None if nothing is."""
        for rank in self._ranks:
            assert rank.stdin is not None
            try:
                rank.stdin.write(f"{name}\n".encode())
            except BrokenPipeError:
                self.is_usable = False
                return "a rank has ended"
        return self._answers(_TO_ANSWER)

    def _answers(self, limit: float) -> str | None:
        """What is wrong, from one answer of each rank. If a rank has ended, that is the answer: the others then fail too.

        After the first fault the others are not waited for long: they may wait for that rank.
        """
        waiting: dict[IO[bytes], int] = {rank.stdout: number for number, rank in enumerate(self._ranks) if rank.stdout}
        end, problem = time.monotonic() + limit, None
        while waiting:
            ready, _, _ = select.select(list(waiting), [], [], max(0.0, end - time.monotonic()))
            if not ready:
                self.is_usable = False
                silent = f"rank {', '.join(map(str, waiting.values()))} has not answered in {limit} s"
                return self._has_ended or problem or silent
            for stream in ready:
                fault = self._answer(waiting.pop(stream), stream)
                if fault and problem is None:
                    problem, end = fault, min(end, time.monotonic() + _AFTER_A_FAULT)
        return self._has_ended or problem

    def _answer(self, rank: int, stream: IO[bytes]) -> str | None:
        line = stream.readline()
        if not line:
            self.is_usable = False
            code = self._ranks[rank].wait()
            self._has_ended = f"rank {rank} has ended with {code}: {self._last_error()}"
            return self._has_ended
        answer = json.loads(line)
        self.is_usable = self.is_usable and answer["is_usable"]
        return f"rank {rank} of {self.world}: {answer['problem']}" if answer["problem"] else None

    def _last_error(self) -> str:
        self._log.seek(0)
        return self._log.read().decode(errors="replace").strip().rpartition("\n")[2]

    def end(self) -> None:
        """Kill the ranks."""
        for rank in self._ranks:
            rank.kill()
            rank.wait()
            for stream in (rank.stdin, rank.stdout):
                if stream is not None:
                    stream.close()
        self._log.close()
        self._folder.cleanup()


_GROUP: _Group | None = None


def run(name: str) -> None:
    """Run the program `name` in all ranks; raises Wrong where one of them finds a fault, does not answer or ends."""
    group = _group()
    problem = group.ask(name)
    if not group.is_usable:
        _end()
    if problem:
        raise Wrong(problem)


def _group() -> _Group:
    """The group: a rank for each device. On one device, two ranks if that is possible (NCCL refuses it), or else one."""
    global _GROUP
    if _GROUP is None:
        count = torch.cuda.device_count()
        _GROUP = _Group(min(max(count, 2), _MOST))
        if _GROUP.problem and count == 1:
            _GROUP.end()
            _GROUP = _Group(1)
        if _GROUP.problem:
            problem = _GROUP.problem
            _end()
            raise Wrong(problem)
    return _GROUP


@atexit.register
def _end() -> None:
    global _GROUP
    if _GROUP is not None:
        _GROUP.end()
        _GROUP = None
