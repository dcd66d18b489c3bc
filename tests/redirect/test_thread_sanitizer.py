"""ThreadSanitizer finds no race in the native mechanism while threads read device strings and another one arms and disarms it.

A library of the test's has the constructor that the mechanism finds by name; the rest is the very source of the mechanism.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.interpreter import ROOT, STAND_INS

NATIVE = ROOT / "src" / "torchada" / "redirect" / "native"
# What follows the mechanism's source, up to where Python's part begins.
BEGINNING_OF_PYTHON = "static PyObject *error("
PARSER = """
static replacement musa = {.name = "musa"};
int parser_arm(void)
{
    if (constructor.address == 0 && find_function(&constructor))
        return 0;
    atomic_store(&device_type, &musa);
    return lead_calls(&constructor, constructor.address, (uintptr_t)redirected_constructor) == NULL;
}
void parser_disarm(void)
{
    atomic_store(&device_type, NULL);
    lead_calls(&constructor, (uintptr_t)redirected_constructor, constructor.address);
}
#endif
"""
DEVICE = """
#include <string>
namespace c10 {
struct Device {
    explicit Device(const std::string &name);
    signed char type, index;
};
Device::Device(const std::string &name)
    : type(name.rfind("cuda", 0) == 0 ? 1 : name.rfind("musa", 0) == 0 ? 20 : name == "cpu" ? 0 : -1), index(0) {}
}
"""
PROGRAM, PROGRAM_OPTIONS = STAND_INS / "device_parser_threads.cpp", ["-Wl,-rpath,$ORIGIN", "-o", "threads"]
OPTIONS = ["-O1", "-g", "-fPIC", "-fsanitize=thread", "-pthread", "-w"]


@pytest.mark.slow
@pytest.mark.once
@pytest.mark.skipif(sys.platform != "linux" or shutil.which("g++") is None, reason="needs Linux and g++")
def test_arming_and_reading_at_the_same_time_is_no_race(tmp_path: Path) -> None:
    mechanism, beginning, _ = (NATIVE / "device_parser.c").read_text().partition(BEGINNING_OF_PYTHON)
    assert beginning
    (tmp_path / "parser.c").write_text(mechanism.replace("#include <Python.h>\n", "") + PARSER)
    (tmp_path / "device.cpp").write_text(DEVICE)

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)

    for command in (
        ["g++", *OPTIONS, "-shared", "device.cpp", "-o", "libdevice.so"],
        ["gcc", *OPTIONS, f"-I{NATIVE}", "-c", "parser.c", str(NATIVE / "linked_function.c")],
        ["g++", *OPTIONS, str(PROGRAM), "parser.o", "linked_function.o", "./libdevice.so", *PROGRAM_OPTIONS],
    ):
        done = run(*command)
        if "libtsan" in done.stderr:
            pytest.skip("the compiler has no ThreadSanitizer")
        assert done.returncode == 0, done.stderr
    done = run("./threads", "300")
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stdout + done.stderr[-4000:]
    assert done.stdout.startswith("0 wrong of ")
