"""An entry is built once, appears as a whole, and is given only as it was stored, whatever other processes and disks do."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from _torchada_cache import cache as cache_module
from _torchada_cache.cache import Cache
from _torchada_cache.errors import CacheError
from _torchada_cache.locks import locked

# A program that builds an entry: it tells of each step in a file, and takes as long as somebody else lets it.
BUILDER = """
import os, sys, time
from pathlib import Path
from _torchada_cache.cache import Cache

def build(place):
    with open(os.environ["LOG"], "a") as log:
        log.write("built\\n")
    (place / "half").write_text("x")
    while not os.path.exists(os.environ["GO"]):
        time.sleep(0.01)
    (place / "lib.so").write_text("library")

cache = Cache("program", "PROGRAM_CACHE_DIR", Path(os.environ["CACHE"]))
print(cache.get("entry", build))
"""


def library(place: Path) -> None:
    (place / "lib.so").write_text("library")


def names(cache: Cache) -> list[str]:
    return sorted(path.name for path in cache.folder.iterdir() if not path.name.endswith("lock"))


class Builders:
    """Processes that build the same entry at the same time."""

    def __init__(self, cache: Cache, folder: Path) -> None:
        self.log, self.go = folder / "log", folder / "go"
        self.log.touch()
        self.env = {**os.environ, "CACHE": str(cache.folder), "LOG": str(self.log), "GO": str(self.go)}

    def start(self) -> subprocess.Popen[str]:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen([sys.executable, "-c", BUILDER], env=self.env, text=True, **pipes)  # type: ignore[call-overload]

    def wait_until_one_builds(self) -> None:
        while not self.log.read_text():
            pass


@pytest.fixture
def builders(cache: Cache, tmp_path: Path) -> Builders:
    return Builders(cache, tmp_path)


def test_an_entry_is_built_once(cache: Cache) -> None:
    built: list[Path] = []

    def build(place: Path) -> None:
        built.append(place)
        library(place)

    first = cache.get("entry", build)
    assert (first / "lib.so").read_text() == "library" and first == cache.folder / "entry"
    assert cache.get("entry", build) == first == cache.find("entry") and len(built) == 1
    assert names(cache) == ["entry"]


def test_an_entry_is_busy_while_it_is_built(cache: Cache) -> None:
    seen = []

    def build(place: Path) -> None:
        seen.append([cache.is_busy("entry"), cache.is_busy("another")])
        library(place)

    assert not cache.is_busy("entry")
    cache.get("entry", build)
    assert seen == [[True, False]] and not cache.is_busy("entry")


def test_a_damaged_entry_is_built_anew(cache: Cache, capsys: pytest.CaptureFixture[str]) -> None:
    entry = cache.get("entry", library)
    loaded = (entry / "lib.so").open()  # by a process that still runs
    (entry / "lib.so").write_text("lib")
    assert cache.find("entry") is None
    assert (cache.get("entry", library) / "lib.so").read_text() == "library"
    assert names(cache) == ["entry"] and cache.find("entry") == entry
    assert f"program: {entry} is rebuilt: lib.so has changed since it was stored" in capsys.readouterr().err
    with loaded:
        assert loaded.read() == "lib", "never written to in place"


def test_damage_is_said_though_the_entry_cannot_be_built_anew(cache: Cache, capsys: pytest.CaptureFixture[str]) -> None:
    entry = cache.get("entry", library)
    (entry / "lib.so").write_text("lib")

    def fail(place: Path) -> None:
        raise RuntimeError("no compiler")

    with pytest.raises(RuntimeError):
        cache.get("entry", fail)
    assert "lib.so has changed since it was stored" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["file", "link", "folder"])
def test_a_file_in_place_of_an_entry_gives_way(cache: Cache, tmp_path: Path, kind: str) -> None:
    cache.open()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "kept").touch()
    place = cache.folder / "entry"
    if kind == "file":
        place.write_text("x")
    elif kind == "link":
        place.symlink_to(tmp_path / "other")
    else:
        (place / "below").mkdir(parents=True)
    assert (cache.get("entry", library) / "lib.so").read_text() == "library"
    assert not place.is_symlink() and names(cache) == ["entry"] and (tmp_path / "other" / "kept").exists()


def test_a_build_that_fails_leaves_nothing_and_is_tried_again(cache: Cache) -> None:
    def fail(place: Path) -> None:
        (place / "half").touch()
        raise RuntimeError("no compiler")

    with pytest.raises(RuntimeError, match="no compiler"):
        cache.get("entry", fail)
    assert names(cache) == [] and cache.find("entry") is None
    cache.get("entry", library)
    assert names(cache) == ["entry"]


def test_an_entry_that_is_whole_needs_no_lock(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    """It can be used from a disk that is read-only, as those of container images are."""
    cache.get("entry", library)
    monkeypatch.setattr(cache_module, "locked", None)
    monkeypatch.setattr(tempfile, "mkdtemp", None)
    assert cache.get("entry", library) == cache.folder / "entry"


def test_several_processes_build_an_entry_once(builders: Builders) -> None:
    started = [builders.start() for _ in range(4)]
    builders.wait_until_one_builds()
    builders.go.touch()
    done = [(process.communicate(timeout=60), process.returncode) for process in started]
    assert {status for _, status in done} == {0}, done
    assert len({out for (out, _), _ in done}) == 1 and builders.log.read_text() == "built\n"


def test_a_killed_builder_leaves_neither_lock_nor_folder(builders: Builders, cache: Cache) -> None:
    process = builders.start()
    builders.wait_until_one_builds()
    waiting = builders.start()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    builders.go.touch()
    _, errors = waiting.communicate(timeout=60)
    assert waiting.returncode == 0, errors
    assert builders.log.read_text() == "built\n" * 2 and names(cache) == ["entry"]


# The parent holds the lock and has a child that outlives the block, or the parent itself.
FORKING = """
import os, signal, sys, time
from pathlib import Path
from _torchada_cache.cache import Cache

