"""The one fixture for fresh interpreters, the simulator for everything else, and the markers' meaning.

The pytest process itself is redirected: torch is imported once, with torchada in force and torch_musa simulated (or real, under
--real-musa). What depends on import state runs in an interpreter of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Here and not in pytest_configure: the conftest files of folders below import torch before that is called. The variable hands
# the option on to the workers of pytest-xdist.
if "--real-musa" in sys.argv:
    os.environ["REAL_MUSA"] = "1"
REAL_MUSA = "REAL_MUSA" in os.environ
os.environ["TORCHADA_STRICT"] = "1"
if not REAL_MUSA:
    os.environ["TORCHADA_SIMULATE"] = "1"
import torchada  # noqa: E402, F401  (where no start-up file is in force, this puts the hook in)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--real-musa", action="store_true", help="run on the real torch_musa of this machine, not on the simulator"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if any(item.get_closest_marker("cuda") for item in items) and not _has_nvidia_gpu():
        for item in items:
            if item.get_closest_marker("cuda"):
                item.add_marker(pytest.mark.skip(reason="needs an NVIDIA GPU"))


def _has_nvidia_gpu() -> bool:
    return any(Path("/dev").glob("nvidia[0-9]*"))


@dataclass
class Interpreter:
    """Runs code in a fresh interpreter. TORCHADA_ variables of the surroundings do not reach it; `env` is what it gets."""

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
    ) -> subprocess.CompletedProcess[str]:
        """Run a piece of code, or a list of arguments to python; fail with its output when it fails, if `check`."""
        arguments = ["-c", textwrap.dedent(code)] if isinstance(code, str) else list(code)
        done = subprocess.run(
            [self.executable, *arguments],
            env={**clean_environment(), **self.env, **(env or {})},
            cwd=self.cwd,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        if check and done.returncode != 0:
            pytest.fail(
                f"exit code {done.returncode}\n--- stdout\n{done.stdout}\n--- stderr\n{done.stderr}", pytrace=False
            )
        return done

    def json(self, code: str | Sequence[str], **options: Any) -> Any:
        """The last line of the output, as JSON."""
        return json.loads(self.run(code, **options).stdout.strip().splitlines()[-1])


def clean_environment() -> dict[str, str]:
    """The surroundings without what concerns torchada or device visibility; its start-up is in force either way."""
    hidden = ("TORCHADA_", "CUDA_VISIBLE", "MUSA_VISIBLE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    return {**kept, **startup_path()}


def startup_path() -> dict[str, str]:
    """PYTHONPATH with our sitecustomize, where the environment of the tests has no start-up file (a bare source tree)."""
    from torchada.hooks import startup_files

    folder = startup_files.sitecustomize_folder()
    if startup_files.in_force() is not None or folder is None:
        return {}
    return {"PYTHONPATH": os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))}


@pytest.fixture
def plain() -> Interpreter:
    """A fresh interpreter on a machine without accelerator: torchada installed, nothing asked of it."""
    return Interpreter()


@pytest.fixture
def musa(tmp_path: Path) -> Interpreter:
    """A fresh interpreter with a MUSA device, simulated unless --real-musa, in strict mode and in an empty folder."""
    env = {"TORCHADA_STRICT": "1"}
    if not REAL_MUSA:
        env["TORCHADA_SIMULATE"] = "1"
    if "TORCHADA_NATIVE" in os.environ:
        env["TORCHADA_NATIVE"] = os.environ["TORCHADA_NATIVE"]
    return Interpreter(env=env, cwd=tmp_path)
