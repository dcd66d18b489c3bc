"""torch.utils.cpp_extension as a setup.py asks it, in a process of its own kind: imported after, and before, what it is asked."""

from __future__ import annotations

import ctypes
import os
import pickle
import re
import subprocess
from pathlib import Path

import pytest
import torch
from torch.utils import cpp_extension

import torchada
from support.interpreter import Interpreter

pytestmark = [pytest.mark.musa, pytest.mark.once]

# What torch's own file says, whoever has changed the module: None of a build for the CPU.
COMPILED_FOR = re.search(r"^cuda\b.*= (.+)$", Path(torch.version.__file__).read_text(), re.MULTILINE)[1]  # type: ignore[index]
KERNEL = """
#include <cuda_runtime.h>

__global__ void kernel(const float* x, float* y, int n) {
  if (threadIdx.x < n) y[threadIdx.x] = 2 * x[threadIdx.x] + 1;
}

extern "C" int run(const float* x, float* y, int n) {
  kernel<<<1, n>>>(x, y, n);
  return cudaDeviceSynchronize();
}
"""


def test_cuda_home_is_a_folder_with_nvcc() -> None:
    home = cpp_extension.CUDA_HOME
    assert home is not None and os.path.isdir(home)
    assert home == torchada.CUDA_HOME == cpp_extension._find_cuda_home()
    assert torchada.utils.cpp_extension.CUDAExtension is cpp_extension.CUDAExtension
    assert cpp_extension._join_cuda_home("bin") == os.path.join(home, "bin")
    assert os.path.join(home, "include") in cpp_extension.include_paths("cuda")
    assert os.path.join(home, "lib64") in cpp_extension.library_paths(device_type="cuda")
    assert home not in "".join(cpp_extension.include_paths())
    assert Path(home, "lib64", "libcudart.so").read_text().startswith("INPUT(")
    assert cpp_extension._get_cuda_arch_flags() == ["--offload-arch=mp_31"]
    assert repr(torch.version.cuda) == COMPILED_FOR and not torch.cuda.is_available()


def test_nvcc_says_its_version() -> None:
    nvcc = os.path.join(cpp_extension.CUDA_HOME, "bin", "nvcc")
    said = subprocess.check_output([nvcc, "--version"], text=True)
    assert "release 11.8, V11.8.0" in said and said.splitlines()[-1].startswith("Build cuda_11.8")
    if torch.version.cuda is None:  # a build for CUDA compares versions, and has one of its own
        cpp_extension._check_cuda_version("g++", cpp_extension.TorchVersion("12.2"))
    refused = subprocess.run([nvcc, "-ptx", "x.cu"], capture_output=True, text=True)
    assert refused.returncode == 1 and "nvcc's -ptx has no equivalent" in refused.stderr
    nothing = subprocess.run([nvcc, "-c", "nowhere.cu"], capture_output=True, text=True)
    assert nothing.returncode == 1 and "nowhere.cu: no such source" in nothing.stderr


def test_an_extension_is_what_it_was() -> None:
    """Classes stay classes, and what a setup.py made is its own: only while it is built is it another."""
    extension = cpp_extension.CUDAExtension("name", ["x.cu"], extra_compile_args=["-O2"])
    assert extension.sources == ["x.cu"] and extension.extra_compile_args == ["-O2"]
    assert {"cudart", "c10_cuda", "torch_cuda"} <= set(extension.libraries)

    class Build(cpp_extension.BuildExtension):
        pass

    assert issubclass(Build.with_options(use_ninja=False), cpp_extension.BuildExtension)


