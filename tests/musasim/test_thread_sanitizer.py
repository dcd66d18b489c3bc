"""ThreadSanitizer finds no race in the simulated runtime while threads use its memory, streams, events and copies."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.interpreter import ROOT, STAND_INS

MUSART = ROOT / "src" / "musasim" / "musart"
OPTIONS = ["-std=c++20", "-O1", "-g", "-fsanitize=thread", "-pthread", f"-I{MUSART / 'include'}"]
PROGRAM = str(STAND_INS / "runtime_threads.cpp")


@pytest.mark.slow
@pytest.mark.once
@pytest.mark.skipif(sys.platform != "linux" or shutil.which("g++") is None, reason="needs Linux and g++")
def test_threads_of_the_runtime_do_not_race(tmp_path: Path) -> None:
    for command in (
        ["g++", *OPTIONS, f"-I{MUSART}", "-fPIC", "-shared", str(MUSART / "musart.cpp"), "-o", "libmusart.so"],
        ["g++", *OPTIONS, PROGRAM, "./libmusart.so", "-Wl,-rpath,$ORIGIN", "-o", "threads"],
    ):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900)
        if "libtsan" in done.stderr:
            pytest.skip("the compiler has no ThreadSanitizer")
        assert done.returncode == 0, done.stderr
    done = subprocess.run(["./threads", "50"], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr[-4000:]
    assert done.stdout == "done\n"
