"""Unchanged setup.py projects build for the device, compute what the CPU does, and are left as they were.

Their kernels are plain C functions, so that a compiler needs a second for each: y = 2x + 1, in many ways.
"""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from support.interpreter import Interpreter

PROJECTS = Path(__file__).parent / "projects"
FORCED = {"TORCHADA_FORCE_CUDA_AVAILABLE": "1"}

pytestmark = [pytest.mark.musa, pytest.mark.once]


@pytest.fixture
def build(musa: Interpreter, tmp_path_factory: pytest.TempPathFactory) -> Interpreter:
    """Runs a project's setup.py with caches of our own, shared by the tests of this process."""
    cache = tmp_path_factory.getbasetemp() / "caches"
    musa.env.update(TORCHADA_CACHE_DIR=str(cache), MAX_JOBS="2")
    return musa


def checksums(folder: Path) -> dict[str, str]:
    """Of every file below `folder` that a build does not make itself."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not {"build", "__pycache__"} & set(path.relative_to(folder).parts)
    }


def copied(name: str, tmp_path: Path) -> Path:
    shutil.copytree(PROJECTS / name, tmp_path / name, symlinks=True)
    return tmp_path / name


def check(library: Path, name: str = "run") -> None:
    """The library's kernel does on the device what the CPU does."""
    x = torch.arange(100, dtype=torch.float32)
    mine, result = x.cuda(), torch.zeros(100, device="cuda:0")
    torch.cuda.synchronize()
    # As on CUDA, an error that an earlier test made is kept until somebody asks for it, which the library's function does.
    ctypes.CDLL("libcudart.so").cudaGetLastError()
    function = getattr(ctypes.CDLL(str(library)), name)
    assert function(ctypes.c_void_p(mine.data_ptr()), ctypes.c_void_p(result.data_ptr()), 100) == 0
    assert result.device.type == "musa"
    assert torch.equal(result.cpu(), 2 * x + 1)


def built(folder: Path, name: str) -> Path:
    found = [path for path in folder.rglob(f"{name}*.so") if "build" not in path.relative_to(folder).parts]
    assert len(found) == 1, found
    return found[0]


SLOW = pytest.mark.slow


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "env", "said"),
    [
        pytest.param("flags", {}, "nvcc's -maxrregcount=64 is not passed to mcc", id="flags"),
        pytest.param("compiler_version", FORCED, "", id="compiler_version", marks=SLOW),
        pytest.param("without_ninja", {}, "", id="without_ninja"),
        pytest.param("direct", {}, "", id="direct"),
        pytest.param("root_sources", {}, "", id="root_sources", marks=SLOW),
        pytest.param("gated", FORCED, "", id="gated", marks=SLOW),
        pytest.param("subclassed", {}, "nvcc's -Xptxas -v is not passed to mcc", id="subclassed", marks=SLOW),
        pytest.param("host_only", {}, "", id="host_only", marks=SLOW),
        pytest.param("encodings", {}, "", id="encodings", marks=SLOW),
        pytest.param("vendor", {}, "", id="vendor", marks=SLOW),
        pytest.param(
            "mixed", {}, "extra_compile_args of mixed has the key 'typo', which names no compiler", id="mixed"
        ),
    ],
)
def test_in_place(name: str, env: dict[str, str], said: str, build: Interpreter, tmp_path: Path) -> None:
    folder = copied(name, tmp_path)
    before = checksums(folder)
    build.cwd = folder
    done = build.run(["setup.py", "build_ext", "--inplace"], env=env)
    assert said in done.stderr
    after = checksums(folder)
    assert {path: after.get(path) for path in before} == before
    assert all(path.endswith(".so") for path in set(after) - set(before))
    check(built(folder, name))


@pytest.mark.slow
def test_sources_and_headers_outside_of_the_project(build: Interpreter, tmp_path: Path) -> None:
    """Ported where the build is and nowhere else; a second build does nothing; a changed header is noticed, and errors are ours."""
    tree = copied("outside", tmp_path)
    before = checksums(tree)
    build.cwd = tree / "project"
    build.run(["setup.py", "build_ext", "--inplace"])
    after = checksums(tree)
    assert {path: after.get(path) for path in before} == before
    assert [Path(path).suffix for path in set(after) - set(before)] == [".so"]
    check(built(tree / "project", "outside"))
    assert "no work to do" in build.run(["setup.py", "build_ext", "--inplace"]).stdout
    header = tree / "shared" / "detail.h"
    header.write_text(header.read_text().replace("cudaStreamSynchronize(", "undeclared("))
    failed = build.run(["setup.py", "build_ext", "--inplace"], check=False)
    assert failed.returncode != 0
    assert f"{header}:2:" in failed.stdout + failed.stderr


