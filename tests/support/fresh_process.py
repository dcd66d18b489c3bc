"""Run a piece of code in an interpreter that has imported nothing yet, with the simulator installed or only importable."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

from support import vendor_python
from support.interpreter import FORK_SERVERS, can_fork
from support.releases import skip_on_older_torch

INSTALL = "import musasim; musasim.install()\n"
# What only the simulator reads, and so after torch's import.
_LATE = ("MUSA_", "MUSASIM_", "MCCL_")


def run(code: str, *, install: bool = True, ok: bool = True, forked: bool | None = None, **env: str) -> str:
    """The output of `code`; with ok=False it must fail, and its stderr is returned.

    `forked`, as of Interpreter.run: torch may have been imported before the simulator is installed. So it is unless the
    code installs it.
    """
    forked = install if forked is None else forked
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TORCHADA_")}
    without = {"TORCHADA_DISABLE": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    environment = vendor_python.completed({**clean, **without, **env}, simulated=install)
    skip_on_older_torch(environment)
    code = INSTALL * install + textwrap.dedent(code)
    late = {name: value for name, value in env.items() if name.startswith(_LATE)}
    early = {name: value for name, value in environment.items() if name not in late}
    server = FORK_SERVERS.get(sys.executable, early) if forked and can_fork() else None
    if server is not None:
        done = server.run(code, None, None, 300, late)
    else:
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300, check=False
        )
    assert (done.returncode == 0) == ok, done.stdout + done.stderr
    return without_gloo(done.stdout) if ok else done.stderr


def without_gloo(text: str) -> str:
    """Gloo of torch 2.9 writes to stdout whom it has connected to."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("[Gloo] Rank "))
