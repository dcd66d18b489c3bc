"""`torchada run --gdb`: the command that runs a program under gdb; tests/house/test_kernels_page.py runs one."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from support.interpreter import Interpreter
from torchada.cli import gdb

pytestmark = pytest.mark.once


def asked(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    gdb.argument(parser)
    return parser.parse_args(words)


def test_without_the_option_nothing_changes() -> None:
    assert gdb.command(asked(), ["python", "x.py"]) == ["python", "x.py"] and gdb.environment(asked()) == {}


def test_a_place_is_a_breakpoint_and_the_program_is_what_gdb_runs() -> None:
    command = gdb.command(asked("--gdb=k.cu:7 if threadIdx.x == 3"), ["python", "x.py"])
    assert command[-7:] == ["-ex", "break k.cu:7 if threadIdx.x == 3", "-ex", "run", "--args", "python", "x.py"]
    assert not [word for word in gdb.command(asked("--gdb"), ["python"]) if word.startswith("break ")]


def test_it_is_for_any_program_and_says_that_kernels_stop_on_the_simulator(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "gdb"
    program.write_text("#!/bin/sh\necho gdb is started\n")
    program.chmod(0o755)
    path = {"PATH": str(tmp_path)}
    done = Interpreter().run(["-m", "torchada", "run", "-q", "--on", "cpu", "--gdb", "x.py"], env=path)
    assert done.stdout == "gdb is started\n"
    parser = argparse.ArgumentParser()
    gdb.argument(parser)
    shown = " ".join(parser.format_help().split())
    assert "On the simulator, PLACE may be in a kernel" in shown and "needs the simulator" not in shown


def test_kernels_that_are_built_meanwhile_have_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-lineinfo")
    assert gdb.environment(asked("--gdb")) == {"NVCC_APPEND_FLAGS": "-lineinfo -g -O0"}


def test_where_there_is_no_gdb_the_program_does_not_run(tmp_path: Path) -> None:
    done = Interpreter().run(["-m", "torchada", "run", "--gdb", "x.py"], env={"PATH": str(tmp_path)}, check=False)
    assert (
        done.returncode == 2 and "--gdb: there is no gdb on the PATH (Debian, Ubuntu: apt install gdb)" in done.stderr
    )