cache = Cache("program", "PROGRAM_CACHE_DIR", Path(os.environ["CACHE"]))
block = cache.lock("entry")
ready, is_ready = os.pipe()
with block:
    child = os.fork()
    if child == 0:
        os.write(is_ready, b"1")
        if os.environ["CASE"] == "leaves":
            block.__exit__(None, None, None)
            os._exit(0)
        time.sleep(600)
    os.read(ready, 1)  # a child has let go of the lock once Python runs in it
    if os.environ["CASE"] == "leaves":
        os.waitpid(child, 0)
    print(child, flush=True)
    if os.environ["CASE"] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if os.environ["CASE"] == "leaves":
        sys.stdin.read()
print("left", flush=True)
sys.stdin.read()
"""


def is_locked(cache: Cache) -> bool:
    with (cache.folder / "entry.lock").open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@pytest.mark.parametrize(("case", "expected"), [("kept", False), ("killed", False), ("leaves", True)])
def test_a_lock_is_its_holders_and_no_forked_childs(cache: Cache, case: str, expected: bool) -> None:
    """Free once the holder has left the block or is dead, though a child of it lives; held though a child has left the block."""
    env = {**os.environ, "CACHE": str(cache.folder), "CASE": case}
    command = [sys.executable, "-c", FORKING]
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        child = int(process.stdout.readline())
        if case == "kept":
            assert process.stdout.readline() == "left\n"
        if case == "killed":
            process.wait()
        try:
            assert is_locked(cache) is expected
        finally:
            process.stdin.close()
            if case != "leaves":
                os.kill(child, signal.SIGKILL)


# A child is forked, as another thread may do, while the parent asks whether the entry is being built.
ASKING = """
import fcntl, os, sys, time
from pathlib import Path
from _torchada_cache.cache import Cache

plain = fcntl.flock
def flock(descriptor, how):
    plain(descriptor, how)
    if how & fcntl.LOCK_SH:
        child = os.fork()
        if child == 0:
            time.sleep(600)
        print(child, flush=True)
