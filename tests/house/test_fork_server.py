"""What runs in a child of a process that has imported torch goes as in an interpreter of its own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.interpreter import FORK_SERVERS, Interpreter

pytestmark = pytest.mark.once

CODE = """
import atexit, os, sys, threading, time
import __main__
atexit.register(print, "at exit")
threading.Thread(target=lambda: (time.sleep(0.1), print("a thread's end"))).start()
print(sys.argv, sys.path[0] == "", __name__, __main__.x if "x" in globals() else sorted(vars(__main__))[:3])
print(os.path.basename(os.getcwd()), sys.stdin.read(), sys.stdout.isatty(), file=sys.stderr)
"""


def both(musa: Interpreter, code: str, **options: Any) -> tuple[Any, Any]:
    runs = [musa.run(code, check=False, forked=forked, **options) for forked in (False, True)]
    fresh, forked = ((done.returncode, done.stdout, done.stderr) for done in runs)
    return fresh, forked


def test_output_input_threads_and_what_is_registered_for_the_end(musa: Interpreter) -> None:
    fresh, forked = both(musa, CODE, stdin="given")
    assert fresh == forked and fresh[1].endswith("a thread's end\nat exit\n") and " given False" in fresh[2]


@pytest.mark.parametrize(
    "code", ["raise ValueError(3)", "exit(5)", "exit('words')", "1 +", "import os; os.kill(os.getpid(), 9)", "exit(-1)"]
)
def test_ends(musa: Interpreter, code: str) -> None:
    fresh, forked = both(musa, code)
    assert fresh == forked and fresh[0] != 0


def test_no_child_sees_what_another_did(musa: Interpreter) -> None:
    code = "import torch; print(hasattr(torch, 'left')); torch.left = 1; x = torch.ones(2, device='cuda'); print(x.sum().item())"
    assert [musa.run(code, forked=True).stdout for _ in range(2)] == ["False\n2.0\n"] * 2


def test_it_is_a_child_that_has_not_touched_the_device(musa: Interpreter) -> None:
    code = """
    import os, sys
    before = "torch" in sys.modules
    import torch, threading
    print(os.getppid(), before, torch.musa.is_initialized(), threading.active_count(), os.getpid() == os.getpgid(0))
    """
    runs = [musa.run(code, forked=True).stdout.split() for _ in range(2)]
    assert runs[0] == runs[1] == [runs[0][0], "True", "False", "1", "True"] and int(runs[0][0]) != os.getpid()


@pytest.mark.full
def test_each_environment_has_a_server_and_the_last_two_live(musa: Interpreter) -> None:
    code = "import os; print(os.environ.get('SOME'), os.getppid())"
    servers = [musa.run(code, env={"SOME": value}, forked=True).stdout.split() for value in ("1", "2", "2", "3")]
    assert [value for value, _ in servers] == ["1", "2", "2", "3"]
    assert servers[1] == servers[2] and len({number for _, number in servers}) == 3
    assert not Path(f"/proc/{servers[0][1]}").exists()


@pytest.mark.full
def test_a_child_that_hangs_is_ended(musa: Interpreter) -> None:
    code = "print('before', flush=True); import time; time.sleep(600)"
    with pytest.raises(subprocess.TimeoutExpired) as stopped:
        musa.run(code, forked=True, timeout=1)
    assert stopped.value.output == "before\n"
    assert musa.run("print(1)", forked=True).stdout == "1\n"


@pytest.mark.full
def test_what_a_program_is_told_depends_on_its_text(musa: Interpreter) -> None:
    code = "import torch; print(torch.cuda.is_available())"
    for text in (code, f"{code}; torch_musa = None"):
        fresh, forked = both(musa, text)
        assert fresh == forked


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('broken')")
    with pytest.raises(RuntimeError, match="broken"):
        FORK_SERVERS.get(Interpreter().executable, {"PYTHONPATH": str(tmp_path), "TORCHADA_DISABLE": "1"})
