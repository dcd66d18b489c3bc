"""Run code in fresh interpreters: import state cannot be undone, so a test that depends on it gets a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from support import vendor_python
from support.fork_server import ForkServers
from support.releases import skip_on_older_torch

# The version of the torch under test, for comparisons: (2, 13).
TORCH = tuple(int(part) for part in version("torch").split(".")[:2])
ROOT = Path(__file__).resolve().parents[2]
FORK_SERVERS = ForkServers()
STAND_INS = Path(__file__).resolve().parent / "stand_ins"


def can_fork() -> bool:
    """Whether a process may import torch and fork then: what the vendor's package starts when it is imported is not known.

    A function, because conftest.py reads pytest's options after it has imported this file.
    """
    return "REAL_MUSA" not in os.environ and vendor_python.VARIABLE not in os.environ


@dataclass
class Interpreter:
    """Runs code in a fresh interpreter. It does not inherit TORCHADA_ variables; `env` is added to its environment."""

    executable: str = sys.executable
    env: dict[str, str] = field(default_factory=dict)
    cwd: Path | None = None

    def run(
        self,
        code: str | Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        check: bool = True,
        timeout: float = 300,
        stdin: str | None = None,
        forked: bool = False,
    ) -> subprocess.CompletedProcess[str]:
        """Run a piece of code, or a list of arguments to python; with `check`, a failure fails the test with its output.

        `forked`: the test is not about the start of the interpreter, the import of torch or the interpreter's end. So a child of a
        process that has imported torch may run the code, which costs a twentieth.
        """
        environment = vendor_python.completed(_frugal({**clean_environment(), **self.env, **(env or {})}))
        skip_on_older_torch(environment)
        server = FORK_SERVERS.get(self.executable, environment) if forked and can_fork() else None
        if server is not None:
            assert isinstance(code, str), "a fork server runs code, not arguments"
            done = server.run(textwrap.dedent(code), self.cwd, stdin, timeout)
        else:
            arguments = ["-c", textwrap.dedent(code)] if isinstance(code, str) else list(code)
            done = _run([self.executable, *arguments], environment, self.cwd, stdin, timeout)
        if check and done.returncode != 0:
            pytest.fail(
                f"exit code {done.returncode}\n--- stdout\n{done.stdout}\n--- stderr\n{done.stderr}", pytrace=False
            )
        return done

    def json(self, code: str | Sequence[str], **options: Any) -> Any:
        """The last line of the output, as JSON."""
        return json.loads(self.run(code, **options).stdout.strip().splitlines()[-1])


def _run(
    command: Sequence[str], env: Mapping[str, str], cwd: Path | None, stdin: str | None, timeout: float
) -> subprocess.CompletedProcess[str]:
    """As subprocess.run, and what the process has started ends with it: a forked child that hangs would hold the pipes for ever."""
    with subprocess.Popen(
        command,
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            out, errors = process.communicate(stdin, timeout)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, errors)


def _frugal(environment: dict[str, str]) -> dict[str, str]:
    """With gates in Python where the cache is a test's own: the first process there would compile them, for a minute."""
    if "TORCHADA_CACHE_DIR" in environment and "CXX" not in environment:
        environment.setdefault("TORCHADA_CPP_GATES", "0")
    return environment


def clean_environment() -> dict[str, str]:
    """The environment without variables that concern torchada or device visibility; its start-up is in force either way.

    Without "CI", too: torch.testing reports to a package that only PyTorch's own CI has where that is set.
    """
    hidden = ("TORCHADA_", "CUDA_VISIBLE", "MUSA_VISIBLE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(hidden) and name != "CI"}
    return {**kept, **startup_path()}


def startup_path() -> dict[str, str]:
    """PYTHONPATH with our sitecustomize, where the environment of the tests has no start-up file (a bare source tree)."""
    from torchada.control import startup_files

    folder = startup_files.sitecustomize_folder()
    if startup_files.in_force() is not None or folder is None:
        return {}
    return {"PYTHONPATH": os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))}
