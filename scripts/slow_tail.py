"""Run the slow tests under both mechanisms, and go on where the last run at this revision was broken off.

python scripts/slow_tail.py [--minutes N | --since REVISION]

What has passed or was skipped is kept in .slow_tail and not run again at the same revision. When all have been run on a tree
without changes, the counts go into docs/support.toml and README's tables. With --minutes, only as much is run as that time allows,
from another place for each revision; nothing is kept. With --since, what passed or was skipped in the run at REVISION counts as it
was there: only what failed then, or is new, is run at this one, and the tables say how many were not. A pass that is taken over
says nothing about what has changed since, so an issue is resolved only after a whole run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
STATE = ROOT / ".slow_tail"
# The first is the one that users have; what is marked `once` is run under it alone.
SELECTED = {"1": "slow", "0": "slow and not once"}
# Codes of pytest: all passed, some failed, nothing to run. With 2, it was broken off, or a file could not be imported.
_PASSED, _FAILED, _INTERRUPTED, _NOTHING = 0, 1, 2, 5
# A run that is to take N minutes starts no test in the last of them, and is stopped some seconds before its end.
_LAST, _STOPPING = 60, 15


@dataclass
class Record:
    """What came of the tests at one revision under one mechanism, and the seconds that all runs of them took."""

    file: Path

    def outcomes(self) -> dict[str, str]:
        return {line["test"]: line["outcome"] for line in self._lines() if "test" in line}

    def done(self) -> list[str]:
        return [test for test, outcome in self.outcomes().items() if outcome != "failed"]

    def seconds(self) -> float:
        return sum(line.get("seconds", 0.0) for line in self._lines())

    def earlier(self) -> Counter[str]:
        """How many tests were taken over, by the revision at which they were run."""
        return Counter(line["at"] for line in self._lines() if "at" in line)

    def take_over(self, record: Record, revision: str) -> None:
        """What has not failed in the record of an earlier revision counts as run."""
        outcomes = {test: outcome for test, outcome in record.outcomes().items() if outcome != "failed"}
        at = {line["test"]: line["at"] for line in record._lines() if "at" in line}  # taken over there already
        with self.file.open("a", encoding="utf-8") as file:
            for test in sorted(outcomes):
                file.write(
                    json.dumps({"test": test, "outcome": outcomes[test], "at": at.get(test, revision[:12])}) + "\n"
                )
        self.add_seconds(record.seconds())

    def _lines(self) -> list[dict[str, Any]]:
        return list(map(json.loads, self.file.read_text(encoding="utf-8").splitlines())) if self.file.exists() else []

    def add_seconds(self, seconds: float) -> None:
        with self.file.open("a", encoding="utf-8") as record:
            record.write(json.dumps({"seconds": round(seconds, 1)}) + "\n")


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def run_tests(native: str, record: Record, *, start: float = 0.0, seconds: float | None = None) -> int:
    """pytest's exit code; `seconds` is the time that it may take."""
    begin = time.time()
    until = None if seconds is None else begin + max(seconds - _LAST, 0)
    plan = {"done": record.done(), "start": start, "until": until, "record": str(record.file)}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(plan, file)
        file.flush()
        command = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "worksteal", "-m", SELECTED[native]]
        limit = None if seconds is None else max(seconds - _STOPPING, 0)
        code = _within(limit, [*command, f"--slow-tail={file.name}"], {**os.environ, "TORCHADA_NATIVE": native})
    record.add_seconds(time.time() - begin)
    return code


def _within(seconds: float | None, command: Sequence[str], environment: dict[str, str]) -> int:
    """The exit code; whatever stops the wait, stops pytest and its workers, which end what they have started."""
    process = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return _INTERRUPTED
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(30)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def a_part(revision: str, minutes: float) -> int:
    """Whether what the time allowed has passed. Mechanism and place depend on the revision."""
    native, start = str(int(revision[0], 16) % 2), int(revision[1:9], 16) / 16**8
    with tempfile.TemporaryDirectory() as folder:
        record = Record(Path(folder) / "record")
        code = run_tests(native, record, start=start, seconds=minutes * 60)
        outcomes = record.outcomes()
    failed = "failed" in outcomes.values() or code not in (_PASSED, _INTERRUPTED) or not outcomes
    print(
        f"slow tail: {len(outcomes)} tests with TORCHADA_NATIVE={native}, {'some failed' if failed else 'none failed'}"
    )
    return int(failed)


def all_of_it(revision: str, is_clean: bool, since: str | None = None) -> int:
    STATE.mkdir(exist_ok=True)
    records = records_of(revision if is_clean else "changed")
    if not is_clean:  # what was run may have been on other changes
        for record in records.values():
            record.file.unlink(missing_ok=True)
    if since is not None:
        for native, earlier in records_of(since).items():
            if not earlier.file.exists():
                print(f"slow tail: --since {since}: there is no {earlier.file}", file=sys.stderr)
                return 2
            if not records[native].file.exists():
                records[native].take_over(earlier, since)
    codes = [run_tests(native, record) for native, record in records.items()]
    if not set(codes) <= {_PASSED, _FAILED, _NOTHING}:
        print("slow tail: broken off; the same command goes on from here", file=sys.stderr)
        return 1
    counts = Counter(outcome for record in records.values() for outcome in record.outcomes().values())
    minutes = sum(record.seconds() for record in records.values()) / 60
    print(f"slow tail: {dict(counts)} in {minutes:.0f} minutes at {revision}")
    if is_clean:
        write(revision, counts, minutes, sum((record.earlier() for record in records.values()), Counter()))
    else:
        print("slow tail: not written to docs/support.toml, for the tree has changes that are in no revision")
    return int("failed" in counts)


def records_of(revision: str) -> dict[str, Record]:
    return {native: Record(STATE / f"{revision}-{native}.jsonl") for native in SELECTED}


def write(revision: str, counts: Counter[str], minutes: float, earlier: Counter[str]) -> None:
    table = [
        "[slow_tail]",
        f'revision = "{revision[:12]}"',
        f'date = "{date.today().isoformat()}"',
        f'torch = "{version("torch")}"',
        *(f"{outcome} = {counts[outcome]}" for outcome in ("passed", "failed", "skipped")),
        f"minutes = {minutes:.0f}",
    ]
    if earlier:
        table += [f"earlier = {{{', '.join(f'{at} = {number}' for at, number in sorted(earlier.items()))}}}"]
    file = ROOT / "docs" / "support.toml"
    before = re.sub(r"\n*^\[slow_tail\]\n(?:[^\[\n].*\n)*", "\n", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    file.write_text(before.rstrip("\n") + "\n\n" + "\n".join(table) + "\n", encoding="utf-8")
    subprocess.run([sys.executable, str(ROOT / "scripts" / "support_table.py")], check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, help="run a part that takes no longer than this, and keep nothing")
    parser.add_argument("--since", metavar="REVISION", help="run what failed in the whole run there, and what is new")
    options = parser.parse_args()
    minutes: float | None = options.minutes
    since: str | None = options.since and git("rev-parse", options.since)
    revision, changes = git("rev-parse", "HEAD"), git("status", "--porcelain")
    if minutes is not None:
        return a_part(revision, minutes)
    return all_of_it(revision, not changes, since)


if __name__ == "__main__":
    sys.exit(main())