@pytest.mark.slow
def test_a_new_header_compiles_only_what_includes_it(build: Interpreter, tmp_path: Path) -> None:
    """Which files there are matters to how each is ported; what comes out the same is not compiled again."""
    tree = copied("outside", tmp_path)
    build.cwd = tree / "project"

    def compiled() -> dict[str, int]:
        build.run(["setup.py", "build_ext", "--inplace"])
        return {path.name: path.stat().st_mtime_ns for path in (tree / "project" / "build").rglob("*.o")}

    before = compiled()
    header = tree / "shared" / "arithmetic.cuh"
    (tree / "shared" / "new.cuh").write_text("#define ONE 1.0f\n")
    header.write_text('#include "new.cuh"\n' + header.read_text().replace("1.0f", "ONE"))
    after = compiled()
    assert [name for name, when in after.items() if when != before[name]] == ["kernel.o"] and len(before) == 3
    check(built(tree / "project", "outside"))


@pytest.mark.full
def test_dependencies_name_the_users_files(build: Interpreter, tmp_path: Path) -> None:
    """Also a header that a generated source includes by its absolute path, from folders with a space and a dollar."""
    headers, out = tmp_path / "my headers", tmp_path / "build $1"
    headers.mkdir()
    out.mkdir()
    (headers / "inner.cuh").write_text("#include <cuda_runtime.h>\ninline cudaStream_t none() { return nullptr; }\n")
    (headers / "outer.cuh").write_text('#include "inner.cuh"\ninline cudaStream_t no_stream() { return none(); }\n')
    (out / "unit.cu").write_text(f'#include "{headers}/outer.cuh"\ncudaStream_t stream() {{ return no_stream(); }}\n')
    home = build.run("from torch.utils.cpp_extension import CUDA_HOME; print(CUDA_HOME)").stdout.split()[-1]
    command = [f"{home}/bin/nvcc", "-MD", "-MF", "unit.o.d", "-c", "unit.cu", "-o", "unit.o"]
    build.run(f"import subprocess; subprocess.run({command!r}, cwd={str(out)!r}, check=True)")
    rule = (out / "unit.o.d").read_text().replace("\\\n", " ").replace("\\ ", "\0").replace("$$", "$")
    named = [each.replace("\0", " ") for each in rule.split()]
    assert {str(out / "unit.cu"), str(headers / "outer.cuh"), str(headers / "inner.cuh")} < set(named)
    assert not any(".torchada" in each for each in named)


def test_by_pip(build: Interpreter, tmp_path: Path) -> None:
    """A package with two extensions, through setuptools' build backend."""
    pytest.importorskip("pip")
    folder, target = copied("package", tmp_path), tmp_path / "installed"
    before = checksums(folder)
    pip = ["-m", "pip", "install", "--no-build-isolation", "--no-deps", "--no-index", "--disable-pip-version-check"]
    build.run([*pip, "--target", str(target), str(folder)])
    assert {path: value for path, value in checksums(folder).items() if "egg-info" not in path} == before
    check(built(target, "_C"))
    check(built(target, "_second"))


@pytest.mark.full
@pytest.mark.skipif(shutil.which("cmake") is None, reason="CMake is not installed")
def test_by_cmake(build: Interpreter, tmp_path: Path) -> None:
    """With the language CUDA, whose compiler is the nvcc in CUDA_HOME; one of its sources is compiled by the host's compiler."""
    folder, out = copied("by_cmake", tmp_path), tmp_path / "out"
    before = checksums(folder)
    home = build.run("from torch.utils.cpp_extension import CUDA_HOME; print(CUDA_HOME)").stdout.split()[-1]
    start = "import subprocess, sys; sys.exit(subprocess.call(['cmake', *sys.argv[1:]]))"
    for arguments in (["-S", str(folder), "-B", str(out)], ["--build", str(out)]):
        done = build.run(["-c", start, *arguments], env={"CUDACXX": f"{home}/bin/nvcc", "CXXFLAGS": "-g0"})
        assert "Detecting CUDA compiler ABI info - failed" not in done.stdout
    (told,) = out.glob("CMakeFiles/*/CMakeCUDACompiler.cmake")
    assert 'COMPILER_ID "NVIDIA"' in told.read_text() and 'COMPILER_VERSION "11.8.0"' in told.read_text()
    assert checksums(folder) == before
    assert subprocess.run([out / "program"], capture_output=True, text=True, check=True).stdout == "0 3 5 7\n"
    check(built(out, "libby_cmake"))


CMAKE = "import subprocess, sys; sys.exit(subprocess.call(['cmake', *sys.argv[1:]]))"


