"""What runs in a child of a process that has imported torch goes as in an interpreter of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.fork_server import ForkServer, ForkServers
from support.interpreter import FORK_SERVERS, Interpreter, clean_environment

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
def test_each_environment_has_a_server_and_the_last_ones_live(musa: Interpreter) -> None:
    servers = ForkServers(most=2)

    def parent(value: str) -> int:
        environment = {**clean_environment(), **musa.env, "SOME": value}
        server = servers.get(sys.executable, environment)
        assert server is not None
        done = server.run("import os; print(os.environ['SOME'], os.getppid())", None, None, 300)
        assert done.stdout.split()[0] == value
        return int(done.stdout.split()[1])

    first, second, again, third = (parent(value) for value in ("1", "2", "2", "3"))
    assert second == again and len({first, second, third}) == 3
    assert not Path(f"/proc/{first}").exists() and Path(f"/proc/{second}").exists()
    servers.close()
    assert not Path(f"/proc/{third}").exists()


@pytest.mark.full
def test_variables_of_a_child_are_its_own(musa: Interpreter) -> None:
    server = ForkServer(sys.executable, {**clean_environment(), **musa.env})
    code = "import ctypes, os; print(os.environ.get('SOME'), ctypes.CDLL(None).getenv(b'SOME') != 0)"
    try:
        runs = [server.run(code, None, None, 300, env).stdout.split() for env in ({"SOME": "1"}, {})]
    finally:
        server.close()
    assert runs == [["1", "True"], ["None", "False"]]


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
