"""Real file systems that are full, have no inodes left, or may only be read: a message, and nothing that is half written is used.

Each is a file system in memory of a process of its own. Who may not mount one skips these tests.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.interpreter import ROOT

pytestmark = pytest.mark.once

SCRIPT = """
import os, shutil, sys
from pathlib import Path
from _torchada_cache.cache import Cache
from _torchada_cache.errors import CacheError

root = Path(sys.argv[1])
cache = Cache("program", "PROGRAM_CACHE_DIR", root / "cache")

def build(place):
    for number in range(COUNT):
        (place / f"{number}.so").write_bytes(b"x" * SIZE)

def refused(name):
    try:
        cache.get(name, build)
    except CacheError as error:
        return str(error)
    raise AssertionError("it was stored")

def entries():
    return sorted(path.name for path in cache.folder.iterdir() if path.is_dir())
"""


def run_on(tmp_path: Path, options: str, script: str, size: int = 1, count: int = 1) -> None:
    """Run a script whose first argument is a file system in memory with these options of mount."""
    place = tmp_path / "disk"
    place.mkdir()
    program = f"SIZE, COUNT = {size}, {count}\n{SCRIPT}{script}"
    inside = 'mount -t tmpfs -o "$1" tmpfs "$2" && shift && exec "$PYTHON" -c "$PROGRAM" "$1"'
    environment = {**os.environ, "PYTHON": sys.executable, "PROGRAM": program, "PYTHONPATH": str(ROOT / "src")}
    command = ["unshare", "--mount", "sh", "-c", inside, "sh", f"mode=700,{options}", str(place)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.fixture(autouse=True)
def _may_mount(tmp_path: Path) -> None:
    if sys.platform != "linux" or shutil.which("unshare") is None:
        pytest.skip("needs unshare of Linux")
    command = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", str(tmp_path)]
    if subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("needs the right to mount a file system in memory")


FREES_SPACE = """
message = refused("entry")
assert "no space left on the disk that holds the cache" in message and "set PROGRAM_CACHE_DIR" in message, message
assert entries() == []
FREE
assert cache.get("entry", build) == cache.find("entry") and entries() == ["entry"]
"""


def test_a_full_disk_stores_nothing_until_there_is_space(tmp_path: Path) -> None:
    free = '(root / "ballast").unlink()'
    script = '(root / "ballast").write_bytes(b"x" * 700_000)\n' + FREES_SPACE.replace("FREE", free)
    run_on(tmp_path, "size=1m", script, size=500_000)


def test_a_disk_without_inodes_stores_nothing_until_there_are_some(tmp_path: Path) -> None:
    free = 'shutil.rmtree(root / "ballast")'
    fill = '(root / "ballast").mkdir()\nfor number in range(20): (root / "ballast" / str(number)).touch()\n'
    run_on(tmp_path, "nr_inodes=30", fill + FREES_SPACE.replace("FREE", free), count=10)


def test_a_full_disk_takes_no_entry_that_is_whole_away(tmp_path: Path) -> None:
    script = """
cache.get("old", lambda place: (place / "a.so").write_bytes(b"old"))
refused("new")
assert cache.find("old") is not None and entries() == ["old"]
"""
    run_on(tmp_path, "size=1m", script, size=2_000_000)


def test_what_is_stored_is_used_where_nothing_can_be_written(tmp_path: Path) -> None:
    script = """
entry = cache.get("entry", build)
assert os.system(f"mount -o remount,ro '{root}'") == 0
assert cache.get("entry", build) == entry
message = refused("another")
assert "cannot be used" in message and "Read-only file system" in message and "set PROGRAM_CACHE_DIR" in message, message
"""
    run_on(tmp_path, "size=1m", script)
