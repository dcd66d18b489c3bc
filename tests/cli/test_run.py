"""`torchada run PROGRAM` is `python PROGRAM`, with a few variables set: it behaves exactly as python does."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from support.interpreter import Interpreter, clean_environment
from torchada.cli import run
from torchada.cli.program import OWN, OWN_WITH_VALUE, split

pytestmark = pytest.mark.once

RUN = ["-m", "torchada", "run"]
TELL = "import json, os, sys; print(json.dumps([sys.argv, {k: v for k, v in os.environ.items() if 'TORCHADA' in k}]))\n"


@pytest.fixture
def here(tmp_path: Path) -> Interpreter:
    """An interpreter in a folder with tell.py, which prints its arguments and the TORCHADA_ variables."""
    (tmp_path / "tell.py").write_text(TELL)
    return Interpreter(cwd=tmp_path)


def told(
    interpreter: Interpreter, *arguments: str, env: dict[str, str] | None = None
) -> tuple[list[str], dict[str, str]]:
    argv, variables = interpreter.json([*RUN, *arguments], env=env)
    return argv, variables


def both(interpreter: Interpreter, *program: str, **options: Any) -> list[tuple[int, str, str]]:
    """The results of `torchada run program` and of `python program`; what `run` says of the machine is not the program's."""
    done = [interpreter.run([*way, *program], check=False, **options) for way in ([*RUN, "-q"], [])]
    return [(each.returncode, each.stdout, each.stderr) for each in done]


def test_run_hands_a_script_its_arguments(here: Interpreter) -> None:
    argv, variables = told(here, "tell.py", "--simulate", "-m", "--", "-h", "", "two words")
    assert argv == ["tell.py", "--simulate", "-m", "--", "-h", "", "two words"]
    assert variables == {}


def test_run_runs_a_module(here: Interpreter) -> None:
    argv, _ = told(here, "-m", "tell", "--platform", "x")
    assert argv[1:] == ["--platform", "x"] and argv[0].endswith("tell.py")


def test_run_runs_code(here: Interpreter) -> None:
    argv, _ = told(here, "-c", TELL, "--honest")
    assert argv == ["-c", "--honest"]


def test_two_dashes_end_our_options(here: Interpreter) -> None:
    argv, variables = told(here, "--honest", "--", "tell.py", "--")
    assert argv == ["tell.py", "--"] and variables == {"TORCHADA_VIEW": "musa"}


FLAGS = "import sys; print(sys.flags.utf8_mode, sys.flags.dont_write_bytecode, sys.warnoptions)"


def test_options_of_python_are_passed_on_in_any_position(here: Interpreter) -> None:
    done = here.run([*RUN, "-X", "utf8", "--honest", "-uBW", "error", "--simulate", "-Wdefault", "-c", FLAGS, "-X"])
    assert done.stdout.strip() == "1 1 ['error', 'default']"
    assert here.run([*RUN, "--", "-X", "utf8", "-B", "-c", FLAGS]).stdout.strip() == "1 1 []"


@pytest.mark.parametrize(
    ("given", "own", "program"),
    [
        (["x.py", "--simulate"], [], ["x.py", "--simulate"]),
        (["--report", "r.json", "-"], ["--report", "r.json"], ["-"]),
        (["--report=r.json", "-uB", "-q", "x.py"], ["--report=r.json", "-q"], ["-uB", "x.py"]),
        (["-um", "module", "-v"], [], ["-um", "module", "-v"]),
        (["-ucpass", "-v"], [], ["-ucpass", "-v"]),
        (["-Xutf8", "-X", "dev", "x.py"], [], ["-Xutf8", "-X", "dev", "x.py"]),
        (["--check-hash-based-pycs", "never", "x.py"], [], ["--check-hash-based-pycs", "never", "x.py"]),
        (["-u", "--", "-v", "x.py"], [], ["-u", "-v", "x.py"]),
        (["-z", "x.py"], ["-z"], ["x.py"]),
    ],
)
def test_split_separates_our_options_from_those_of_python(given: list[str], own: list[str], program: list[str]) -> None:
    assert split(given) == (own, program)


