"""A command with a limit in time: it is ended with all that it has started."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def run(command: Sequence[str], folder: Path, env: Mapping[str, str], seconds: float) -> tuple[int | None, str]:
    """The exit code of a command, None where its time was over, and what it printed, as far as that is text."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=env,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=_in_front,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        return None, f"{_ended(process)}\nno end after {seconds:.0f} s\n"
    return process.returncode, output


def _in_front() -> None:
    """As a shell's own command: one in the background hears no Ctrl-C, and what it starts neither."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _ended(process: subprocess.Popen[str]) -> str:
    """What a process has printed that is ended here. torchrun ends its ranks, where it is asked to end."""
    process.terminate()
    try:
        return process.communicate(timeout=60)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0]
