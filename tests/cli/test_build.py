"""`torchada build`: the environment in which CMake, make and meson find CUDA's compiler, and what is said where there is none."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.interpreter import Interpreter
from torchada.cli import build as module

pytestmark = [pytest.mark.musa, pytest.mark.once]
BUILD = ["-m", "torchada", "build"]


@pytest.fixture
def caches(musa: Interpreter, tmp_path_factory: pytest.TempPathFactory) -> Interpreter:
    musa.env.update(TORCHADA_CACHE_DIR=str(tmp_path_factory.getbasetemp() / "caches"))
    return musa


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def once_built() -> Run:
    """`torchada build` in a process of its own, where CUDA has been found already: it becomes what it starts."""
    code = (
        "import sys\nfrom torchada import cli\nfrom torchada.cli import build\n"
        "build.environment = lambda: {'CUDACXX': '/my/nvcc'}\nsys.exit(cli.main(['build', *sys.argv[1:]]))"
    )
    return lambda *words: subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)


@pytest.mark.full
def test_the_command_gets_what_builds_ask_for(caches: Interpreter) -> None:
    """As a child of a shell that has the variables, and as a command of ours."""
    printed = caches.run([*BUILD, "--print-env"]).stdout
    variables = dict(word.split("=", 1) for word in shlex.split(printed) if word != "export")
    home = Path(variables["CUDA_HOME"])
    assert variables["CUDACXX"] == variables["NVCC"] == str(home / "bin" / "nvcc")
    assert variables["CUDA_PATH"] == variables["CUDAToolkit_ROOT"] == str(home)
    assert variables["PATH"].split(os.pathsep)[0] == str(home / "bin")
    assert Path(variables["CMAKE_TOOLCHAIN_FILE"]).is_file()
    own = caches.run([*BUILD, "--print-env"], env={"CMAKE_TOOLCHAIN_FILE": "mine.cmake"}).stdout
    assert "CMAKE_TOOLCHAIN_FILE=mine.cmake" in own
    assert (Path(variables["Torch_ROOT"]) / "Torch" / "TorchConfig.cmake").is_file()
    done = caches.run([*BUILD, "--", "sh", "-c", 'nvcc --version && echo "$Torch_ROOT"; exit 3'], check=False)
    assert done.returncode == 3 and "release 11.8" in done.stdout
    assert done.stdout.splitlines()[-1] == variables["Torch_ROOT"]


@pytest.mark.full
def test_without_a_compiler_nothing_is_started(caches: Interpreter, tmp_path: Path) -> None:
    failed = caches.run([*BUILD, "sh", "-c", "echo started"], env={"MUSA_HOME": str(tmp_path)}, check=False)
    assert failed.returncode == 2 and failed.stdout == ""
    assert f"{tmp_path / 'bin' / 'mcc'} is not a program; MUSA_HOME must be the folder" in failed.stderr


@pytest.mark.parametrize(
    ("command", "is_isolated"),
    [
        (["pip", "install", "."], True),
        (["/venv/bin/pip3", "wheel", "."], True),
        (["python", "-m", "pip", "install", "."], True),
        (["pip", "install", ".", "--no-build-isolation"], False),
        (["pip", "list"], False),
        (["cmake", "--install", "build"], False),
    ],
)
def test_pip_is_told_of_isolation(command: list[str], is_isolated: bool) -> None:
    assert module._is_isolated(command) is is_isolated


@pytest.mark.parametrize(
    ("given", "own", "rest"),
    [
        (["cmake", "-v"], [], ["cmake", "-v"]),
        (["-v", "--simulate", "make", "--quiet"], ["-v", "--simulate"], ["make", "--quiet"]),
        (["-q", "--", "-x"], ["-q"], ["-x"]),
        (["--print-env"], ["--print-env"], []),
    ],
)
def test_options_of_the_build_are_its_own(given: list[str], own: list[str], rest: list[str]) -> None:
    assert module.split(given) == (own, rest)


def test_a_program_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "environment", dict)
    from torchada import cli

    assert cli.main(["build", "no-such-program"]) == 2
    assert "there is no program 'no-such-program'" in capsys.readouterr().err


def test_a_script_that_names_no_interpreter_is_the_shells(once_built: Run, tmp_path: Path) -> None:
    """`make` and every shell start one so."""
    script = tmp_path / "build it.sh"
    script.write_text('echo "$CUDACXX" "$1"; exit 3\n')
    script.chmod(0o755)
    done = once_built(str(script), "an argument")
    assert (done.returncode, done.stdout, done.stderr) == (3, "/my/nvcc an argument\n", "")


def test_a_program_that_cannot_be_started_is_named(once_built: Run, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    done = once_built(str(program))
    assert done.returncode == 2
    assert done.stderr == f"torchada build: {program} cannot be started: No such file or directory\n"


def test_what_is_printed_is_for_a_shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from torchada import cli

    monkeypatch.setattr(module, "environment", lambda: {"CUDACXX": "/my folder/nvcc"})
    assert cli.main(["build", "--print-env"]) == 0
    shown = subprocess.run(
        ["sh", "-c", f'{capsys.readouterr().out}printf %s "$CUDACXX"'], capture_output=True, text=True, check=True
    )
    assert shown.stdout == "/my folder/nvcc"