def test_split_knows_every_option_of_the_parser() -> None:
    parser = argparse.ArgumentParser()
    run.COMMAND.add("run", parser.add_subparsers())
    group = parser._subparsers._group_actions[0]  # type: ignore[union-attr]
    options = [each for each in group.choices["run"]._actions if each.option_strings]  # type: ignore[call-overload, index]
    assert sorted(OWN) == sorted(name for option in options for name in option.option_strings)
    assert sorted(OWN_WITH_VALUE) == sorted(
        name for option in options for name in option.option_strings if option.nargs is None
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--bogus", "x.py"], "unrecognized arguments: --bogus"),
        (["-z", "x.py"], "unrecognized arguments: -z"),
        (["-u", "--bogus", "x.py"], "unrecognized arguments: --bogus"),
        (["--sim", "x.py"], "unrecognized arguments: --sim"),
        (
            ["--platform", "foo", "x.py"],
            "--platform foo: expected one of auto, musa, npu, mlu, host, xpu, mps, cuda, cpu",
        ),
        (["-q", "-v", "x.py"], "not allowed with argument"),
        ([], "nothing to run"),
        (["--simulate"], "nothing to run"),
        (["--platform"], "--platform: expected one argument"),
        (["--view", "amd", "x.py"], "--view: invalid choice: 'amd'"),
        (["--view", "cuda", "--force", "x.py"], "not allowed with argument"),
    ],
)
def test_run_answers_wrong_arguments_with_its_usage(here: Interpreter, given: list[str], said: str) -> None:
    done = here.run([*RUN, *given], check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("usage: torchada run ") and said in done.stderr.splitlines()[-1]


def test_run_accepts_the_name_of_an_installed_backend(here: Interpreter) -> None:
    assert here.cwd is not None
    installed = here.cwd / "toy-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[torchada.backends]\ntoy = not_there:backend\n")
    assert told(here, "--platform", "toy", "tell.py")[1]["TORCHADA_PLATFORM"] == "toy"


def test_a_platform_without_its_adapter_is_a_warning_of_the_program(here: Interpreter) -> None:
    done = here.run([*RUN, "--platform", "musa", "-c", "import torch; print('ran')"])
    assert done.stdout.strip() == "ran" and "torch_musa is not installed" in done.stderr


def test_quiet_run_hides_the_warnings_of_torchada_alone(here: Interpreter) -> None:
    program = [*RUN, "-q", "--platform", "musa", "-c", "import torch, warnings; warnings.warn('theirs')"]
    done = here.run(program, env={"PYTHONWARNINGS": "always"})
    assert "theirs" in done.stderr and "torchada" not in done.stderr


def test_verbose_run_prints_a_command_that_does_the_same(here: Interpreter) -> None:
    done = here.run([*RUN, "-v", "--platform", "cpu", "tell.py", "two words"])
    printed = done.stderr.removeprefix("torchada run: ")
    again = subprocess.run(printed, shell=True, cwd=here.cwd, env=clean_environment(), capture_output=True, text=True)
    assert again.stdout == done.stdout and "two words" in done.stdout and "TORCHADA_PLATFORM" in done.stdout


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--simulate"], {"TORCHADA_SIMULATE": "1", "TORCHADA_SIMULATE_REQUIRED": "1"}),
        (["--platform", "cpu"], {"TORCHADA_PLATFORM": "cpu"}),
        (["--platform=cpu"], {"TORCHADA_PLATFORM": "cpu"}),
        (["--force"], {"TORCHADA_FORCE_CUDA_AVAILABLE": "1"}),
        (["--view", "cuda"], {"TORCHADA_VIEW": "cuda"}),
        (["--view=caller"], {"TORCHADA_VIEW": "caller"}),
        (["--honest"], {"TORCHADA_VIEW": "musa"}),
    ],
)
def test_options_set_their_variables(here: Interpreter, options: list[str], expected: dict[str, str]) -> None:
    assert told(here, *options, "tell.py") == (["tell.py"], expected)


def test_run_leaves_variables_that_are_set(here: Interpreter) -> None:
    env = {"TORCHADA_FORCE_CUDA_AVAILABLE": "0", "TORCHADA_DISABLE": "1", "TORCHADA_PLATFORM": "cpu"}
    assert told(here, "tell.py", env=env)[1] == env


def test_an_option_is_stronger_than_its_variable(here: Interpreter) -> None:
    assert (
        told(here, "--platform", "musa", "tell.py", env={"TORCHADA_PLATFORM": "cpu"})[1]["TORCHADA_PLATFORM"] == "musa"
    )


@pytest.mark.parametrize("code", [0, 1, 7, 255])
def test_run_ends_with_the_exit_code_of_the_program(here: Interpreter, code: int) -> None:
    assert here.run([*RUN, "-c", f"import sys; sys.exit({code})"], check=False).returncode == code


@pytest.mark.parametrize(
    "body", ["def f():\n    1 / 0\nf()\n", "import not_there\n", "x = (\n", "import sys; sys.exit('a message')\n"]
)
def test_tracebacks_are_those_of_python(here: Interpreter, body: str) -> None:
    (here.cwd / "faulty.py").write_text(body)  # type: ignore[operator]
    ours, pythons = both(here, "faulty.py")
    assert ours == pythons and ours[0] != 0 and "torchada" not in ours[2]


