"""What somebody should look at is said at the end of a build, once, with its place."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

PROGRAM = """
import sys
from torchada.building.errors import say
from torchada.building.ported import port
for _ in range(2):
    say(port(sys.argv[2:], sys.argv[1], "").notices)
print("the compiler's messages", file=sys.stderr)
"""


def build(folder: Path, *files: Path) -> list[str]:
    command = [sys.executable, "-c", PROGRAM, str(folder), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return done.stderr.splitlines()


def test_places_to_look_at_are_said_last_and_once(tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text('k<< <1, 1>> >(p);\nasm("bar.sync 1, 64;");\nREGISTER(op, CUDA, f);\n')
    lines = build(tmp_path / "build", source)
    end = lines.index("the compiler's messages")
    assert any(f"{source}:2:1: bar.sync has no counterpart" in line for line in lines[:end])
    assert [line.split(": look at ")[0].removeprefix("torchada: ") for line in lines[end + 1 :]] == [
        f"{source}:1:2",
        f"{source}:3:14",
    ]
    assert build(tmp_path / "build", source)[-1] == "the compiler's messages", "nothing was ported this time"


def test_many_places_are_counted(tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text("REGISTER(op, CUDA, f);\n" * 50)
    lines = build(tmp_path / "build", source)
    assert len(lines) == 22 and "and 30 more places to look at" in lines[-1]
