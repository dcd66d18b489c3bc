"""Runs the files of a suite, each in processes that are bounded in memory and time, and goes on where an earlier run stopped."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outside.suites import Suite


@dataclass(frozen=True)
class Bounds:
    """For one process: address space in GiB, and seconds that may pass without a verdict. `every` and `smallest` choose tests."""

    gibibytes: float = 12
    seconds: float = 300
    every: int = 0
    smallest: int = 0


@dataclass(frozen=True)
class Verdict:
    """`verdict` is passed, failed, skipped or xfailed; a test that kills or stops its process has failed.

    `operators` is how many operators the test's process had the simulated device compute meanwhile.
    """

    test: str
    verdict: str
    error: str = ""
    operators: int = 0

    @classmethod
    def of_entry(cls, entry: Mapping[str, Any]) -> Verdict:
        """The verdict that a line of a record is about."""
        return cls(entry["test"], entry["verdict"], entry["error"], entry.get("operators", 0))


def run(
    suite: Suite, checkout: Path, results: Path, bounds: Bounds, only: str = ""
) -> Iterator[tuple[Path, list[Verdict]]]:
    """The verdicts of each file, as soon as it is done. `results` holds one file of them for each, which a later run reads."""
    results.mkdir(parents=True, exist_ok=True)
    folder = suite.folder(checkout)
    paths = {str(path.relative_to(folder)): path for path in suite.paths(checkout)}
    if suite.together:
        yield folder, _File(suite, checkout, folder, results / "together.jsonl", bounds).run()
        return
    for name in chosen(list(paths), only):
        path = paths[name]
        record = results / (name.replace("/", "__") + suite.part + ".jsonl")
        yield path, _File(suite, checkout, path, record, bounds).run()


def chosen(names: list[str], only: str) -> list[str]:
    """Those that contain `only`; an error where there is none, because nothing would be run."""
    found = [name for name in names if only in name]
    if not found:
        raise SystemExit(f"--only {only}: no file has this in its path; one is {names[0]}")
    return found


def recorded(results: Path) -> list[Verdict]:
    """The verdicts of earlier runs."""
    found = []
    for record in sorted(results.glob("*.jsonl")):
        entries = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
        last = {entry["test"]: entry for entry in entries if "verdict" in entry}
        found += [Verdict.of_entry(entry) for entry in last.values()]
    return found


class _File:
    def __init__(self, suite: Suite, checkout: Path, path: Path, record: Path, bounds: Bounds) -> None:
        self.suite, self.checkout, self.path, self.record, self.bounds = suite, checkout, path, record, bounds
        self.done_list = record.with_suffix(".done")
        self.extensions = record.with_suffix(".extensions")

    def run(self) -> list[Verdict]:
        while not self._finished():
            before = len(self.verdicts())
            self._run_process()
            if len(self.verdicts()) == before and not self._finished():
                self._note(test=str(self.path.name), verdict="failed", error="the process ends before its first test")
                self._note(finished=True)
        return list(self.verdicts().values())

    def entries(self) -> list[dict[str, Any]]:
        if not self.record.exists():
            return []
        return [json.loads(line) for line in self.record.read_text(encoding="utf-8").splitlines()]

    def verdicts(self) -> dict[str, Verdict]:
        found = [entry for entry in self.entries() if "verdict" in entry]
        return {entry["test"]: Verdict.of_entry(entry) for entry in found}

    def _finished(self) -> bool:
        return any("finished" in entry for entry in self.entries())

    def _note(self, **entry: object) -> None:
        with self.record.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def _run_process(self) -> None:
        self.done_list.write_text("\n".join(self.verdicts()), encoding="utf-8")
        shutil.rmtree(self.extensions, ignore_errors=True)
        reason = self._wait(self._start())
        shutil.rmtree(self.extensions, ignore_errors=True)
        self.done_list.unlink()
        last = next((entry for entry in reversed(self.entries()) if "test" in entry), None)
        if last is not None and "began" in last and reason:
            self._note(test=last["test"], verdict="failed", error=reason)
        elif any("collected" in entry for entry in self.entries()) or any(
            entry.get("verdict") == "failed" for entry in self.entries()
        ):
            self._note(finished=True)

    def _start(self) -> subprocess.Popen[bytes]:
        command = self.suite.command(self.checkout, self.path)
        environment = {
            **self.suite.environment(self.checkout),
            "OUTSIDE_FILE": str(self.path),
            "OUTSIDE_RESULTS": str(self.record),
            "OUTSIDE_DONE": str(self.done_list),
            "OUTSIDE_EVERY": str(self.bounds.every),
            "OUTSIDE_SMALLEST": str(self.bounds.smallest),
            # PyTorch waits for ever for a lock that a killed process has left in its folder of extensions.
            "TORCH_EXTENSIONS_DIR": str(self.extensions.resolve()),
        }
        with self.record.with_suffix(".log").open("ab") as output:
            return subprocess.Popen(
                command,
                cwd=self.checkout / self.suite.start if self.suite.start else self.path.parent,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=self._limit,
            )

    def _limit(self) -> None:
        size = int(self.bounds.gibibytes * 2**30)
        resource.setrlimit(resource.RLIMIT_AS, (size, size))

    def _wait(self, process: subprocess.Popen[bytes]) -> str:
        """Why the process ended, or "" if all was well. Without a new verdict for too long, it is stopped."""
        size, since = -1, time.monotonic()
        try:
            while process.poll() is None:
                time.sleep(0.2)
                now = self.record.stat().st_size if self.record.exists() else 0
                if now != size:
                    size, since = now, time.monotonic()
                elif time.monotonic() - since > self.bounds.seconds:
                    return f"no end after {self.bounds.seconds:g} s"
        finally:
            _stop(process)
        code = process.returncode
        return "" if code == 0 else f"exit code {code}" if code > 0 else f"killed by {signal.Signals(-code).name}"


def _stop(process: subprocess.Popen[bytes]) -> None:
    """The process and what it has started, which is in the session that it leads."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
