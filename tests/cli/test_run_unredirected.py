"""`torchada run` where nothing is redirected says so; a simulator that was asked for and cannot start ends the program."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from support.interpreter import Interpreter

pytestmark = pytest.mark.once

RUN = ["-m", "torchada", "run"]
PASS = ["-c", "pass"]
SAID = (
    "torchada run: nothing is redirected, because no adapter module (torch_musa, torch_npu, torch_mlu) is installed: the program "
    "runs as by python alone; --simulate takes the simulator, --on cpu the CPU under CUDA's names\n"
)


def run(*arguments: str, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return Interpreter(cwd=folder).run([*RUN, *arguments], check=False, env=env)


def test_a_program_on_a_machine_without_a_device_is_told_what_runs_where(tmp_path: Path) -> None:
    done = run(*PASS, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, SAID)


@pytest.mark.parametrize(
    ("arguments", "env"),
    [
        (["-q"], {}),
        (["--on", "cpu"], {}),
        (["--platform", "cpu"], {}),
        (["--platform", "CUDA"], {}),
        ([], {"TORCHADA_PLATFORM": "host"}),
        (["--simulate"], {}),
        ([], {"TORCHADA_SIMULATE": "1"}),
    ],
)
def test_nothing_is_said_where_the_user_has_chosen(tmp_path: Path, arguments: list[str], env: dict[str, str]) -> None:
    done = run(*arguments, *PASS, folder=tmp_path, **env)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("arguments", [[], ["--on", "cpu"], ["--platform", "musa"]])
def test_a_program_is_told_that_torchada_is_switched_off(tmp_path: Path, arguments: list[str]) -> None:
    done = run(*arguments, *PASS, folder=tmp_path, TORCHADA_DISABLE="1")
    assert "nothing is redirected, because TORCHADA_DISABLE is set" in done.stderr


@pytest.mark.parametrize(("arguments", "env"), [(["--platform", "musa"], {}), ([], {"TORCHADA_PLATFORM": "musa"})])
def test_a_platform_that_is_named_and_not_there_is_told(
    tmp_path: Path, arguments: list[str], env: dict[str, str]
) -> None:
    done = run(*arguments, *PASS, folder=tmp_path, **env)
    why = "TORCHADA_PLATFORM=musa, but torch_musa is not installed"
    assert done.stderr.startswith(f"torchada run: nothing is redirected, because {why}: ") and done.returncode == 0
    assert run("-q", *arguments, *PASS, folder=tmp_path, **env).stderr == ""


@pytest.mark.parametrize(
    ("arguments", "why"), [([], "torch_musa is installed"), (["--platform", "musa"], "TORCHADA_PLATFORM=musa")]
)
def test_an_adapter_without_a_device_is_named(tmp_path: Path, arguments: list[str], why: str) -> None:
    (tmp_path / "torch_musa.py").touch()
    done = run(*arguments, *PASS, folder=tmp_path)
    assert done.stderr.startswith(f"torchada run: {why}, but there is no device (/dev/mtgpu*)")


@pytest.mark.parametrize(
    ("arguments", "env", "said"),
    [
        (["--platform", "cpu"], {}, "--simulate: TORCHADA_PLATFORM=cpu"),
        (["--platform", "npu"], {}, "--simulate: TORCHADA_PLATFORM=npu, but torch_npu is not installed"),
        ([], {"TORCHADA_DISABLE": "1"}, "--simulate: TORCHADA_DISABLE is set"),
        ([], {"MUSASIM_FACE": "amd"}, "--simulate: MUSASIM_FACE='amd': expected musa, npu or mlu"),
        ([], {"MUSASIM_RELEASE": "1.0"}, "--simulate: MUSASIM_RELEASE='1.0'"),
        ([], {"MUSASIM_DEVICE_COUNT": "-1"}, "--simulate: MUSASIM_DEVICE_COUNT='-1': expected a number from 0 to 64"),
    ],
)
def test_a_simulator_that_cannot_be_had_is_a_wrong_argument(
    tmp_path: Path, arguments: list[str], env: dict[str, str], said: str
) -> None:
    done = run("--simulate", *arguments, "-c", "print('ran')", folder=tmp_path, **env)
    assert (done.returncode, done.stdout) == (2, "") and said in done.stderr.splitlines()[-1]


PROGRAM = "import torch; print('cuda' if torch.cuda.is_available() else 'cpu')"


@pytest.mark.full
@pytest.mark.parametrize("arguments", [[], ["-q"]])
def test_a_simulator_that_cannot_start_ends_the_program(tmp_path: Path, arguments: list[str]) -> None:
    cache = tmp_path / "open"
    cache.mkdir()
    cache.chmod(0o777)
    done = run("--simulate", *arguments, "-c", PROGRAM, folder=tmp_path, MUSASIM_CACHE_DIR=str(cache))
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr.startswith("torchada: the simulator was asked for and cannot start: ") and str(cache) in done.stderr
    )
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.full
def test_without_run_a_simulator_that_cannot_start_is_a_warning(tmp_path: Path) -> None:
    env = {"TORCHADA_SIMULATE": "1", "MUSASIM_CACHE_DIR": "/dev/null/nowhere"}
    done = Interpreter(cwd=tmp_path).run(["-c", PROGRAM], env=env)
    assert done.stdout == "cpu\n" and "torch_musa cannot be imported" in done.stderr


def test_a_report_of_a_program_without_redirection_says_that_nothing_was_recorded(tmp_path: Path) -> None:
    run("--report", "r.html", "--report", "r.json", *PASS, folder=tmp_path)
    page, data = (tmp_path / "r.html").read_text(), json.loads((tmp_path / "r.json").read_text())
    assert data["inactive"] == "no adapter module (torch_musa, torch_npu, torch_mlu) is installed"
    assert f"torchada was inactive, so nothing could be recorded: {data['inactive']}" in page
    assert "Nothing that was called is unsupported" not in page


def test_a_report_that_no_process_has_added_to_is_no_good_news(tmp_path: Path) -> None:
    run("--report", "r.html", "--report", "r.json", "--on", "cpu", *PASS, folder=tmp_path)
    page, data = (tmp_path / "r.html").read_text(), json.loads((tmp_path / "r.json").read_text())
    assert data["inactive"] == "" and "No process has recorded a use of CUDA" in page
    assert "Nothing that was called is unsupported" not in page
