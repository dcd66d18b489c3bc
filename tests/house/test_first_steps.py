"""docs/tutorial/first-steps.md, followed in an empty folder: its own files, its commands, and what it says that they print."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from support.interpreter import ROOT, Interpreter

pytestmark = [pytest.mark.once, pytest.mark.full]

PAGE = (ROOT / "docs" / "tutorial" / "first-steps.md").read_text(encoding="utf-8")
# What is between "Save this as `name`" and the next block is prose.
FILES = dict(re.findall(r"Save this as `([\w.]+)`[^`]*```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
# A block of commands, and what the page shows right after it.
STEPS = dict(re.findall(r"^```sh\n(.*?)\n```$(?:\n\n```text\n(.*?)^```$)?", PAGE, re.MULTILINE | re.DOTALL))


@pytest.fixture
def reader(plain: Interpreter, tmp_path: Path) -> Interpreter:
    """In the folder of the tutorial, on a machine without a GPU."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    plain.cwd = tmp_path
    return plain


def _follow(reader: Interpreter, command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    assert command in STEPS, f"the tutorial does not say: {command}"
    words = shlex.split(command)
    env = dict(word.split("=", 1) for word in words if re.match(r"[A-Z_]+=", word))
    program, *arguments = words[len(env) :]
    start = {"python": [], "torchada": ["-m", "torchada"]}[program]
    return reader.run([*start, *arguments], env=env, check=check)


def test_a_cuda_program_without_a_gpu_and_on_the_simulator(reader: Interpreter) -> None:
    refused = _follow(reader, "python hello.py", check=False)
    assert STEPS["python hello.py"].strip() in refused.stderr or "NVIDIA driver" in refused.stderr  # a build for CUDA
    shown = [line for line in STEPS["torchada run --simulate hello.py"].splitlines() if "compiling" not in line]
    for command in ("torchada run --simulate hello.py", "TORCHADA_SIMULATE=1 python hello.py"):
        assert _follow(reader, command).stdout.splitlines() == shown


def test_what_is_in_force(reader: Interpreter) -> None:
    for command in ("torchada status", "TORCHADA_SIMULATE=1 torchada status --probe"):
        printed, shown = _follow(reader, command, check=False).stdout.splitlines(), STEPS[command].splitlines()
        assert printed[0] == shown[0]
        labels = [line.split("  ")[0] for line in shown[1:]]
        assert [label for label in labels if not any(line.startswith(label) for line in printed)] == []


def test_a_program_that_asks(reader: Interpreter) -> None:
    command = "TORCHADA_SIMULATE=1 python asks.py"
    assert _follow(reader, command).stdout == STEPS[command]


def test_a_report(reader: Interpreter, tmp_path: Path) -> None:
    _follow(reader, "torchada run --simulate --report report.html hello.py")
    assert "torch.cuda.memory_allocated" in (tmp_path / "report.html").read_text(encoding="utf-8")
