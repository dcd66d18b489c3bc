"""TORCHADA_PRECOMPILED_HEADERS=1: the ninja file of a build starts the program that keeps PyTorch's header compiled."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.interpreter import Interpreter

pytestmark = [pytest.mark.musa, pytest.mark.once, pytest.mark.full]

# A header of torch's name, because torch's own takes half a minute.
BUILD = """
import inspect, os, pathlib, subprocess
import torch.utils.cpp_extension as builder

pathlib.Path("include/torch").mkdir(parents=True, exist_ok=True)
pathlib.Path("include/torch/extension.h").write_text("#pragma once\\nint answer();\\n")
pathlib.Path("main.cpp").write_text("#include <torch/extension.h>\\nint answer() { return 42; }\\n")
given = {name: None for name in inspect.signature(builder._write_ninja_file).parameters}
files = dict(path="build.ninja", sources=[os.path.abspath("main.cpp")], objects=["main.o"])
builder._write_ninja_file(**{**given, **files, "cflags": [f"-isystem {os.path.abspath('include')}"], "with_cuda": False})
builder._run_ninja_build(os.getcwd(), False, "the build")
assert os.path.isfile("main.o")
"""


@pytest.mark.parametrize("wanted", ["1", "0"])
def test_a_build_keeps_the_header_where_that_is_asked_for(musa: Interpreter, tmp_path: Path, wanted: str) -> None:
    musa.cwd = tmp_path
    musa.run(BUILD, env={"TORCHADA_CACHE_DIR": str(tmp_path / "cache"), "TORCHADA_PRECOMPILED_HEADERS": wanted})
    kept = list((tmp_path / "cache").rglob("extension.h.gch"))
    assert len(kept) == int(wanted)
    assert ("with-precompiled-headers" in (tmp_path / "build.ninja").read_text()) == (wanted == "1")


def test_a_header_that_is_kept_is_used_from_then_on(musa: Interpreter, tmp_path: Path) -> None:
    musa.cwd = tmp_path
    started = []
    for wanted in ("auto", "1", "auto", "0"):
        env = {"TORCHADA_CACHE_DIR": str(tmp_path / "cache"), "TORCHADA_PRECOMPILED_HEADERS": wanted}
        musa.run(BUILD, env=env)
        started.append("with-precompiled-headers" in (tmp_path / "build.ninja").read_text())
    assert started == [False, True, True, False]
