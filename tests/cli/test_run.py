"""`torchada run PROGRAM` is `python PROGRAM`, with a few variables set: what python does with it, it does."""

from __future__ import annotations

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

pytestmark = pytest.mark.once

RUN = ["-m", "torchada.cli", "run"]
TELL = "import json, os, sys; print(json.dumps([sys.argv, {k: v for k, v in os.environ.items() if 'TORCHADA' in k}]))\n"


@pytest.fixture
def here(tmp_path: Path) -> Interpreter:
    """An interpreter in a folder that holds tell.py, which tells its arguments and the TORCHADA_ variables."""
    (tmp_path / "tell.py").write_text(TELL)
    return Interpreter(cwd=tmp_path)


def told(
    interpreter: Interpreter, *arguments: str, env: dict[str, str] | None = None
) -> tuple[list[str], dict[str, str]]:
    argv, variables = interpreter.json([*RUN, *arguments], env=env)
    return argv, variables


def both(interpreter: Interpreter, *program: str, **options: Any) -> list[tuple[int, str, str]]:
    """What becomes of `torchada run program` and of `python program`."""
    done = [interpreter.run([*way, *program], check=False, **options) for way in (RUN, [])]
    return [(each.returncode, each.stdout, each.stderr) for each in done]


def test_a_script_and_its_arguments(here: Interpreter) -> None:
    argv, variables = told(here, "tell.py", "--simulate", "-m", "--", "-h", "", "two words")
    assert argv == ["tell.py", "--simulate", "-m", "--", "-h", "", "two words"]
    assert variables == {"TORCHADA_FORCE_CUDA_AVAILABLE": "1"}


def test_a_module(here: Interpreter) -> None:
    argv, _ = told(here, "-m", "tell", "--platform", "x")
    assert argv[1:] == ["--platform", "x"] and argv[0].endswith("tell.py")


def test_code(here: Interpreter) -> None:
    argv, _ = told(here, "-c", TELL, "--honest")
    assert argv == ["-c", "--honest"]


def test_a_program_behind_two_dashes(here: Interpreter) -> None:
    argv, variables = told(here, "--honest", "--", "tell.py", "--")
    assert argv == ["tell.py", "--"] and variables == {}


def test_options_of_python(here: Interpreter) -> None:
    assert here.run([*RUN, "-X", "utf8", "-c", "import sys; print(sys.flags.utf8_mode)"]).stdout.strip() == "1"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--simulate"], {"TORCHADA_SIMULATE": "1", "TORCHADA_FORCE_CUDA_AVAILABLE": "1"}),
        (["--platform", "cpu"], {"TORCHADA_PLATFORM": "cpu", "TORCHADA_FORCE_CUDA_AVAILABLE": "1"}),
        (["--platform=cpu"], {"TORCHADA_PLATFORM": "cpu", "TORCHADA_FORCE_CUDA_AVAILABLE": "1"}),
        (["--honest"], {}),
        (["--honest", "--simulate"], {"TORCHADA_SIMULATE": "1"}),
    ],
)
def test_our_options(here: Interpreter, options: list[str], expected: dict[str, str]) -> None:
    assert told(here, *options, "tell.py") == (["tell.py"], expected)


def test_what_the_user_has_set_is_not_overridden(here: Interpreter) -> None:
    env = {"TORCHADA_FORCE_CUDA_AVAILABLE": "0", "TORCHADA_DISABLE": "1", "TORCHADA_PLATFORM": "cpu"}
    assert told(here, "tell.py", env=env)[1] == env


def test_an_option_is_stronger_than_its_variable(here: Interpreter) -> None:
    assert (
        told(here, "--platform", "musa", "tell.py", env={"TORCHADA_PLATFORM": "cpu"})[1]["TORCHADA_PLATFORM"] == "musa"
    )


@pytest.mark.parametrize("code", [0, 1, 7, 255])
def test_exit_codes(here: Interpreter, code: int) -> None:
    assert here.run([*RUN, "-c", f"import sys; sys.exit({code})"], check=False).returncode == code


@pytest.mark.parametrize(
    "body", ["def f():\n    1 / 0\nf()\n", "import not_there\n", "x = (\n", "import sys; sys.exit('a message')\n"]
)
def test_tracebacks_are_pythons_own(here: Interpreter, body: str) -> None:
    (here.cwd / "faulty.py").write_text(body)  # type: ignore[operator]
    ours, pythons = both(here, "faulty.py")
    assert ours == pythons and ours[0] != 0 and "torchada" not in ours[2]