@pytest.mark.full
def test_everything_is_put_back(musa: Interpreter, tmp_path: Path) -> None:
    musa.run(
        """
        from torch.utils import cpp_extension
        from torch.utils.cpp_extension import BuildExtension, include_paths
        import torchada, torch
        kept = dict(vars(cpp_extension))
        build = vars(BuildExtension)["build_extensions"]
        assert cpp_extension.CUDA_HOME is not None
        torchada.disable()
        assert cpp_extension.CUDA_HOME == (cpp_extension._find_cuda_home() if torch.cuda._is_compiled() else None)
        assert not cpp_extension._is_cuda_file("x.mu")
        assert vars(BuildExtension)["build_extensions"] is not build
        torchada.enable()
        assert vars(BuildExtension)["build_extensions"] is build
        assert {name: vars(cpp_extension)[name] for name in kept} == kept
        """,
        env={"TORCHADA_CACHE_DIR": str(tmp_path)},
    )


def test_torchs_own_functions_find_cuda_home_where_they_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """In their module, where it is not before somebody asks; what a program has put there stays."""
    assert "CUDA_HOME" not in vars(cpp_extension) and cpp_extension.CUDA_HOME == torchada.CUDA_HOME
    with pytest.raises(AttributeError, match=r"module 'torch\.utils\.cpp_extension' has no attribute 'CUDA_HOUSE'"):
        getattr(cpp_extension, "CUDA_HOUSE")  # noqa: B009
    if torch.version.cuda is None:
        cpp_extension._check_cuda_version("g++", cpp_extension.TorchVersion("12.2"))
    assert "CUDA_HOME" not in vars(cpp_extension)
    monkeypatch.setattr(cpp_extension, "CUDA_HOME", "/nowhere")
    with pytest.raises((FileNotFoundError, RuntimeError), match="/nowhere"):
        cpp_extension._check_cuda_version("g++", cpp_extension.TorchVersion("12.2"))
    assert cpp_extension.CUDA_HOME == "/nowhere"


