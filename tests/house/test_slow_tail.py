"""scripts/slow_tail.py: what has passed is not run again, a part ends in time, and the counts are those of what was run."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from support.interpreter import ROOT
from support.tiers import rarely, revision

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.once

TESTS = """
import pytest

@pytest.mark.parametrize("number", range(6))
def test_of(number):
    assert number != 2 and number != 3 or BROKEN
    if number == 4:
        pytest.skip("no reason")
"""
CONFTEST = """
from support import slow_tail
def pytest_addoption(parser):
    parser.addoption("--slow-tail")
def pytest_configure(config):
    slow_tail.register(config)
"""


class Tail:
    """A folder with six tests, run as scripts/slow_tail.py runs ours."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.record = folder, folder / "record"
        (folder / "conftest.py").write_text(CONFTEST)
        self.broken(True)

    def broken(self, value: bool) -> None:
        (self.folder / "test_it.py").write_text(TESTS.replace("BROKEN", str(not value)))

    def run(self, *options: str, **plan: Any) -> list[tuple[int, str]]:
        """The numbers of the tests that were run, in this order, with what came of them."""
        self.record.unlink(missing_ok=True)
        plan = {"done": [], "start": 0.0, "until": None, "record": str(self.record), **plan}
        (self.folder / "plan").write_text(json.dumps(plan))
        command = [sys.executable, "-m", "pytest", "-q", *options, "--slow-tail=plan", "--rootdir=.", "test_it.py"]
        env = {"PYTHONPATH": str(ROOT / "tests"), "TORCHADA_DISABLE": "1"}
        subprocess.run(command, cwd=self.folder, env=env, capture_output=True, timeout=300, check=False)
        lines = map(json.loads, self.record.read_text().splitlines()) if self.record.exists() else ()
        return [(int(line["test"][-2]), line["outcome"]) for line in lines]


@pytest.fixture
def tail(tmp_path: Path) -> Tail:
    return Tail(tmp_path)


ALL = [(0, "passed"), (1, "passed"), (2, "failed"), (3, "failed"), (4, "skipped"), (5, "passed")]


@pytest.mark.full
def test_every_test_is_recorded_with_what_came_of_it(tail: Tail) -> None:
    assert tail.run() == ALL
    assert sorted(tail.run("-n", "2")) == ALL


def test_what_is_done_is_not_run_again(tail: Tail) -> None:
    done = [f"test_it.py::test_of[{number}]" for number in (0, 1, 4)]
    assert tail.run(done=done) == [ALL[2], ALL[3], ALL[5]]


def test_a_part_begins_elsewhere_and_ends_when_the_time_is_up(tail: Tail) -> None:
    assert tail.run(start=0.5) == [*ALL[3:], *ALL[:3]]
    assert tail.run(start=0.5, until=time.time()) == ALL[3:4]


def test_a_worker_that_crashes_has_failed(tail: Tail) -> None:
    (tail.folder / "test_it.py").write_text(TESTS.replace("assert", "import os; number == 2 and os._exit(3)  #"))
    assert (2, "failed") in tail.run("-n", "1")


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    from scripts import slow_tail

    for name in (
        "docs/support.toml",
        "scripts/support_table.py",
        "README.md",
        "docs/README_CN.md",
        "docs/reference/tried.md",
    ):
        if (ROOT / name).exists():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    monkeypatch.setattr(slow_tail, "ROOT", tmp_path)
    monkeypatch.setattr(slow_tail, "STATE", tmp_path / "state")
    return slow_tail


def test_a_run_that_was_broken_off_goes_on_and_is_counted_whole(copy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []

    def run_tests(native: str, record: Any) -> int:
        runs.append((native, record.done()))
        outcomes = {"a": "passed", "b": "failed"} if len(runs) == 1 else {"b": "passed", f"c{native}": "skipped"}
        with record.file.open("a") as file:
            file.writelines(json.dumps({"test": test, "outcome": was}) + "\n" for test, was in outcomes.items())
        record.add_seconds(90)
        return 2 if len(runs) == 1 else 0

    monkeypatch.setattr(copy, "run_tests", run_tests)
    monkeypatch.setattr(copy, "SELECTED", {"1": "slow"})
    before = (copy.ROOT / "docs" / "support.toml").read_text()
    assert copy.all_of_it("0123456789abcdef", is_clean=True) == 1
    assert (copy.ROOT / "docs" / "support.toml").read_text() == before
    assert copy.all_of_it("0123456789abcdef", is_clean=True) == 0
    assert runs == [("1", []), ("1", ["a"])]
    written = tomllib.loads((copy.ROOT / "docs" / "support.toml").read_text())
    counts = {key: written["slow_tail"][key] for key in ("revision", "passed", "failed", "skipped", "minutes")}
    assert counts == {"revision": "0123456789ab", "passed": 2, "failed": 0, "skipped": 1, "minutes": 3}
    assert {key: value for key, value in written.items() if key != "slow_tail"} == {
        key: value for key, value in tomllib.loads(before).items() if key != "slow_tail"
    }


def test_what_passed_at_another_revision_is_taken_over_and_counted_as_such(
    copy: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done = []

    def run_tests(native: str, record: Any) -> int:
        done.append(sorted(record.done()))
        outcomes = {"b": "passed", "new": "passed"}
        with record.file.open("a") as file:
            file.writelines(json.dumps({"test": test, "outcome": was}) + "\n" for test, was in outcomes.items())
        record.add_seconds(60)
        return 0

    monkeypatch.setattr(copy, "run_tests", run_tests)
    monkeypatch.setattr(copy, "SELECTED", {"1": "slow"})
    copy.STATE.mkdir()
    lines = [{"test": test, "outcome": was} for test, was in (("a", "passed"), ("b", "failed"), ("c", "skipped"))]
    (copy.STATE / "0123456789abcdef-1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert copy.all_of_it("fedcba9876543210", True, "0123456789abcdef") == 0
    assert done == [["a", "c"]]
    written = tomllib.loads((copy.ROOT / "docs" / "support.toml").read_text())["slow_tail"]
    assert (written["revision"], written["passed"], written["failed"], written["skipped"]) == ("fedcba987654", 3, 0, 1)
    assert written["earlier"] == {"0123456789ab": 2} and written["minutes"] == 1
    readmes = [(copy.ROOT / name).read_text() for name in ("README.md", "docs/README_CN.md")]
    assert "; 2 of these were run at 0123456789ab" in readmes[0] and "其中 2 个在 0123456789ab 上运行" in readmes[1]
    assert copy.all_of_it("fedcba9876543210", True, "aa") == 2
    assert "--since aa: there is no" in capsys.readouterr().err


def test_a_part_is_red_where_a_test_failed_or_none_was_run(copy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for outcomes, code, wanted in [(["passed"], 2, 0), (["failed"], 1, 1), ([], 2, 1), (["passed"], 3, 1)]:

        def run_tests(native: str, record: Any, outcomes: list[str] = outcomes, code: int = code, **_: Any) -> int:
            lines = [json.dumps({"test": str(number), "outcome": was}) for number, was in enumerate(outcomes)]
            record.file.write_text("\n".join(lines))
            return code

        monkeypatch.setattr(copy, "run_tests", run_tests)
        assert copy.a_part("0123456789abcdef", 5) == wanted


def test_a_sample_is_that_of_the_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMPLE_OF", "0123")
    assert revision() == "0123"


def test_a_case_that_is_rare_has_to_be_a_case() -> None:
    with pytest.raises(AssertionError):
        rarely("ab", "c")