@pytest.mark.parametrize("program", [["missing.py"], ["-m", "missing"], ["-c"], ["-W"]])
def test_a_missing_program_ends_in_the_error_of_python(here: Interpreter, program: list[str]) -> None:
    ours, pythons = both(here, *program)
    assert ours == pythons and ours[0] != 0


def test_the_program_reads_standard_input(here: Interpreter) -> None:
    code = "import sys; print(sys.stdin.read().upper())"
    assert here.run([*RUN, "-c", code], stdin="from outside").stdout.strip() == "FROM OUTSIDE"
    assert here.run([*RUN, "-"], stdin="print('the program itself')").stdout.strip() == "the program itself"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_signals_reach_the_program(here: Interpreter, number: signal.Signals) -> None:
    code = "import time; print('ready', flush=True); time.sleep(30)"
    with _started(here, code) as process:
        process.send_signal(number)
        assert process.wait(timeout=10) == -number


def test_a_program_may_handle_a_signal(here: Interpreter) -> None:
    code = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(5))
print("ready", flush=True)
time.sleep(30)
"""
    with _started(here, code) as process:
        process.terminate()
        assert process.wait(timeout=10) == 5


def _started(interpreter: Interpreter, code: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, *RUN, "-c", code],
        env=clean_environment(),
        cwd=interpreter.cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        # Background jobs of a shell, and their children, ignore interrupts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process


def test_the_program_runs_in_the_same_process(here: Interpreter) -> None:
    """There is no parent process that would have to pass on signals and exit codes."""
    with subprocess.Popen(
        [sys.executable, *RUN, "-c", "import os; print(os.getpid())"],
        env=clean_environment(),
        cwd=here.cwd,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        out, _ = process.communicate(timeout=30)
    assert int(out) == process.pid


def test_help_shows_the_usage_of_run(here: Interpreter) -> None:
    assert "script.py | -m module | -c code" in here.run([*RUN, "--help"]).stdout
    assert "run" in here.run(["-m", "torchada", "--help"]).stdout
    assert here.run(["-m", "torchada", "--version"]).stdout.startswith("torchada ")


def test_run_puts_the_hook_in_where_no_start_up_file_does(here: Interpreter) -> None:
    """The parent imports torchada from a path that the child does not inherit; the child has the hook all the same."""
    assert here.cwd is not None
    code = "import sys; print(any(type(finder).__module__ == '_torchada_startup' for finder in sys.meta_path))"
    start = f"import sys, runpy; sys.path[:0] = {sys.path!r}; sys.argv[1:] = ['run', '-c', {code!r}]; "
    env = clean_environment()
    env.pop("PYTHONPATH", None)
    done = subprocess.run(
        [sys.executable, "-S", "-c", start + "runpy.run_module('torchada', run_name='__main__')"],
        env=env,
        cwd=here.cwd,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.strip() == "True", done.stderr


def test_grandchildren_are_hooked_as_well(here: Interpreter) -> None:
    hooked = "import sys; print(any(type(finder).__module__ == '_torchada_startup' for finder in sys.meta_path))"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {hooked!r}], check=True)"
    assert here.run([*RUN, "-c", code]).stdout.strip() == "True"


def test_run_keeps_the_python_path(here: Interpreter) -> None:
    assert here.cwd is not None
    folder = here.cwd / "theirs"
    folder.mkdir()
    (folder / "their_module.py").write_text("print('theirs')")
    path = os.pathsep.join(filter(None, [clean_environment().get("PYTHONPATH"), str(folder)]))
    assert here.run([*RUN, "-m", "their_module"], env={"PYTHONPATH": path}).stdout.strip() == "theirs"


def test_the_console_script_is_the_same_command(here: Interpreter) -> None:
    script = Path(sysconfig.get_path("scripts"), "torchada")
    if not script.exists():
        pytest.skip("torchada is not installed in this environment; the packaging tests run the console script as well")
    done = subprocess.run([script, "run", "tell.py", "-x"], env=clean_environment(), cwd=here.cwd, capture_output=True)
    assert json.loads(done.stdout)[0] == ["tell.py", "-x"]


@pytest.mark.full
@pytest.mark.musa
def test_run_simulates_a_device(here: Interpreter) -> None:
    code = "import torch; print(torch.cuda.is_available(), torch.zeros(1).cuda().device)"
    assert here.run([*RUN, "--simulate", "-c", code]).stdout.strip() == "True cuda:0"
    assert here.run([*RUN, "--simulate", "--honest", "-c", code]).stdout.strip() == "False musa:0"
