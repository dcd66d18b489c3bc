"""A project's tests on simulated GPUs, as `pytest --cuda-simulated` runs them; and what pytest is without the option."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

import pytest

from support.interpreter import Interpreter
from support.memcheck import compiled, planted
from torchada.pytest_plugin import checker

pytestmark = pytest.mark.once

Run = Callable[..., subprocess.CompletedProcess[str]]
PROJECT = """
import os
import pytest, torch

@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_the_gpu():
    assert torch.cuda.get_device_capability() == (7, 5)
    assert (torch.ones(4, device="cuda:2") + 1).sum().item() == 8

def test_an_operator_that_torch_musa_lacks():
    torch.linalg.matrix_exp(torch.eye(3, device="cuda"))

def test_an_operator_that_refuses_halves():
    image = torch.rand(1, 1, 4, 4, device="cuda", dtype=torch.half, requires_grad=True)
    torch.nn.functional.avg_pool2d(image, 2).sum().backward()

@pytest.mark.requires_cuda(3)
def test_marked(): pass

@pytest.mark.requires_cuda(4)
def test_of_four(): raise AssertionError("there are three")

def test_what_tests_start_has_the_same_gpus():
    assert os.environ["MUSASIM_DEVICE_COUNT"] == "3" and os.environ["TORCHADA_SIMULATE_REQUIRED"] == "1"
"""


@pytest.fixture
def run(plain: Interpreter, tmp_path: Path) -> Run:
    """Run pytest in a project of one file."""
    plain.cwd = tmp_path

    def run_pytest(source: str, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "pytest.ini").touch()
        (tmp_path / "test_project.py").write_text(source)
        command = ["-m", "pytest", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", *words]
        return plain.run(command, env={"MUSASIM_RELEASE": "2.7.1", **env}, check=False)  # it lacks matrix_exp

    return run_pytest


def outcome(done: subprocess.CompletedProcess[str]) -> str:
    """The last line, without the time."""
    return re.sub(r" in .*", "", done.stdout.strip().splitlines()[-1]).strip("= ")


@pytest.mark.musa
def test_a_projects_own_question_finds_the_gpus(run: Run) -> None:
    done = run(PROJECT, "-rs", "--cuda-simulated=3", "--cuda-capability=7.5", "--cuda-seed=5")
    assert outcome(done) == "5 passed, 1 skipped", done.stdout + done.stderr
    assert "simulated CUDA: 3 GPUs, torch " in done.stdout and "--cuda-seed=5 repeats it (MUSASIM_SEED" in done.stdout
    assert "needs 4 CUDA device(s), and there are 3; --cuda-simulated=4 simulates them" in done.stdout
    section = done.stdout[done.stdout.index("= simulated CUDA =") :]
    assert re.search(r"operators on the device: +\d+ \(\d+ calls\): .*aten::", section)
    assert re.search(r"operators on the CPU: +1 \(1 call\): aten::linalg_matrix_exp 1\n", section)
    assert re.search(r"operators mended: +1 \(1 call\): aten::avg_pool2d_backward 1\n", section)
    assert re.search(r"kernels run: +none\n", section) and "memory checker:           off" in section


@pytest.mark.musa
@pytest.mark.full
def test_findings_that_cannot_be_written_fail_the_run_and_hide_nothing(run: Run) -> None:
    done = run("def test_passes(): pass", "--cuda-simulated=1", "--cuda-sarif=/dev/full")
    assert (outcome(done), done.returncode) == ("1 passed", 1), done.stdout + done.stderr
    assert "--cuda-sarif: /dev/full could not be written: No space left on device\n" in done.stdout
    assert "= simulated CUDA =" in done.stdout


@pytest.mark.musa
@pytest.mark.full
def test_each_worker_has_its_gpus_and_the_section_is_of_all(run: Run) -> None:
    done = run(PROJECT, "-n2", "--dist=each", "--cuda-simulated=3", "--cuda-capability=7.5")
    assert outcome(done) == "10 passed, 2 skipped", done.stdout + done.stderr
    assert re.search(r"operators on the CPU: +1 \(2 calls\): aten::linalg_matrix_exp 2\n", done.stdout)
    assert done.stdout.count("= simulated CUDA =") == 1 and "not counted" not in done.stdout


@pytest.mark.musa
@pytest.mark.full
def test_a_plug_in_that_has_imported_torch_does_not_keep_the_gpus_away(run: Run, tmp_path: Path) -> None:
    (tmp_path / "early.py").write_text("import torch")
    done = run(PROJECT, "-p", "early", "--cuda-simulated=3", "--cuda-capability=7.5", PYTHONPATH=str(tmp_path))
    assert outcome(done) == "5 passed, 1 skipped", done.stdout + done.stderr


def test_a_run_that_asks_for_nothing_is_pytests_own(run: Run) -> None:
    done = run(
        """
        import os, sys

        def test_nothing_is_loaded():
            ours = {name for name in sys.modules if name.startswith("torchada.")}
            assert ours == {"torchada.pytest_plugin"} and not {"torch", "musasim"} & sys.modules.keys()
            assert not [name for name in os.environ if name.startswith(("TORCHADA_SIM", "MUSASIM_DEV"))]
        """.replace("\n        ", "\n"),
        "--strict-markers",
        "-Werror",
    )
    assert outcome(done) == "1 passed", done.stdout + done.stderr
    assert "CUDA" not in done.stdout


@pytest.mark.full
def test_the_marker_skips_without_a_gpu_and_leaves_a_projects_own_alone(run: Run, tmp_path: Path) -> None:
    source = "import pytest\n\n@pytest.mark.requires_cuda\ndef test_marked(): pass\n"
    assert outcome(run(source, "--strict-markers", TORCHADA_PLATFORM="cpu")) == "1 skipped"
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = requires_cuda: the project's own\n")
    assert outcome(run(source, "--strict-markers", TORCHADA_PLATFORM="cpu")) == "1 passed"


def closed() -> TextIO:
    stream = open(os.devnull, "w")  # noqa: SIM115
    stream.close()
    return stream


@pytest.mark.parametrize("stderr", [None, closed()])
def test_findings_are_heard_whatever_a_test_has_put_in_the_place_of_stderr(
    stderr: TextIO | None, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """And the stream is what it was before, so that those of later tests are heard too."""
    with checker.heard() as said:
        monkeypatch.setattr(sys, "stderr", stderr)
        os.write(2, b"musasim: memcheck: a fault\n    at a.cu:1\n")
    monkeypatch.undo()
    assert said == ["a fault\n    at a.cu:1"]
    assert "a fault" in capfd.readouterr().err


KERNELS = """
import ctypes, pytest, torch