@pytest.mark.full
@pytest.mark.skipif(shutil.which("cmake") is None, reason="CMake is not installed")
def test_by_cmake_with_find_package_torch(build: Interpreter, tmp_path: Path) -> None:
    """As vLLM builds: PyTorch's package says that there is CUDA, and C++ with PyTorch's names for it is ported as kernels are."""
    folder, out, target = copied("torch_by_cmake", tmp_path), tmp_path / "out", tmp_path / "installed"
    before = checksums(folder)
    python = f"-DPython_EXECUTABLE={sys.executable}"
    configure = ["-S", str(folder), "-B", str(out), python, f"-DCMAKE_INSTALL_PREFIX={target}"]
    for arguments in (configure, ["--build", str(out), "--target", "install"]):
        build.run(["-c", CMAKE, *arguments], env={"CXXFLAGS": "-g0"})
    assert checksums(folder) == before
    check(built(out, "libtorch_by_cmake"))
    assert built(target, "libtorch_by_cmake").parent == target / "lib"


@pytest.mark.full
@pytest.mark.skipif(shutil.which("cmake") is None, reason="CMake is not installed")
def test_find_package_torch_refuses_another_compiler_for_cuda(build: Interpreter, tmp_path: Path) -> None:
    """Its objects would be NVIDIA's: the message names both programs, before anything is compiled."""
    folder, nvcc = copied("torch_by_cmake", tmp_path), tmp_path / "nvcc"
    home = build.run("from torch.utils.cpp_extension import CUDA_HOME; print(CUDA_HOME)").stdout.split()[-1]
    nvcc.write_text(f'#!/bin/sh\nexec {home}/bin/nvcc "$@"\n')
    nvcc.chmod(0o755)
    arguments = ["-S", str(folder), "-B", str(tmp_path / "out"), f"-DPython_EXECUTABLE={sys.executable}"]
    failed = build.run(["-c", CMAKE, *arguments], env={"CUDACXX": str(nvcc)}, check=False)
    told = " ".join(failed.stderr.split())
    assert failed.returncode != 0
    assert f"the language CUDA is compiled by {nvcc}" in told and f"CUDACXX={home}/bin/nvcc" in told


@pytest.mark.full
@pytest.mark.skipif(shutil.which("cmake") is None, reason="CMake is not installed")
def test_by_cmake_with_the_language_before_pytorchs_package(build: Interpreter, tmp_path: Path) -> None:
    """As SGLang builds: the environment says where the language's compiler is; libraries of CUDA's have bare names."""
    folder, out, target = copied("cuda_before_torch", tmp_path), tmp_path / "out", tmp_path / "installed"
    before = checksums(folder)
    configure = [
        "-S",
        str(folder),
        "-B",
        str(out),
        f"-DPython_EXECUTABLE={sys.executable}",
        f"-DCMAKE_INSTALL_PREFIX={target}",
    ]
    for arguments in (configure, ["--build", str(out), "--target", "install"]):
        build.run(["-m", "torchada", "build", "cmake", *arguments], env={"CXXFLAGS": "-g0"})
    assert checksums(folder) == before
    check(built(target, "cuda_before_torch"))


OLD_PROJECT = """\
cmake_minimum_required(VERSION 3.8)
project(old LANGUAGES CXX)
list(APPEND CMAKE_PREFIX_PATH "{torch}")
find_package(Torch REQUIRED)
file(WRITE "${{CMAKE_BINARY_DIR}}/found" "${{CUDA_VERSION}}")
"""


@pytest.mark.full
@pytest.mark.skipif(shutil.which("cmake") is None, reason="CMake is not installed")
def test_a_project_for_an_old_cmake_finds_the_same_package(build: Interpreter, tmp_path: Path) -> None:
    """As fast_rnnt: its policies overlook Torch_ROOT, and it names PyTorch's folder, which is searched before the environment's."""
    torch = Path(build.run("import torch; print(torch.__file__)").stdout.split()[-1]).parent
    (tmp_path / "CMakeLists.txt").write_text(OLD_PROJECT.format(torch=torch))
    out = tmp_path / "out"
    build.run(["-m", "torchada", "build", "cmake", "-Wno-dev", "-S", str(tmp_path), "-B", str(out)])
    assert (out / "found").read_text() == "11.8"
    mine = f"-DTorch_DIR={torch}/share/cmake/Torch"
    build.run(["-m", "torchada", "build", "cmake", "-Wno-dev", "-S", str(tmp_path), "-B", str(tmp_path / "mine"), mine])
    assert (tmp_path / "mine" / "found").read_text() == ""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "backend"), [("by_scikit_build", "scikit_build_core"), ("by_meson", "mesonpy")])
def test_by_other_build_backends(name: str, backend: str, build: Interpreter, tmp_path: Path) -> None:
    """Both find CUDA by what `torchada build` says in the environment, the first one PyTorch's package too."""
    pytest.importorskip(backend)
    folder, target = copied(name, tmp_path), tmp_path / "installed"
    before = checksums(folder)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--no-build-isolation",
        "--no-deps",
        "--no-index",
        "--target",
        str(target),
    ]
    build.run(["-m", "torchada", "build", *pip, str(folder)])
    assert checksums(folder) == before
    check(built(target, f"lib{name}"))


