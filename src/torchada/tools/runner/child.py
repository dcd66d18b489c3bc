"""Our side of the process in which tasks are run."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Answer = dict[str, Any]
_LONGEST_LOG = 4000  # characters
# `python -m` looks for modules in the current folder first, and a file of the user's must not be taken for a library's.
_HOME = Path(__file__).resolve().parents[3]


class Ended(Exception):
    """The process has ended instead of answering, or was killed because it took too long. `log` is what it had written."""

    def __init__(self, outcome: str, detail: str, log: str) -> None:
        super().__init__(detail)
        self.outcome, self.detail, self.log = outcome, detail, log

    def as_surroundings(self) -> Answer:
        """What is known where the process did not come so far as to greet."""
        last = self.log.rpartition("\n")[2]
        return {
            "device": None,
            "problem": f"the programs cannot be begun: {self.detail}{f': {last}' if last else ''}",
            "platform": None,
            "simulated": False,
            "versions": {},
            "environment": {},
            "system": "",
        }


class Process:
    """Runs `python -m module arguments...` with these variables; it has to be one that calls `serve`."""

    def __init__(self, module: str, arguments: Sequence[str] = (), variables: Mapping[str, str] | None = None) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, **(variables or {})},
            bufsize=0,
            cwd=_HOME,
            start_new_session=True,  # so that the processes that it starts can be ended with it
        )
        self._rest = b""

    def greeting(self, limit: float) -> Answer:
        """The first line. Raises Ended."""
        return self._read(limit)

    def ask(self, name: str, limit: float) -> Answer:
        """What came of the task `name`, within `limit` seconds. Raises Ended."""
        self._log.seek(0)
        self._log.truncate()
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{name}\n".encode())
        except BrokenPipeError:
            raise self._ended() from None
        return self._read(limit)

    def _read(self, limit: float) -> Answer:
        assert self._process.stdout is not None
        end = time.monotonic() + limit
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                written = self._written()
                self.end()
                raise Ended("timed out", f"not done after {limit:g} s", written)
            read = os.read(self._process.stdout.fileno(), 1 << 16)
            if not read:
                raise self._ended()
            self._rest += read
        line, _, self._rest = self._rest.partition(b"\n")
        answer: Answer = json.loads(line)
        return answer

    def _ended(self) -> Ended:
        code, written = self._process.wait(), self._written()
        self.end()
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        return Ended("crashed", f"the process {how}", written)

    def _written(self) -> str:
        """The end of what the process has written since it was last asked."""
        self._log.seek(0)
        return self._log.read().decode(errors="replace").strip()[-_LONGEST_LOG:]

    def end(self) -> None:
        """Kill the process and those that it has started."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._log):
            if stream is not None:
                stream.close()
