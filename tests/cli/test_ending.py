"""How commands end where their output finds no room, and at Ctrl-C: one line, a code for it, and what was finished is kept."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from torchada.base.warnings import TorchadaError
from torchada.cli import ending, main
from torchada.tools.bench import report as bench_report
from torchada.tools.check import collect, session
from torchada.tools.verify import run as verify_run

pytestmark = pytest.mark.once

COMMAND = [sys.executable, "-m", "torchada.cli"]


class Stopped:
    """The session of a run whose second task somebody ends by Ctrl-C."""

    def __init__(self, program: object) -> None:
        names = ("name", "group", "subject", "dtype", "level", "tolerance", "what", "unit")
        tasks = [{**dict.fromkeys(names, ""), "name": name, "level": "quick"} for name in ("a.one", "a.two", "a.three")]
        self.greeting = {
            "tasks": tasks, "problem": None, "platform": {"name": "musa", "why": ""}, "device": None, "simulated": True,
            "versions": {}, "environment": {}, "system": "",
        }  # fmt: skip

    def run(self, tasks: list[Any]) -> Iterator[tuple[Any, Any]]:
        yield tasks[0], {"outcome": "passed" if "tolerance" in tasks[0] else "measured"}
        raise KeyboardInterrupt

    def __enter__(self) -> Stopped:
        return self

    def __exit__(self, *error: object) -> None:
        pass


@pytest.mark.parametrize("command", ["verify", "bench"])
def test_a_run_that_is_interrupted_keeps_what_was_finished(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(verify_run if command == "verify" else bench_report, "Session", Stopped)
    file = tmp_path / "report.json"
    assert main([command, "--json", "--report", str(file)]) == 130
    (line,) = capsys.readouterr().err.splitlines()
    noun = "checks" if command == "verify" else "benchmarks"
    assert line == f"torchada {command}: interrupted after 1 of 3 {noun}"
    report = json.loads(file.read_text())
    assert len(report[noun]) == 1 and not report["ok"] and report["interrupted"] == f"after 1 of 3 {noun}"


def test_a_check_that_is_interrupted_reports_the_files_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*given: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setitem(session.READERS, collect.REQUIREMENTS, interrupt)
    (tmp_path / "a.py").write_text("import torch\ntorch.cuda.jiterator\n")
    (tmp_path / "requirements.txt").write_text("")
    assert main(["check", str(tmp_path), "--json"]) == 130
    out, err = capsys.readouterr()
    assert err == "torchada check: interrupted after 1 of 2 files\n"
    assert [finding["name"] for finding in json.loads(out)["findings"]] == [".", "torch.cuda.jiterator"]


def test_a_port_that_is_interrupted_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*given: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr("torchada.porting.port.do", interrupt)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.cu").write_text("cudaFree(0);")
    assert main(["port", str(tmp_path / "in"), "-o", str(tmp_path / "out")]) == 130
    begun = f"torchada port: writes the folder {tmp_path / 'out'}: 1 source ported\n"
    assert capsys.readouterr().err == f"{begun}torchada port: interrupted\n"
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOENT, "of something else"), OSError(errno.ENOSPC, "No space left", "file")]
)
def test_other_errors_are_raised(error: OSError) -> None:
    def fail() -> int:
        raise error

    with pytest.raises(OSError, match=r"of something else|No space left"):
        ending.in_one_line("torchada status", fail)


def test_an_error_of_strict_mode_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> int:
        raise TorchadaError("torchada: what it is")

    assert ending.in_one_line("torchada status", fail) == 2
    assert capsys.readouterr().err == "torchada status: torchada: what it is\n"


def test_where_it_went_to_its_end_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert ending.code(SimpleNamespace(command="verify"), {"interrupted": ""}, 1) == 1  # type: ignore[arg-type]
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", [["check", "."], ["check", ".", "--json"]], ids=" ".join)
def test_output_that_finds_no_room_is_named(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "empty.py").write_text("x = 1")
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([*COMMAND, *arguments], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("torchada") and "the output cannot be written: No space left on device" in line


@pytest.mark.parametrize("closed", [1, 2], ids=["stdout", "stderr"])
@pytest.mark.parametrize(
    "arguments", [["explain"], ["check", "."], ["port", ".", "--diff"], ["run", "x.py"]], ids=" ".join
)
def test_a_stream_that_is_closed_is_no_fault(tmp_path: Path, arguments: list[str], closed: int) -> None:
    """As daemons start programs: Python has None for such a stream. What `run` starts finds it closed, as without us."""
    (tmp_path / "x.py").write_text("import sys\nassert None in (sys.stdout, sys.stderr)\nopen('done', 'w').close()")
    command = ["sh", "-c", f'exec "$@" {closed}>&-', "sh", *COMMAND, *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0), done.stderr
    assert (tmp_path / "done").exists() == (arguments[0] == "run")


@pytest.mark.parametrize("words", [["port", "x.cu", "--output", "out"], ["check", "."], ["explain", "x"]])
def test_a_current_folder_that_is_no_more_ends_in_a_line(words: list[str], tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
    done = subprocess.run(["sh", "-c", script, "sh", str(gone), *COMMAND, *words], capture_output=True, text=True)
    assert done.returncode != 0 and "Traceback" not in done.stderr, done.stderr
    assert words[0] != "port" or done.stderr == "torchada port: the current folder is not there any more\n"