library = ctypes.CDLL({library!r})

def launch(name, shift):
    x, y = (torch.ones(64, device="cuda") for _ in range(2))
    kernel = getattr(library, "launch_" + name)
    kernel(ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(y.data_ptr()), ctypes.c_long(shift))

def test_right():
    launch("read_past_end", 0)

def test_wrong():
    launch("read_past_end", 1)

@pytest.mark.requires_cuda
def test_race():
    launch("race_missing_barrier", 32)
"""


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Kernels with planted faults, compiled for the checker."""
    return compiled("memcheck.mu", tmp_path_factory.mktemp("checked"))


@pytest.mark.musa
@pytest.mark.full
@pytest.mark.parametrize("words", [["--capture=fd"], ["--capture=no"], ["-n2"]])
def test_what_the_checker_finds_fails_the_test_that_ran_the_kernel(
    run: Run, checked: Path, tmp_path: Path, words: list[str]
) -> None:
    done = run(KERNELS.format(library=str(checked)), *words, "--cuda-simulated", "--cuda-sarif=found.sarif")
    assert outcome(done) == "2 failed, 1 passed", done.stdout + done.stderr
    line = planted("memcheck.mu", "read_past_end", "read out of bounds")
    assert re.search(
        rf"memcheck\.mu:{line}: read out of bounds: read of 4 bytes, .*\n +by kernel read_past_end, block", done.stdout
    )
    assert re.search(r"memory checker: +4 findings\n", done.stdout)
    results = json.loads((tmp_path / "found.sarif").read_text())["runs"][0]["results"]
    said = sorted((result["properties"]["test"].partition("::")[2], result["ruleId"]) for result in results)
    kinds = ["race", "race", "uninitialised-read"]
    assert said == [*(("test_race", kind) for kind in kinds), ("test_wrong", "read-out-of-bounds")]
    race = next(result for result in results if result["ruleId"] == "race")
    places = [place["physicalLocation"] for place in (*race["locations"], *race["relatedLocations"])]
    second = planted("memcheck.mu", "race_missing_barrier", "race")
    assert sorted(place["region"]["startLine"] for place in places) == [second - 2, second]


