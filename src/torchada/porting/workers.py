"""Porting the files of a tree: one after the other, or shared out among processes.

Other processes are plain ones that read their share from standard input: multiprocessing would run a setup.py without a main guard
a second time in each of them.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from torchada.porting.findings import Finding, Ported, PortingError
from torchada.porting.includes import Includes
from torchada.porting.project import Project

ENOUGH_BYTES = 4_000_000  # starting a process costs about as much as porting this many
_PROGRAM = "import sys; sys.path.append(sys.argv[1]); from torchada.porting.workers import serve; serve()"


class Job(NamedTuple):
    """A source: its `path` in the tree, the `file` to read, and where the result goes."""

    path: str
    file: str
    output: str


class Done(NamedTuple):
    """What came of a job: the hashes of the original and of the result, the findings, the number of replacements."""

    path: str
    digests: tuple[str, str]
    findings: tuple[Finding, ...]
    replacements: int
    size: int


class Share(NamedTuple):
    """What one process has to do. `lines` asks for a #line directive with the original's path."""

    project: Project
    targets: Mapping[str, str]
    jobs: Sequence[Job]
    lines: bool


def read(file: str) -> bytes:
    """A source. PortingError where it cannot be read, or is no text."""
    try:
        with open(file, "rb") as stream:
            data = stream.read()
    except OSError as error:
        raise PortingError(f"{file}: {error.strerror}") from error
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise PortingError(f"{file}: not a text, line {line} has a NUL byte; exclude it if it is no source")
    return data


def digest(data: bytes) -> str:
    """What tells contents apart."""
    from hashlib import blake2b

    return blake2b(data, digest_size=16).hexdigest()


class Porter:
    """Ports the sources of one tree, whose files are `targets` (paths and what they become)."""

    def __init__(self, project: Project, targets: Mapping[str, str], lines: bool = False) -> None:
        self._translator = project.translator()
        self._includes = Includes(targets, self._translator.names)
        self._lines = lines

    def port(self, path: str, data: bytes, file: str = "", origin: str | None = None) -> Ported:
        """The source `data`, which stands at `path` in the tree. `file` is where it was read, which tells where the tree is.

        `origin` is the name for a #line directive, which is `file` otherwise.
        """
        root = file[: -len(path)] if file.endswith(f"/{path}") else None
        ported = self._translator.port(data, partial(self._includes.resolve, path, root=root))
        if self._lines or origin is not None:
            return with_line_directive(ported, origin or file or path)
        return with_first_lines(ported) if ported.lost else ported

    def write(self, job: Job) -> Done:
        """Read, port and write one source."""
        data = read(job.file)
        ported = self.port(job.path, data, job.file)
        with open(job.output, "wb") as stream:
            stream.write(ported.text)
        return Done(job.path, (digest(data), digest(ported.text)), ported.findings, ported.replacements, len(data))


# A name may have any character but NUL; as they stand, two would end the string, and two the line. GCC (12) crashes over __FILE__
# where a name has a carriage return, escaped or not.
_ESCAPES = ((b"\\", rb"\\"), (b'"', rb"\""), (b"\n", rb"\n"), (b"\r", b"?"))


def with_line_directive(ported: Ported, file: str) -> Ported:
    """The same with a first line that makes compilers name `file` in their messages, below the includes that are lost."""
    name = os.fsencode(file)
    for character, escape in _ESCAPES:
        name = name.replace(character, escape)
    return with_first_lines(ported, b'#line 1 "' + name + b'"')


def with_first_lines(ported: Ported, *lines: bytes) -> Ported:
    """The same below the includes that are lost and `lines`, but behind the mark that a file of UTF-8 may begin with."""
    mark = b"\xef\xbb\xbf" if ported.text.startswith(b"\xef\xbb\xbf") else b""
    end = b"\r\n" if b"\r\n" in ported.text[:4096] else b"\n"
    first = [*(b"#include <" + header.encode() + b">" for header in ported.lost), *lines]
    text = mark + b"".join(line + end for line in first) + ported.text[len(mark) :]
    return replace(ported, text=text, lines_before=ported.lines_before + len(first), lost=())


def do(
    project: Project, targets: Mapping[str, str], jobs: Sequence[Job], processes: int, lines: bool = False
) -> list[Done]:
    """Do all `jobs` with up to `processes` processes. PortingError or OSError with the first thing that went wrong."""
    sizes = {job.path: os.path.getsize(job.file) for job in jobs}
    processes = min(processes, 1 + sum(sizes.values()) // ENOUGH_BYTES, len(jobs))
    if processes < 2 or not sys.executable:
        porter = Porter(project, targets, lines)
        return [porter.write(job) for job in jobs]
    shares: list[list[Job]] = [[] for _ in range(processes)]
    loads = [0] * processes
    for job in sorted(jobs, key=lambda job: sizes[job.path], reverse=True):
        lightest = loads.index(min(loads))
        shares[lightest].append(job)
        loads[lightest] += sizes[job.path] + 2000
    helpers = [_start(Share(project, targets, share, lines)) for share in shares[1:]]
    try:
        porter = Porter(project, targets, lines)
        done = [porter.write(job) for job in shares[0]]
        for helper in helpers:
            done += _finish(helper)
    finally:
        for helper in helpers:
            helper.kill()
            helper.communicate()
    return done


def _start(share: Share) -> subprocess.Popen[bytes]:
    root = str(Path(__file__).resolve().parents[2])
    # Isolated: the folder that is ported is often the current one, and may have a pickle.py. The standard library is enough.
    command = [sys.executable, "-I", "-S", "-c", _PROGRAM, root]
    # A group of its own: Ctrl-C at the terminal is ours to answer, and the process is killed then.
    helper = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    assert helper.stdin is not None
    try:
        pickle.dump(share, helper.stdin)
        helper.stdin.close()
    except BrokenPipeError:
        pass  # that it died is told where its answer is read
    helper.stdin = None
    return helper


def _finish(helper: subprocess.Popen[bytes]) -> list[Done]:
    assert helper.stdout is not None
    answer = helper.stdout.read()
    if helper.wait() != 0 or not answer:
        raise PortingError(f"a process that ported a part of the tree ended with {helper.returncode}")
    done, error = pickle.loads(answer)
    if error is not None:
        raise error
    result: list[Done] = done
    return result


def serve() -> None:
    """What another process does: read a share, do it, tell."""
    share: Share = pickle.load(sys.stdin.buffer)
    error: Exception | None = None
    done: list[Done] = []
    try:
        porter = Porter(share.project, share.targets, share.lines)
        done = [porter.write(job) for job in share.jobs]
    except (PortingError, OSError) as problem:
        error = problem
    sys.stdout.buffer.write(pickle.dumps((done, error)))
    sys.stdout.buffer.flush()
