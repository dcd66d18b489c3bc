"""Ports, builds and runs one program, in processes that are bounded in memory and time, and writes down how far it came."""

from __future__ import annotations

import json
import math
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from outside.programs import inputs, judging
from outside.programs.table import HERE, Command, Program
from outside.projects.building import first_error
from outside.running import Bounds, Verdict

_SOURCES = (".cu", ".cuh", ".h", ".hpp", ".cpp", ".cc", ".c", ".inl")
STAGES = ("lacking", "found", "ported", "built", "ran", "right")


@dataclass(frozen=True)
class Outcome:
    """How far a program came, what stopped it there, and what the porter could not translate."""

    program: str
    stage: str
    error: str = ""
    unported: tuple[str, ...] = ()

    def verdict(self) -> Verdict:
        """A program that lacks its data, or says nothing about its results, is skipped."""
        if self.stage == "right":
            return Verdict(self.program, "passed")
        silent = self.stage in ("lacking", "ran") and not self.error.startswith("wrong")
        return Verdict(self.program, "skipped" if silent else "failed", self.error)


@dataclass(frozen=True)
class Place:
    """The checkout, the folder where copies of programs are built, and the environment of builds and runs."""

    checkout: Path
    tree: Path
    environment: Mapping[str, str]
    bounds: Bounds

    @property
    def words(self) -> dict[str, str]:
        return {"cuda": self.environment["CUDA_HOME"], "here": str(HERE), "python": sys.executable}


class Stopped(Exception):
    """A stage was not reached."""

    def __init__(self, stage: str, error: str) -> None:
        super().__init__(error)
        self.stage, self.error = stage, error


def environment() -> dict[str, str]:
    """That of `torchada build`, with little optimization and no debugging information."""
    command = [sys.executable, "-m", "torchada", "build", "--simulate", "--print-env"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    added = dict(word.split("=", 1) for word in shlex.split(printed) if "=" in word)
    cheap = {"NVCC_APPEND_FLAGS": "-O1 -g0", "OMP_NUM_THREADS": "1"}
    folder = f"{added['CUDA_HOME']}/lib64"
    paths = {
        name: os.pathsep.join(filter(None, [folder, os.environ.get(name)]))
        for name in ("LIBRARY_PATH", "LD_LIBRARY_PATH")
    }
    return {**cheap, **os.environ, **added, **paths, "TORCHADA_SIMULATE": "1"}


def run(program: Program, place: Place, record: Path) -> Outcome:
    """The outcome that `record` has, or a new one that is written there."""
    if record.exists():
        found = json.loads(record.read_text(encoding="utf-8"))
        return Outcome(**{**found, "unported": tuple(found["unported"])})
    unported = _unported(place.checkout / program.command.folder)
    log = record.with_suffix(".log")
    log.unlink(missing_ok=True)
    outcome = _reached(program, place, log, unported)
    record.write_text(json.dumps(asdict(outcome), indent=1), encoding="utf-8")
    return outcome


def _reached(program: Program, place: Place, log: Path, unported: tuple[str, ...]) -> Outcome:
    if program.lacks:
        return Outcome(program.name, "lacking", f"lacks {program.lacks}, which is not in the checkout", unported)
    try:
        error = _judged(program, place, log)
    except Stopped as stopped:
        stage = "found" if stopped.stage == "ported" and unported else stopped.stage
        return Outcome(program.name, stage, stopped.error, unported)
    if error is None:
        return Outcome(program.name, "ran", "it does not say whether its results are right", unported)
    return Outcome(program.name, "ran" if error else "right", error and f"wrong: {error}", unported)


def _unported(folder: Path) -> tuple[str, ...]:
    from torchada.porting import port_source

    names = set()
    for path in sorted(folder.rglob("*")):
        if path.suffix in _SOURCES and path.is_file():
            findings = port_source(path.read_bytes()).findings
            names.update(finding.name for finding in findings if finding.kind == "unported")
    return tuple(sorted(names))


def _judged(program: Program, place: Place, log: Path) -> str | None:
    """As `judging` says, of what the program and its reference give."""
    for name in program.inputs:
        inputs.make(name, place.tree)
    result = _output(program.command, place, log)
    reference = program.check.reference
    if reference is None:
        return judging.by_message(program.check, result)
    return judging.by_numbers(program.check, result, _output(reference, place, log))


def _output(command: Command, place: Place, log: Path) -> str:
    """What the command writes, after it was built."""
    folder = place.tree / command.folder
    _overlay(place.checkout, place.tree, Path(command.folder))
    for line in command.build:
        code, text, reason = _call(line, folder, place, log, place.bounds.seconds * 4)
        if code:
            raise Stopped("ported", f"build: {reason or first_error(text)}")
    for name in command.output:
        (folder / name).unlink(missing_ok=True)
    code, text, reason = _call(command.run, folder, place, log, place.bounds.seconds)
    if code:
        raise Stopped("built", f"run: {reason or _last(text)}")
    missing = [name for name in command.output if not (folder / name).is_file()]
    if missing:
        raise Stopped("built", f"run: it writes no file {missing[0]}")
    return "\n".join((folder / name).read_text(errors="replace") for name in command.output) if command.output else text


def _last(text: str) -> str:
    """The line that says why a program ended: the simulator's, or the last one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if line.startswith("musasim: ")), lines[-1] if lines else "no output")[:200]


def _overlay(checkout: Path, tree: Path, folder: Path) -> None:
    """A copy of `folder` in `tree`; all that lies beside it and above it is linked, because programs share headers and data."""
    for part in [*reversed(folder.parents), folder]:
        place, source = tree / part, checkout / part
        if place.is_symlink():
            place.unlink()
        if part == folder:
            if not place.exists():
                shutil.copytree(source, place, symlinks=True)
            continue
        place.mkdir(parents=True, exist_ok=True)
        for name in os.listdir(source):
            if name != ".git" and not os.path.lexists(place / name):
                (place / name).symlink_to(source / name)


def _call(line: str, folder: Path, place: Place, log: Path, seconds: float) -> tuple[int, str, str]:
    """The exit code, what was printed, and why it was stopped."""
    words = [word.format_map(place.words) for word in shlex.split(line)]

    def limit() -> None:
        size, cpu = int(place.bounds.gibibytes * 2**30), math.ceil(seconds)
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))

    with log.open("ab+") as output:
        output.write(f"$ {line}\n".encode())
        output.flush()
        begin = output.tell()
        try:
            process = subprocess.Popen(
                words,
                cwd=folder,
                env=place.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=limit,
            )
        except OSError as error:
            return 127, "", str(error)
        code, reason = _wait(process, seconds)
        output.seek(begin)
        return code, output.read().decode(errors="replace"), reason


def _wait(process: subprocess.Popen[bytes], seconds: float) -> tuple[int, str]:
    """Time is that of a processor, so that it does not matter how busy the machine is; one that waits is stopped much later."""
    try:
        code = process.wait(seconds * 20)
    except subprocess.TimeoutExpired:
        return 124, "no end"
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
    if code in (-signal.SIGXCPU, 128 + signal.SIGXCPU):
        return 124, f"no end after {seconds:g} s of a processor"
    return code, f"killed by {signal.Signals(-code).name}" if code < 0 else ""