@pytest.mark.musa
@pytest.mark.full
def test_without_the_option_nothing_is_looked_at(run: Run, checked: Path) -> None:
    assert outcome(run(KERNELS.format(library=str(checked)), "--cuda-simulated")) == "3 passed"


STREAMS = """
import pytest, torch

def test_right():
    torch.ones(4, device="cuda").to("cpu", non_blocking=True)
    torch.cuda.synchronize()

def test_too_early():
    assert torch.ones(4, device="cuda").to("cpu", non_blocking=True).tolist() == [1] * 4

def test_another_stream():
    x = torch.ones(4, device="cuda") * 2
    with torch.cuda.stream(torch.cuda.Stream()):
        x + 1
"""


@pytest.mark.musa
@pytest.mark.full
def test_what_nothing_orders_fails_its_test(run: Run, tmp_path: Path) -> None:
    done = run(STREAMS, "--cuda-simulated", "--cuda-streamcheck", "--cuda-sarif=found.sarif")
    assert outcome(done) == "2 failed, 1 passed", done.stdout + done.stderr
    assert "stream checker:           2 findings\n" in done.stdout and "memory checker:           off" in done.stdout
    early = re.search(
        r"test_project\.py:9: use before synchronisation: of memory that a copy on .*\n +by the host\n", done.stdout
    )
    assert early, done.stdout
    results = json.loads((tmp_path / "found.sarif").read_text())["runs"][0]["results"]
    assert [result["ruleId"] for result in results] == ["use-before-synchronisation", "race-between-streams"]
    places = [place["physicalLocation"] for place in (*results[1]["locations"], *results[1]["relatedLocations"])]
    assert [place["region"]["startLine"] for place in places] == [14, 12]
    assert outcome(run(STREAMS, "--cuda-simulated")) == "3 passed"


def _refused(done: subprocess.CompletedProcess[str]) -> str:
    """The one line of a run that has run nothing."""
    assert done.returncode == pytest.ExitCode.USAGE_ERROR and "ran" not in done.stdout, done.stdout + done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
    return line.removeprefix("ERROR: ")


RAN = "def test_it(): print('ran')"


def test_without_a_compiler_nothing_runs(run: Run, tmp_path: Path) -> None:
    line = _refused(
        run(RAN, "-s", "--cuda-simulated", CXX="/no/such/compiler", MUSASIM_CACHE_DIR=str(tmp_path / "cache"))
    )
    assert "found no C++ compiler (CXX=/no/such/compiler)" in line and "apt install g++" in line


def test_with_a_cache_that_cannot_be_written_nothing_runs(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    line = _refused(run(RAN, "-s", "--cuda-simulated", MUSASIM_CACHE_DIR=str(tmp_path / "file" / "cache")))
    assert "cannot be used" in line and "set MUSASIM_CACHE_DIR to a folder of your own" in line


@pytest.mark.full
def test_with_a_torch_that_the_simulator_does_not_know_nothing_runs(run: Run, tmp_path: Path) -> None:
    (tmp_path / "torch" / "lib").mkdir(parents=True)
    (tmp_path / "torch" / "__init__.py").touch()
    (tmp_path / "torch" / "version.py").write_text("__version__ = '99.0'\n")
    (tmp_path / "torch" / "lib" / "libtorch_python.so").touch()
    cache = {"MUSASIM_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path)}
    line = _refused(run(RAN, "-s", "--cuda-simulated", **cache))
    assert "compiling for torch 99.0 failed" in line and "python -m musasim build" in line


@pytest.mark.parametrize(
    ("variable", "value", "reason"),
    [
        ("TORCHADA_DISABLE", "1", "TORCHADA_DISABLE switches torchada off"),
        ("TORCHADA_PLATFORM", "cpu", "nothing is simulated, because TORCHADA_PLATFORM=cpu"),
        ("MUSASIM_RELEASE", "1.0", "MUSASIM_RELEASE='1.0': expected 2.7.1"),
    ],
)
def test_where_the_environment_rules_the_simulator_out_nothing_runs(
    run: Run, variable: str, value: str, reason: str
) -> None:
    assert reason in _refused(run(RAN, "-s", "--cuda-simulated", **{variable: value}))
