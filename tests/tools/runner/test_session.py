"""Tasks run in a process of their own: one that crashes or hangs is a result, and the others are run all the same."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchada.tools.runner.child import Ended
from torchada.tools.runner.session import Program, Session

pytestmark = pytest.mark.once

WORKER = """
import ctypes, json, os, subprocess, sys, time

def act(name):
    if name == "segfault":
        ctypes.string_at(0)
    if name == "exit":
        os._exit(3)
    if name == "hang":
        time.sleep(1000)
    if name == "child":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
        print("child", child.pid, file=sys.stderr, flush=True)
        time.sleep(1000)
    if name == "print":
        print('{"outcome": "printed"}', flush=True)
    return {"outcome": "passed", "pid": os.getpid(), "is_usable": name != "unusable"}

import torchada.tools.runner.worker as serve
serve.surroundings = lambda: {"problem": None}
serve.serve(lambda: [{"name": "a"}], act)
"""


@pytest.fixture
def program(tmp_path: Path) -> Program:
    (tmp_path / "some_worker.py").write_text(WORKER)
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    return Program("some_worker", (), {"PYTHONPATH": path})


@pytest.fixture
def session(program: Program) -> Iterator[Session]:
    with Session(program) as session:
        yield session


def outcomes(session: Session, *names: str, limit: float = 60) -> list[str]:
    return [answer["outcome"] for _, answer in session.run([{"name": name, "limit": limit} for name in names])]


def test_the_process_says_which_tasks_there_are(session: Session) -> None:
    assert session.greeting == {"tasks": [{"name": "a"}], "problem": None}


def test_the_tasks_share_a_process(session: Session) -> None:
    tasks = [{"name": name, "limit": 60} for name in "ab"]
    assert len({answer["pid"] for _, answer in session.run(tasks)}) == 1


@pytest.mark.parametrize("fault", ["segfault", "exit"])
def test_after_a_task_that_ends_the_process_the_next_has_another(session: Session, fault: str) -> None:
    assert outcomes(session, "a", fault, "b", fault, "c") == ["passed", "crashed", "passed", "crashed", "passed"]


def test_a_crash_says_how_the_process_ended_and_where_it_was(session: Session) -> None:
    (_, crash), (_, exit_) = session.run([{"name": name, "limit": 60} for name in ("segfault", "exit")])
    assert crash["detail"] == "the process was ended by SIGSEGV" and "in act" in crash["log"]
    assert exit_["detail"] == "the process ended with exit code 3" and exit_["log"] == ""


def test_a_task_that_takes_too_long_is_ended(session: Session) -> None:
    assert outcomes(session, "hang", limit=0.2) == ["timed out"]
    assert outcomes(session, "a") == ["passed"]


@pytest.mark.full
def test_what_a_task_has_started_is_ended_with_it(session: Session) -> None:
    ((_, answer),) = session.run([{"name": "child", "limit": 5}])
    child = int(answer["log"].split()[-1])
    end = time.monotonic() + 60  # it has been killed; when it is gone is up to the kernel
    while not has_ended(child) and time.monotonic() < end:
        time.sleep(0.01)
    assert has_ended(child)


def has_ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_what_a_task_prints_is_not_taken_for_its_answer(session: Session) -> None:
    assert outcomes(session, "print", "a") == ["passed", "passed"]


def test_a_device_that_cannot_be_used_any_more_gets_a_new_process(session: Session) -> None:
    tasks = [{"name": name, "limit": 60} for name in ("a", "unusable", "b")]
    pids = [answer["pid"] for _, answer in session.run(tasks)]
    assert pids[0] == pids[1] != pids[2]


def test_a_process_that_does_not_come_so_far_as_to_greet_is_an_error(program: Program, tmp_path: Path) -> None:
    (tmp_path / "some_worker.py").write_text("raise ImportError('no driver')")
    with pytest.raises(Ended, match="the process ended with exit code 1") as caught:
        Session(program)
    assert "no driver" in caught.value.log


def test_nothing_of_the_current_folder_is_executed(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "ctypes.py").write_text("raise SystemExit('this is not the library')")
    monkeypatch.chdir(folder)
    with Session(program) as session:
        assert outcomes(session, "a") == ["passed"]
