"""Starts programs in several processes as users do, with torchrun or by hand, and reads what the examples print."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from support import vendor_python
from support.interpreter import ROOT, clean_environment

EXAMPLES = ROOT / "docs" / "examples"
PROGRAMS = ROOT / "tests" / "areas" / "distributed" / "programs"
#: Seconds until a program counts as hanging; a loaded machine is slow.
PATIENCE = 240
#: The examples take 21 steps each; the second can be interrupted in the middle.
EPOCHS = 2
#: (kind, ranks) -> the output of that example when undisturbed, and its folder; see conftest.py.
Reference = Callable[[str, int], "tuple[Outcome, Path]"]
_TORCHRUN = ("-m", "torch.distributed.run")
#: The ways in which a user runs a program: the words between `python` and the program, and the environment.
WAYS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "native": ((), {"TORCHADA_NATIVE": "1"}),
    "portable": ((), {"TORCHADA_NATIVE": "0"}),
    "torchada run": (("-m", "torchada", "run"), {}),
}
#: Runs a program of plain PyTorch.
CONTROL = Path(__file__).with_name("control.py")
#: Nothing is redirected, and there is no device.
PLAIN = {"TORCHADA_DISABLE": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}


@dataclass
class Outcome:
    """The result of a program: its exit code and its output (stdout and stderr in the order of printing)."""

    code: int
    output: str

    @property
    def losses(self) -> dict[int, float]:
        """The loss of each epoch that was printed."""
        return {int(epoch): float(loss) for epoch, loss in re.findall(r"epoch +(\d+): loss ([0-9.]+)", self.output)}

    @property
    def devices(self) -> dict[int, str]:
        """The device of each rank."""
        return {int(rank): device for rank, device in re.findall(r"\[rank (\d+) of \d+\] (\S+):", self.output)}

    def must_succeed(self) -> Outcome:
        if self.code != 0:
            pytest.fail(f"exit code {self.code}\n{self.output}", pytrace=False)
        return self


class Running:
    """A program that runs in a process group of its own; unless a test waits for it, it is ended with all its children."""

    def __init__(self, arguments: Sequence[str], folder: Path, env: Mapping[str, str], executable: str) -> None:
        self.process = subprocess.Popen(
            [executable, *arguments],
            cwd=folder,
            env=vendor_python.completed({**clean_environment(), **ENVIRONMENT, **env}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def wait(self, patience: float = PATIENCE) -> Outcome:
        try:
            output, _ = self.process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            self.end()
            output, _ = self.process.communicate()
            pytest.fail(f"no end within {patience} s\n{output}", pytrace=False)
        return Outcome(self.process.returncode, output)

    def end(self) -> None:
        """torchrun ends its workers on request; processes that do not end are killed."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)


#: An unchanged program on the simulator; torchrun gives each of its workers one thread as well.
ENVIRONMENT = {"TORCHADA_STRICT": "1", "OMP_NUM_THREADS": "1", "MUSASIM_DEVICE_COUNT": "4"}
if "REAL_MUSA" not in os.environ:
    ENVIRONMENT["TORCHADA_SIMULATE"] = "1"
if "TORCHADA_NATIVE" in os.environ:
    ENVIRONMENT["TORCHADA_NATIVE"] = os.environ["TORCHADA_NATIVE"]


@contextmanager
def started(*commands: Sequence[str], folder: Path, envs: Sequence[Mapping[str, str]] = ()) -> Iterator[list[Running]]:
    """Run programs at the same time, and end all that are left."""
    running: list[Running] = []
    try:
        for index, command in enumerate(commands):
            env = envs[index] if envs else {}
            running.append(Running([str(word) for word in command], folder, env, sys.executable))
        yield running
    finally:
        for each in running:
            each.end()


def python(*command: object, folder: Path, env: Mapping[str, str] | None = None, patience: float = PATIENCE) -> Outcome:
    """`python COMMAND...` until it ends, for at most `patience` seconds."""
    with started([str(word) for word in command], folder=folder, envs=[env or {}]) as (program,):
        return program.wait(patience)


def torchrun(
    *command: object,
    folder: Path,
    ranks: int = 2,
    options: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    way: str | None = None,
    patience: float = PATIENCE,
) -> Outcome:
    """`torchrun --standalone --nproc-per-node RANKS OPTIONS COMMAND...` until it ends, in one of the WAYS."""
    prefix, switches = WAYS[way] if way else ((), {})
    command = (*prefix, *_TORCHRUN, "--standalone", f"--nproc-per-node={ranks}", *options, *command)
    return python(*command, folder=folder, env={**switches, **(env or {})}, patience=patience)


def needs(*names: str) -> None:
    """Skip the test unless these packages are installed."""
    for name in names:
        if find_spec(name) is None:
            pytest.skip(f"{name} is not installed")


def node(*options: str, command: Sequence[object]) -> list[str]:
    """The command that starts one agent of several."""
    return [*_TORCHRUN, *options, *(str(word) for word in command)]


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def by_hand(ranks: int) -> list[dict[str, str]]:
    """The environment of each rank, as torchrun or any other launcher would set it."""
    port = str(free_port())
    return [
        {
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": str(ranks),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port,
        }
        for rank in range(ranks)
    ]