fcntl.flock = flock
assert not Cache("program", "PROGRAM_CACHE_DIR", Path(os.environ["CACHE"])).is_busy("entry")
print("asked", flush=True)
"""


def test_who_asks_whether_an_entry_is_busy_leaves_no_lock_to_a_child(cache: Cache) -> None:
    cache.get("entry", library)
    env = {**os.environ, "CACHE": str(cache.folder)}
    with subprocess.Popen([sys.executable, "-c", ASKING], env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        try:
            assert process.stdout.readline() == "asked\n"
            assert not is_locked(cache)
        finally:
            os.kill(child, signal.SIGKILL)


def test_a_file_system_without_locks_builds_all_the_same(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    """Perhaps twice; whoever comes second takes what is there, and touches no folder that another may be building in."""

    def flock(*_: object) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr("fcntl.flock", flock)
    cache.open()
    (cache.folder / "tmp-entry-other").mkdir()

    def build(place: Path) -> None:
        with cache.stored("entry") as faster:
            (faster / "lib.so").write_text("faster")
        library(place)

    assert (cache.get("entry", build) / "lib.so").read_text() == "faster"
    assert names(cache) == ["entry", "tmp-entry-other"]


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.EPERM])
def test_a_folder_that_cannot_be_written_to_names_the_way_out(
    cache: Cache, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(path: str, *_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number), path)

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(
        CacheError, match=r"the cache .* of program cannot be used: .*; set PROGRAM_CACHE_DIR to a folder of your own"
    ):
        cache.get("entry", library)


@pytest.mark.parametrize("names_file", [True, False])
def test_a_full_disk_names_the_way_out(cache: Cache, names_file: bool) -> None:
    def fill(place: Path) -> None:
        file = [str(place / "lib.so")] if names_file else []
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), *file)

    with pytest.raises(CacheError, match=r"no space left on the disk .* set PROGRAM_CACHE_DIR"):
        cache.get("entry", fill)
    assert names(cache) == []


def test_an_error_of_another_file_is_not_taken_for_the_caches(cache: Cache) -> None:
    with pytest.raises(FileNotFoundError, match="compiler"):
        cache.get("entry", lambda place: os.stat("/no/such/compiler"))  # type: ignore[arg-type, return-value]


def test_a_folder_that_is_not_private_names_the_way_out(cache: Cache) -> None:
    cache.open()
    cache.folder.chmod(0o777)
    with pytest.raises(
        CacheError, match=r"not private: .* run `chmod go-w .*, or set PROGRAM_CACHE_DIR to a folder of"
    ):
        cache.find("entry")


def test_clearing_removes_a_link_and_nothing_behind_it(cache: Cache, tmp_path: Path) -> None:
    """Somebody may have moved a large entry to another disk."""
    cache.get("large", lambda place: None)
    (cache.folder / "large").rename(tmp_path / "moved")
    (cache.folder / "large").symlink_to(tmp_path / "moved")
    assert cache.clear() == 1 and not (cache.folder / "large").is_symlink()
    assert (tmp_path / "moved" / "manifest.json").is_file()


def test_the_next_build_of_any_entry_removes_what_killed_builds_have_left_a_day_ago(cache: Cache) -> None:
    """The entry of a killed build may never be built again: with another PyTorch it has another name."""
    for name in ("killed", "busy", "young"):
        cache.get(name, library)
    for name, days in {"killed": 2, "busy": 2, "young": 0, "unlocked": 2}.items():
        place = cache.folder / f"tmp-{name}-12345678"
        place.mkdir()
        os.utime(place, times=(time.time() - days * 86400,) * 2)
    with locked(cache.folder / "busy.lock", "waiting"):
        cache.get("entry", library)
    left = {path.name for path in cache.folder.glob("tmp-*")}
    assert left == {f"tmp-{name}-12345678" for name in ("busy", "young", "unlocked")}


def test_clearing_removes_entries_and_what_killed_builds_have_left(cache: Cache) -> None:
    assert cache.clear() == 0 and not cache.folder.exists()
    cache.get("one", library)
    cache.get("two", library)
    (cache.folder / "tmp-three-x").mkdir()
    assert cache.clear() == 2
    assert [path.name for path in cache.folder.iterdir()] == ["lock"]
