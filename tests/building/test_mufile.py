"""An extension that names cuFile is linked with muFile where the toolkit has it, and builds without it where it has not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support.interpreter import Interpreter

pytestmark = [pytest.mark.musa, pytest.mark.once]

SETUP = """
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="storage",
    ext_modules=[CUDAExtension("storage", ["storage.cpp"], **{asked})],
    cmdclass={{"build_ext": BuildExtension.with_options(use_ninja=False, no_python_abi_suffix=True)}},
)
"""
USED = '#include <cufile.h>\nextern "C" int run() { return cuFileDriverOpen().err; }\n'
NAMED = '#include <cuda_runtime.h>\nextern "C" int run() { return cudaDeviceSynchronize() + 42; }\n'
# As programs that call muFile declare it. The simulator has none.
HEADER = 'typedef struct { int err; } MUfileError_t;\nextern "C" MUfileError_t muFileDriverOpen(void);\n'
LIBRARY = '#include "mufile.h"\nMUfileError_t muFileDriverOpen(void) { return {42}; }\n'
RUN = "import ctypes, torch; torch.cuda.init(); print(ctypes.CDLL('./storage.so').run())"


@pytest.fixture
def project(musa: Interpreter, tmp_path: Path) -> Path:
    """A folder for a project, and an interpreter that builds in it."""
    folder = tmp_path / "project"
    folder.mkdir()
    musa.cwd = folder
    musa.env["TORCHADA_CACHE_DIR"] = str(tmp_path / "caches")
    return folder


def built(musa: Interpreter, project: Path, source: str, asked: str) -> str:
    """What the build says."""
    (project / "setup.py").write_text(SETUP.format(asked=asked))
    (project / "storage.cpp").write_text(source)
    return musa.run(["setup.py", "build_ext", "--inplace"]).stderr


def with_mufile(musa: Interpreter, home: Path) -> None:
    """Let MUSA_HOME be the simulator's toolkit with a muFile in it."""
    of_simulator = Path(musa.run(["-c", "from musasim.toolkit import home; print(home())"]).stdout.splitlines()[-1])
    for folder in ("bin", "include", "lib"):
        (home / folder).mkdir(parents=True)
        for entry in (of_simulator / folder).iterdir():
            (home / folder / entry.name).symlink_to(entry)
    (home / "include" / "mufile.h").write_text(HEADER)
    (home / "mufile.cpp").write_text(LIBRARY)
    library = home / "lib" / "libmufile.so"
    command = ["g++", "-shared", "-fPIC", f"-I{home}/include", f"{home}/mufile.cpp", "-Wl,-soname,libmufile.so"]
    subprocess.run([*command, "-o", library], check=True)
    musa.env["MUSA_HOME"] = str(home)


@pytest.mark.full
@pytest.mark.parametrize(
    "asked", ['{"libraries": ["cufile"]}', '{"extra_link_args": ["-lcufile"]}'], ids=["libraries", "link_args"]
)
def test_an_extension_for_cufile_calls_mufile(asked: str, musa: Interpreter, project: Path, tmp_path: Path) -> None:
    with_mufile(musa, tmp_path / "home")
    assert "left out" not in built(musa, project, USED, asked)
    assert musa.run(["-c", RUN]).stdout.split()[-1] == "42"


@pytest.mark.full
def test_an_extension_that_only_names_cufile_builds_without_mufile(musa: Interpreter, project: Path) -> None:
    said = built(musa, project, NAMED, '{"libraries": ["cufile"], "extra_link_args": ["-lcufile"]}')
    assert "library cufile is left out: on MUSA it is mufile, and there is no libmufile in" in said
    assert musa.run(["-c", RUN]).stdout.split()[-1] == "42"