@pytest.mark.parametrize("program", [["missing.py"], ["-m", "missing"], ["-c"], ["--no-such-option"]])
def test_a_missing_program_is_pythons_error(here: Interpreter, program: list[str]) -> None:
    ours, pythons = both(here, *program)
    assert ours == pythons and ours[0] != 0


def test_standard_input(here: Interpreter) -> None:
    code = "import sys; print(sys.stdin.read().upper())"
    assert here.run([*RUN, "-c", code], stdin="from outside").stdout.strip() == "FROM OUTSIDE"
    assert here.run([*RUN, "-"], stdin="print('the program itself')").stdout.strip() == "the program itself"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_signals_reach_the_program(here: Interpreter, number: signal.Signals) -> None:
    code = "import time; print('ready', flush=True); time.sleep(30)"
    with _started(here, code) as process:
        process.send_signal(number)
        assert process.wait(timeout=10) == -number


def test_a_signal_that_the_program_handles(here: Interpreter) -> None:
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
        # A shell's background job, and so its children, ignore interrupts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process


def test_it_is_the_same_process(here: Interpreter) -> None:
    """No parent stays behind that would have to pass on signals and exit codes."""
    with subprocess.Popen(
        [sys.executable, *RUN, "-c", "import os; print(os.getpid())"],
        env=clean_environment(),
        cwd=here.cwd,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        out, _ = process.communicate(timeout=30)
    assert int(out) == process.pid


@pytest.mark.parametrize("arguments", [[], ["--simulate"], ["--platform"]])
def test_nothing_to_run(here: Interpreter, arguments: list[str]) -> None:
    done = here.run([*RUN, *arguments], check=False)
    assert done.returncode == 2 and "usage: torchada run" in done.stderr


def test_help(here: Interpreter) -> None:
    assert "script.py | -m module | -c code" in here.run([*RUN, "--help"]).stdout
    assert "run" in here.run(["-m", "torchada.cli", "--help"]).stdout
    assert here.run(["-m", "torchada.cli", "--version"]).stdout.startswith("torchada ")


def test_where_no_start_up_file_is_in_force(here: Interpreter) -> None:
    """torchada is importable in the parent by a path that the child does not inherit; the hook is there all the same."""
    assert here.cwd is not None
    code = "import sys; print(any(type(finder).__module__ == '_torchada_startup' for finder in sys.meta_path))"
    start = f"import sys, runpy; sys.path[:0] = {sys.path!r}; sys.argv[1:] = ['run', '-c', {code!r}]; "
    env = clean_environment()
    env.pop("PYTHONPATH", None)
    done = subprocess.run(
        [sys.executable, "-S", "-c", start + "runpy.run_module('torchada.cli', run_name='__main__')"],
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


def test_the_users_python_path_is_kept(here: Interpreter) -> None:
    assert here.cwd is not None
    folder = here.cwd / "theirs"
    folder.mkdir()
    (folder / "their_module.py").write_text("print('theirs')")
    path = os.pathsep.join(filter(None, [clean_environment().get("PYTHONPATH"), str(folder)]))
    assert here.run([*RUN, "-m", "their_module"], env={"PYTHONPATH": path}).stdout.strip() == "theirs"


def test_the_console_script(here: Interpreter) -> None:
    script = Path(sysconfig.get_path("scripts"), "torchada")
    if not script.exists():
        pytest.skip("torchada is not installed in this environment; the packaging tests run the console script as well")
    done = subprocess.run([script, "run", "tell.py", "-x"], env=clean_environment(), cwd=here.cwd, capture_output=True)
    assert json.loads(done.stdout)[0] == ["tell.py", "-x"]


@pytest.mark.musa
def test_on_a_simulated_device(here: Interpreter) -> None:
    code = "import torch; print(torch.cuda.is_available(), torch.zeros(1).cuda().device)"
    assert here.run([*RUN, "--simulate", "-c", code]).stdout.strip() == "True musa:0"
    assert here.run([*RUN, "--simulate", "--honest", "-c", code]).stdout.strip() == "False musa:0"
