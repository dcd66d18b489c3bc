"""A process that has imported torch and runs pieces of code, each in a child that it forks.

A child begins as an interpreter does after `import torch`, and ends as one does, for a twentieth of the processor's time. But it
takes nothing down: what is called while an interpreter is finalized, such as destructors of global variables, is not.
`ForkServer` is the tests' side; run as a program, this file is the other one.
"""

from __future__ import annotations

import atexit
import builtins
import gc
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import types
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NoReturn, TextIO


class ForkServer:
    """Starts the process, with the environment that all its children have, and asks it for children."""

    def __init__(self, executable: str, environment: Mapping[str, str]) -> None:
        self.is_closed = False
        self._folder = Path(tempfile.mkdtemp(prefix="fork-server-"))
        self._connection, theirs = socket.socketpair()
        with theirs, (self._folder / "server").open("wb") as log:
            self._process = subprocess.Popen(
                [executable, __file__, str(theirs.fileno())],
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._lines = self._connection.makefile("rw", encoding="utf-8")
        # A child would have none of the other threads, and might wait for one for ever.
        self.can_fork = self._answer(300) == 1

    def run(
        self, code: str, cwd: Path | None, stdin: str | None, timeout: float, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """As subprocess.run of `python -c code`; `env` is added to the environment after torch's import."""
        (self._folder / "stdin").write_text(stdin or "", encoding="utf-8")
        request = {"code": code, "cwd": str(cwd or Path.cwd()), "folder": str(self._folder), "env": dict(env or {})}
        self._lines.write(json.dumps(request) + "\n")
        self._lines.flush()
        child = self._answer(60)
        try:
            status = self._answer(timeout)
        except BaseException as error:
            with suppress(ProcessLookupError):  # it has ended, or has no process group of its own yet
                os.killpg(child, signal.SIGKILL)
            printed = self._printed()
            self.close()  # what it answers from here on would be the answer to this request
            if isinstance(error, TimeoutError):
                raise subprocess.TimeoutExpired("python", timeout, *printed) from None
            raise
        return subprocess.CompletedProcess(["python", "-c", code], status, *self._printed())

    def _printed(self) -> tuple[str, str]:
        out, errors = ((self._folder / name).read_text(encoding="utf-8") for name in ("stdout", "stderr"))
        return out, errors

    def _answer(self, timeout: float) -> int:
        self._connection.settimeout(timeout)
        if line := self._lines.readline():
            return int(line)
        printed = (self._folder / "server").read_text(encoding="utf-8")
        self.close()
        raise RuntimeError(f"the fork server has ended:\n{printed}")

    def close(self) -> None:
        """The server ends when nobody can ask it any more."""
        self.is_closed = True
        with suppress(OSError):  # it has ended already
            self._connection.shutdown(socket.SHUT_RDWR)
        self._lines.close()
        self._connection.close()
        self._process.wait(60)
        shutil.rmtree(self._folder, ignore_errors=True)


class ForkServers:
    """A server for each environment, of which the last few live: an environment is read when torch is imported.

    Tests go round the releases of torch_musa, with and without a variable: with fewer, each would end before its next request.
    """

    def __init__(self, most: int = 8) -> None:
        self._most = most
        self._servers: dict[tuple[str, frozenset[tuple[str, str]]], ForkServer] = {}

    def get(self, executable: str, environment: Mapping[str, str]) -> ForkServer | None:
        """None where no child can be forked of a process that has imported torch."""
        lasting = {name: value for name, value in environment.items() if name != "PYTEST_CURRENT_TEST"}
        key = executable, frozenset(lasting.items())
        server = self._servers.pop(key, None)
        if server is None or server.is_closed:
            server = ForkServer(executable, lasting)
        self._servers[key] = server
        self._end_all_but(self._most)
        return server if server.can_fork else None

    def _end_all_but(self, kept: int) -> None:
        for key in list(self._servers)[: max(len(self._servers) - kept, 0)]:
            self._servers.pop(key).close()

    def close(self) -> None:
        self._end_all_but(0)


def serve(lines: TextIO) -> None:
    """Answer each request with the child's number, and with its exit code when it has ended."""
    print(len(os.listdir("/proc/self/task")), file=lines, flush=True)
    while line := lines.readline():
        if not (child := os.fork()):
            become(**json.loads(line))
        print(child, file=lines, flush=True)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), file=lines, flush=True)


def become(code: str, cwd: str, folder: str, env: Mapping[str, str]) -> NoReturn:
    """Turn this child into `python -c code`, up to the end."""
    os.setsid()
    os.chdir(cwd)
    os.environ.update(env)
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC if descriptor else os.O_RDONLY
        os.dup2(os.open(os.path.join(folder, name), flags), descriptor)
    main = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, __annotations__={})
    sys.modules["__main__"], sys.argv, sys.path[0] = main, ["-c"], ""
    sys.orig_argv[1:] = ["-c", code]
    os._exit(_ended(lambda: exec(compile(code, "<string>", "exec"), main.__dict__)))


def _ended(program: Callable[[], None]) -> int:
    """Its exit code, after all that an interpreter does before it takes itself down."""
    code = _code(program)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    return code


def _code(program: Callable[[], None]) -> int:
    try:
        program()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return (end.code or 0) & 0xFF
        print(end.code, file=sys.stderr)
        return 1
    except BaseException as error:
        trace = _of_the_program(error.__traceback__)
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        return 1
    return 0


def _of_the_program(trace: types.TracebackType | None) -> types.TracebackType | None:
    while trace and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace


def _begin(descriptor: int) -> None:
    import torch  # noqa: F401

    connection = socket.socket(fileno=descriptor)
    connection.set_inheritable(False)
    gc.collect()
    gc.freeze()  # so that collections in the children do not copy the memory of all that has been imported
    with connection.makefile("rw", encoding="utf-8") as lines:
        serve(lines)


if __name__ == "__main__":
    _begin(int(sys.argv[1]))