@pytest.mark.full
def test_a_cache_that_cannot_be_used_is_an_error_of_the_build(musa: Interpreter, tmp_path: Path) -> None:
    """A program that imports the name goes on, with one warning; under TORCHADA_STRICT=1 it does not."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    code = """
        import torch.utils.cpp_extension as built
        from torch.utils.cpp_extension import CUDA_HOME
        assert CUDA_HOME is built.CUDA_HOME is None
        try:
            built.include_paths("cuda")
        except RuntimeError as error:
            assert "can be written to by others" in str(error)
        else:
            raise AssertionError
    """
    env = {"TORCHADA_CACHE_DIR": str(tmp_path / "cache"), "TORCHADA_STRICT": "0"}
    assert musa.run(code, env=env).stderr.count("set TORCHADA_CACHE_DIR to a folder of your own") == 1
    refused = musa.run(code, env={**env, "TORCHADA_STRICT": "1"}, check=False)
    assert refused.returncode != 0 and "TorchadaError" in refused.stderr


def test_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """A kernel that a program builds: ported in the build folder, compiled once, linked with what stands in."""
    monkeypatch.setenv("MAX_JOBS", "2")
    (tmp_path / "cuda.cu").write_text(KERNEL)

    def build() -> str:
        return cpp_extension.load(
            "kernel",
            [str(tmp_path / "cuda.cu")],
            extra_cuda_cflags=["-O3", "--use_fast_math", "-gencode=arch=compute_80,code=sm_80", "--threads=2"],
            extra_ldflags=["-lcudart"],
            build_directory=str(tmp_path),
            is_python_module=False,
        )

    library = build()
    assert "nvcc's --threads=2 is not passed to mcc" in capfd.readouterr().err
    x, y = torch.arange(8.0, device="cuda"), torch.zeros(8, device="cuda")
    run = ctypes.CDLL(library).run
    assert run(ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(y.data_ptr()), 8) == 0
    assert torch.equal(y.cpu(), 2 * torch.arange(8.0) + 1)
    assert (tmp_path / "cuda.cu").read_text() == KERNEL
    assert "musaDeviceSynchronize" in (tmp_path / "torchada" / "cuda.mu").read_text()
    assert "depfile = $out.d" in (tmp_path / "build.ninja").read_text().split("rule cuda_compile")[1].split("rule ")[0]
    before = os.stat(library).st_mtime_ns
    cpp_extension.JIT_EXTENSION_VERSIONER.entries.clear()  # as in another process
    assert build() == library
    assert os.stat(library).st_mtime_ns == before


@pytest.mark.full
@pytest.mark.parametrize("excluded", [None, "vendored", "{folder}/vendored:elsewhere", "nothing,vendored"])
def test_headers_of_an_excluded_folder_stay_as_they_are(
    musa: Interpreter, tmp_path: Path, excluded: str | None
) -> None:
    (tmp_path / "vendored").mkdir()
    (tmp_path / "vendored" / "word.cuh").write_text(
        "#define TEXT(x) #x\ninline const char* word() { return TEXT(cudaFree); }\n"
    )
    (tmp_path / "own.cuh").write_text("inline const char* own() { return TEXT(cudaMalloc); }\n")
    source = tmp_path / "words.cu"
    source.write_text(
        '#include "vendored/word.cuh"\n#include "own.cuh"\n'
        'extern "C" const char* given(int own_one) { return own_one ? own() : word(); }\n'
    )
    (tmp_path / "made").mkdir()
    code = f"""
    import ctypes, json
    from torch.utils import cpp_extension
    made = cpp_extension.load("words", [{str(source)!r}], build_directory={str(tmp_path / "made")!r}, is_python_module=False)
    given = ctypes.CDLL(made).given
    given.restype = ctypes.c_char_p
    print(json.dumps([given(number).decode() for number in (0, 1)]))
    """
    env = {} if excluded is None else {"TORCHADA_EXCLUDE_DIRS": excluded.format(folder=tmp_path)}
    words = musa.json(code, env={"MAX_JOBS": "1", **env}, timeout=600)
    assert words == ["musaFree" if excluded is None else "cudaFree", "musaMalloc"]


@pytest.mark.slow
def test_load_inline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the headers that torch puts before the sources, and the bindings that it writes."""
    monkeypatch.setenv("MAX_JOBS", "2")
    module = cpp_extension.load_inline(
        "inline_kernel",
        cpp_sources="at::Tensor doubled(at::Tensor x);",
        cuda_sources="""
        __global__ void kernel(const float* x, float* y, int n) {
          if (threadIdx.x < n) y[threadIdx.x] = 2 * x[threadIdx.x];
        }
        at::Tensor doubled(at::Tensor x) {
          TORCH_CHECK(x.is_cuda());
          auto y = at::empty_like(x);
          kernel<<<1, x.numel()>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
          return y;
        }
        """,
        functions=["doubled"],
        extra_cflags=["-O0"],
        extra_cuda_cflags=["-O0"],
        build_directory=str(tmp_path),
    )
    x = torch.arange(8.0)
    assert torch.equal(module.doubled(x.cuda()).cpu(), 2 * x)


def test_load_says_what_it_cannot(tmp_path: Path) -> None:
    (tmp_path / "kernel.cu").write_text('__global__ void kernel() { asm volatile("bar.sync 1, 64;"); undeclared(); }\n')
    with pytest.raises(RuntimeError, match=str(tmp_path / "kernel.cu") + ":1:"):
        cpp_extension.load(
            "broken", [str(tmp_path / "kernel.cu")], build_directory=str(tmp_path), is_python_module=False
        )


def test_build_folders_are_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCH_EXTENSIONS_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert "_musa" in cpp_extension._get_build_directory("name", False)
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "own"))
    assert cpp_extension._get_build_directory("name", False) == str(tmp_path / "own" / "name")


