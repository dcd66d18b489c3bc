"""Run a piece of code in an interpreter that has imported nothing yet, with the simulator installed or only importable."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

from support import vendor_python

INSTALL = "import musasim; musasim.install()\n"


def run(code: str, *, install: bool = True, ok: bool = True, **env: str) -> str:
    """The output of `code`; with ok=False it must fail, and its stderr is returned."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TORCHADA_")}
    done = subprocess.run(
        [sys.executable, "-c", INSTALL * install + textwrap.dedent(code)],
        env=vendor_python.completed(
            {**clean, "TORCHADA_DISABLE": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", **env}, simulated=install
        ),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode == 0) == ok, done.stdout + done.stderr
    return done.stdout if ok else done.stderr