@pytest.mark.full
def test_a_build_that_finds_no_cuda_says_what_to_do(build: Interpreter, tmp_path: Path) -> None:
    """Where it sees MUSA, the project builds without its kernels, and is not left without a word."""
    folder = copied("gated", tmp_path)
    build.cwd = folder
    said = build.run(["setup.py", "build_ext", "--inplace"], env={"TORCHADA_VIEW": "musa"}).stderr
    assert "no extension is built with CUDA, though there is csrc/gated_cuda.cu" in said
    assert "TORCHADA_FORCE_CUDA_AVAILABLE=1" in said


@pytest.mark.full
def test_without_a_toolkit(build: Interpreter, tmp_path: Path) -> None:
    """One error, which names the variable."""
    build.cwd = copied("root_sources", tmp_path)
    failed = build.run(
        ["setup.py", "build_ext", "--inplace"], env={"MUSA_HOME": str(tmp_path / "nowhere")}, check=False
    )
    assert failed.returncode != 0
    assert f"{tmp_path / 'nowhere' / 'bin' / 'mcc'} is not a program; MUSA_HOME must be" in failed.stderr


@pytest.mark.slow
def test_operators(build: Interpreter, tmp_path: Path) -> None:
    """With torch's headers: a kernel registered for CUDA, on the current stream, is what runs on the device."""
    folder = copied("operators", tmp_path)
    before = checksums(folder)
    build.cwd = folder
    build.run(["setup.py", "build_ext", "--inplace"], timeout=1500)
    after = checksums(folder)
    assert {path: after.get(path) for path in before} == before
    build.run(
        """
        import torch, operators
        x = torch.randn(1000)
        scaled = torch.ops.operators_test.scaled
        with torch.cuda.stream(torch.cuda.Stream()):
            result = scaled(x.cuda(), 3.0)
        torch.cuda.synchronize()
        assert result.is_cuda and torch.allclose(result.cpu(), scaled(x, 3.0))
        """
    )


@pytest.mark.slow
def test_an_editable_installation(build: Interpreter, tmp_path: Path) -> None:
    """By the hook that `pip install -e` and `setup.py develop` call: the libraries come to lie in the project."""
    build.cwd = copied("package", tmp_path)
    build.run(f"from setuptools import build_meta; build_meta.build_editable({str(tmp_path)!r})")
    check(built(build.cwd / "src", "_C"))
    check(built(build.cwd / "src", "_second"))


@pytest.mark.slow
def test_a_wheel(build: Interpreter, tmp_path: Path) -> None:
    build.cwd = copied("package", tmp_path)
    build.run(["setup.py", "bdist_wheel", "--dist-dir", str(tmp_path)])
    (wheel,) = tmp_path.glob("*.whl")
    shutil.unpack_archive(wheel, tmp_path / "unpacked", "zip")
    check(built(tmp_path / "unpacked", "_C"))


CALLS = """
import torch
torch.ops.load_library({library!r})
ops = torch.ops.torchada_stable_test
for dtype in (torch.float32, torch.float16):
    x = torch.randn(100, dtype=dtype, device="cuda")[::2]
    out = torch.empty(50, dtype=dtype, device="cuda")
    assert ops.negate(out, x) is None and torch.equal(out, -x)
    assert torch.equal(ops.scaled(out, 2.0), 2 * out)
    assert torch.equal(ops.scaled(out, 2.0, x), x)
with torch.cuda.stream(torch.cuda.Stream()):
    assert torch.equal(ops.scaled(out, 3.0), 3 * out)
y = torch.arange(24.0, device="cuda:1").view(4, 6)[1:, ::2]
flat, told = ops.description(y, True)
assert torch.equal(flat, y.flatten()) and flat.device == y.device
assert told == (6 * 10 + 3 + 6) * 10 + 3 + 2 and ops.description(y, False)[1] == 6
assert ops.handle_follows_streams(x)
try:
    ops.negate(out.long(), x.long())
except RuntimeError as error:
    assert "not implemented for 'Long'" in str(error), error
else:
    raise AssertionError("an unknown type was accepted")
print("right")
"""


@pytest.mark.slow
def test_operators_by_the_stable_abi(build: Interpreter, tmp_path: Path) -> None:
    """As vllm-musa builds them: CUDA's names in the sources, our headers before torch's, and the kernels run on the device."""
    folder = copied("stable", tmp_path)
    before = checksums(folder)
    build.cwd = folder
    build.run(["setup.py", "build_ext", "--inplace"], timeout=1500)
    after = checksums(folder)
    assert {path: after.get(path) for path in before} == before
    assert build.run(CALLS.format(library=str(built(folder, "stable")))).stdout == "right\n"