@pytest.mark.full
def test_the_version_of_cuda_in_a_setup_script(musa: Interpreter, tmp_path: Path) -> None:
    """The compiler's for code that knows CUDA alone, and for all code in a setup.py where torch has one, because torch compares."""
    code = "import torch; print(repr(torch.version.cuda), torch.cuda.is_available())"
    forced, told = {"TORCHADA_FORCE_CUDA_AVAILABLE": "1"}, {"TORCHADA_VIEW": "musa"}
    (tmp_path / "setup.py").write_text(code)
    assert musa.run(["setup.py"]).stdout.split() == ["'11.8'", "True"]
    assert musa.run(["setup.py"], env={**forced, **told}).stdout.split() == ["'11.8'", "True"]
    own = "None" if COMPILED_FOR == "None" else "'11.8'"
    assert musa.run(["setup.py"], env=told).stdout.split() == [own, "False"]
    assert musa.run(code, env={**forced, **told}).stdout.split() == [COMPILED_FOR, "True"]


@pytest.mark.slow
def test_history_of_memory_from_cpp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A source for the host that calls functions of torch::cuda, as PyTorch's own test of them does."""
    monkeypatch.setenv("MAX_JOBS", "2")
    module = cpp_extension.load_inline(
        "memory_history",
        cpp_sources="""
        #include <torch/csrc/cuda/memory_snapshot.h>
        py::bytes snapshot() { return py::bytes(torch::cuda::_memory_snapshot_pickled()); }
        void record(bool on) { torch::cuda::_record_memory_history(on, on, 10, on, on); }
        void record_all() { torch::cuda::_record_memory_history("all", "alloc", "python", 10); }
        void stop() { torch::cuda::_record_memory_history(std::nullopt); }
        """,
        functions=["snapshot", "record", "record_all", "stop"],
        extra_cflags=["-O0"],
        build_directory=str(tmp_path),
    )
    module.record(True)
    x = torch.rand(311, 411, device="cuda")
    found = pickle.loads(module.snapshot())
    blocks = [block for segment in found["segments"] for block in segment["blocks"]]
    (frames,) = (block["frames"] for block in blocks if block["requested_size"] == x.nbytes)
    text = str(frames)
    assert "test_cpp_extension.py" in text and "rand" in text
    module.record(False)
    module.record_all()
    y = torch.rand(313, 411, device="cuda")
    module.stop()
    assert torch.cuda.memory._snapshot()["segments"] and y.is_cuda


@pytest.mark.slow
def test_the_handle_of_blas_that_the_process_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Extensions ask PyTorch for a handle instead of making one; it is for the current stream."""
    monkeypatch.setenv("MAX_JOBS", "2")
    (tmp_path / "multiply.cu").write_text(
        """
        #include <ATen/cuda/CUDAContext.h>
        #include <cublas_v2.h>

        extern "C" int multiply(const float* a, const float* b, float* c, int n) {
          const float one = 1, zero = 0;
          cublasHandle_t handle = at::cuda::getCurrentCUDABlasHandle();
          cudaStream_t stream = nullptr;
          if (cublasGetStream(handle, &stream) != 0 || stream != at::cuda::getCurrentCUDAStream().stream()) return -1;
          if (handle != at::cuda::getCurrentCUDABlasHandle()) return -2;
          return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &zero, c, n);
        }
        """
    )
    library = cpp_extension.load(
        "multiply",
        [str(tmp_path / "multiply.cu")],
        extra_cuda_cflags=["-O0"],
        extra_ldflags=["-lcublas"],
        build_directory=str(tmp_path),
        is_python_module=False,
    )
    multiply = ctypes.CDLL(library).multiply
    a, b = torch.randn(2, 5, 5)
    for stream in (torch.cuda.default_stream(), torch.cuda.Stream()):
        with torch.cuda.stream(stream):
            on = a.cuda(), b.cuda(), torch.zeros(5, 5, device="cuda")
            assert multiply(*(ctypes.c_void_p(each.data_ptr()) for each in on), 5) == 0
            torch.testing.assert_close(on[2].cpu(), b @ a)  # BLAS's matrices are stored by columns
