"""The C part of the native mechanism, without torch and without Python; also for another processor, if the tools exist."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from support.interpreter import ROOT, STAND_INS

NATIVE = ROOT / "src" / "torchada" / "redirect" / "native"
PROGRAM = STAND_INS / "linked_function_program.c"

DEFINES = "int value(void) { return 1; }"
CALLS = "int value(void); int call(void) { return value(); }"
# The compiler and the emulator for another processor, for example
#   CROSS_CC="python -m ziglang cc -target aarch64-linux-gnu.2.28" CROSS_RUN="qemu-aarch64-static -L /usr/aarch64-linux-gnu"
CROSS_CC, CROSS_RUN = os.environ.get("CROSS_CC"), os.environ.get("CROSS_RUN")


@pytest.mark.parametrize("cross", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_calls_are_redirected_and_put_back(tmp_path: Path, cross: bool) -> None:
    compiler, runner = (shlex.split(CROSS_CC or ""), shlex.split(CROSS_RUN or "")) if cross else (["cc"], [])
    if not compiler or shutil.which(compiler[0]) is None:
        pytest.skip("CROSS_CC and CROSS_RUN name no compiler and emulator" if cross else "needs a C compiler")
    common = [*compiler, "-Wall", "-Wextra", "-Werror", "-O1"]

    def build(name: str, code: str, *options: str) -> None:
        source = tmp_path / f"{name}.c"
        source.write_text(code)
        command = [*common, "-fPIC", "-shared", str(source), "-o", str(tmp_path / f"lib{name}.so")]
        subprocess.run([*command, *options], check=True)

    build("defines", DEFINES)
    for number in ("1", "2"):
        linked = [f"-L{tmp_path}", "-ldefines", f"-Wl,-rpath,{tmp_path}"]
        build(f"lazy{number}", CALLS, *linked, "-Wl,-z,lazy", "-Wl,-z,norelro")
        build(f"now{number}", CALLS, *linked, "-fno-plt", "-Wl,-z,now", "-Wl,-z,relro")
    program = [str(PROGRAM), str(NATIVE / "linked_function.c"), f"-I{NATIVE}", "-ldl", "-o", str(tmp_path / "program")]
    subprocess.run([*common, *program], check=True)
    done = subprocess.run(
        [*runner, str(tmp_path / "program"), str(tmp_path)], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout) == (0, "led there and back\n"), done.stderr
