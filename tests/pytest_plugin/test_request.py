"""What `pytest --cuda-simulated` and its companions accept. Anything else ends pytest with one line before a test is collected."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from torchada.pytest_plugin import HELP, SARIF, run
from torchada.pytest_plugin.request import Request

pytestmark = pytest.mark.once

Asked = Callable[..., Request | None]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """The request of a command line in an empty project, with some lines in its pytest.ini; no simulator is started."""
    requests: list[Request] = []
    monkeypatch.setattr(run, "begin", lambda config, request: requests.append(request))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("MUSASIM_DEVICE_COUNT", raising=False)
    (tmp_path / "tests").mkdir()

    def ask(*words: str, ini: str = "") -> Request | None:
        (tmp_path / "pytest.ini").write_text(f"[pytest]\n{ini}\n")
        config = ["-c", str(tmp_path / "pytest.ini"), "--rootdir", str(tmp_path), "-p", "no:cacheprovider"]
        code = pytest.main([*config, "-p", "torchada", "-q", *words, str(tmp_path / "tests")])
        if code == pytest.ExitCode.USAGE_ERROR:
            return None
        assert code == pytest.ExitCode.NO_TESTS_COLLECTED
        return requests.pop() if requests else Request(0, False, "", "")

    return ask


NOTHING = Request(0, False, "", "")


@pytest.mark.full
def test_nothing_is_asked_for_where_no_option_is_given(asked: Asked) -> None:
    assert asked() == NOTHING
    assert asked(ini="cuda_seed = 3\ncuda_memcheck = true") == NOTHING  # settings for runs that ask for the simulator
    assert asked("--cuda-simulated=no", ini="cuda_simulated = 2") == NOTHING


@pytest.mark.full
def test_a_number_is_given_by_the_option_or_the_configuration(asked: Asked) -> None:
    assert asked("--cuda-simulated=3") == Request(3, False, "", "")
    assert asked("--cuda-simulated", "3") == Request(3, False, "", "")
    assert asked(ini="cuda_simulated = 3") == Request(3, False, "", "")
    assert asked("--cuda-simulated=1", ini="cuda_simulated = 3") == Request(1, False, "", "")


@pytest.mark.full
def test_without_a_number_it_is_the_simulators_own(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked("--cuda-simulated") == Request(2, False, "", "")  # the folder after it is no number
    assert asked(ini="cuda_simulated = true") == Request(2, False, "", "")
    monkeypatch.setenv("MUSASIM_DEVICE_COUNT", "4")
    assert asked("--cuda-simulated", "-v") == Request(4, False, "", "")


@pytest.mark.full
def test_the_other_options_and_settings(asked: Asked) -> None:
    words = ("--cuda-simulated=1", "--cuda-memcheck", "--cuda-seed=7", "--cuda-capability=8.0")
    assert asked(*words) == Request(1, True, "7", "8.0")
    sarif = asked("--cuda-simulated=1", "--cuda-sarif=out.sarif")
    assert sarif == Request(1, True, "", "", os.path.abspath("out.sarif"))
    ini = "cuda_simulated = 1\ncuda_memcheck = true\ncuda_seed = 7\ncuda_capability = 8.0"
    assert asked(ini=ini) == Request(1, True, "7", "8.0")


@pytest.mark.full
def test_a_file_for_findings_switches_a_checker_on_where_none_is_asked_for(asked: Asked) -> None:
    assert HELP[SARIF].endswith("without --cuda-streamcheck, it switches --cuda-memcheck on")
    for words, checkers in (
        (["--cuda-sarif=out.sarif"], (True, False)),
        (["--cuda-sarif=out.sarif", "--cuda-streamcheck"], (False, True)),
        (["--cuda-sarif=out.sarif", "--cuda-streamcheck", "--cuda-memcheck"], (True, True)),
    ):
        request = asked("--cuda-simulated=1", *words)
        assert request is not None and (request.memcheck, request.streamcheck) == checkers


@pytest.mark.full
def test_a_random_seed_is_a_number_that_can_be_given_again(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = asked("--cuda-simulated", "--cuda-seed=random")
    assert drawn is not None and asked("--cuda-simulated", f"--cuda-seed={drawn.seed}") == drawn
    monkeypatch.setenv("MUSASIM_SEED", "random")
    of_the_environment = asked("--cuda-simulated")
    assert of_the_environment is not None and of_the_environment.seed.isdecimal()
    monkeypatch.setenv("MUSASIM_SEED", "11")
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw1")
    of_a_worker = asked("--cuda-simulated", "--cuda-seed=random")
    assert of_a_worker is not None and of_a_worker.seed == "11"


@pytest.mark.parametrize(
    ("words", "ini", "line"),
    [
        (["--cuda-simulated=two"], "", "--cuda-simulated=two: expected a number of GPUs from 1 to 64, or no"),
        (["--cuda-simulated=0"], "", "--cuda-simulated=0: expected a number of GPUs from 1 to 64, or no"),
        (["--cuda-simulated=65"], "", "--cuda-simulated=65: expected a number of GPUs from 1 to 64, or no"),
        ([], "cuda_simulated = -1", "--cuda-simulated=-1: expected a number of GPUs from 1 to 64, or no"),
        (["--cuda-simulated", "--cuda-seed=x"], "", "--cuda-seed=x: expected a number from 0 to"),
        (
            ["--cuda-simulated", "--cuda-sarif=no/such/f"],
            "",
            "--cuda-sarif=no/such/f: expected a file in a folder that",
        ),
        (
            ["--cuda-simulated", "--cuda-capability=8"],
            "",
            "--cuda-capability=8: expected one that an NVIDIA GPU has: 2.0,",
        ),
        (["--cuda-simulated"], "cuda_capability = 99.9", "--cuda-capability=99.9: expected one that an NVIDIA GPU has"),
        (
            ["--cuda-memcheck"],
            "",
            "--cuda-memcheck is about simulated GPUs, and none are asked for: add --cuda-simulated",
        ),
        (["--cuda-seed=1", "--cuda-simulated=no"], "", "--cuda-seed is about simulated GPUs"),
    ],
)
def test_bad_input_ends_pytest_with_a_line(
    asked: Asked, capfd: pytest.CaptureFixture[str], words: list[str], ini: str, line: str
) -> None:
    assert asked(*words, ini=ini) is None
    (said,) = capfd.readouterr().err.strip().splitlines()
    assert said.startswith(f"ERROR: {line}")


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        (
            "MUSASIM_MEMORY_BYTES",
            "16GB",
            "--cuda-simulated: MUSASIM_MEMORY_BYTES='16GB': expected a number of at least 1",
        ),
        ("MUSASIM_RELEASE", "3", "--cuda-simulated: MUSASIM_RELEASE='3': expected 2.7.1, 2.9.1 or 2.11.0"),
        ("MUSASIM_DEVICES", "2", "--cuda-simulated: MUSASIM_DEVICES: the simulator has no such variable; did you mean"),
        ("TORCHADA_DISABLE", "1", "--cuda-simulated: TORCHADA_DISABLE switches torchada off; unset it"),
        (
            "TORCHADA_CUDA_CAPABILITY",
            "99.9",
            "--cuda-simulated: TORCHADA_CUDA_CAPABILITY='99.9': expected one that an NVIDIA GPU has: 2.0,",
        ),
        ("TORCHADA_VIEW", "both", "--cuda-simulated: TORCHADA_VIEW='both': expected one of caller, cuda, musa"),
    ],
)
def test_a_bad_variable_of_the_simulator_ends_pytest_before_it_is_built(
    monkeypatch: pytest.MonkeyPatch, name: str, text: str, line: str
) -> None:
    monkeypatch.setenv(name, text)
    with pytest.raises(pytest.UsageError) as error:
        run._check_settings()
    assert str(error.value).startswith(line)


def test_a_bad_number_in_the_environment_is_named(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MUSASIM_DEVICE_COUNT", "many")
    assert asked("--cuda-simulated") is None and "MUSASIM_DEVICE_COUNT=many" in capfd.readouterr().err
