"""torch_musa.utils.musa_extension: its answers, its refusals, and projects that it builds and that run on the device.

Tests of the builder itself use sources without PyTorch's headers, because those compile in a second.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from musasim.base.cache import cache_path
from support.fresh_process import run

pytestmark = pytest.mark.once

SOURCES = Path(__file__).parent / "extension"

# A module without PyTorch's headers: one kernel that doubles numbers.
SMALL = """
#include <Python.h>
#include <musa_runtime.h>
#include "factor.h"

#define NAME_(x) PyInit_##x
#define NAME(x) NAME_(x)

__global__ void scale(int* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= FACTOR;
}

static PyObject* scaled(PyObject*, PyObject* argument) {
  int value = static_cast<int>(PyLong_AsLong(argument));
  int* memory = nullptr;
  if (musaMalloc(reinterpret_cast<void**>(&memory), sizeof value) != musaSuccess) return PyErr_NoMemory();
  musaMemcpy(memory, &value, sizeof value, musaMemcpyHostToDevice);
  scale<<<1, 32>>>(memory, 1);
  musaMemcpy(&value, memory, sizeof value, musaMemcpyDeviceToHost);
  musaFree(memory);
  return PyLong_FromLong(value);
}

static PyMethodDef functions[] = {{"scaled", scaled, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "small", nullptr, -1, functions};

PyMODINIT_FUNC NAME(TORCH_EXTENSION_NAME)() { return PyModule_Create(&definition); }
"""

# MUSAExtension does not name the runtime, and the code uses no other library that it names, so the linker may drop them all.
RUNTIME = 'libraries=["musart"]'

SETUP = """
import musasim; musasim.install()
import os
import torch
from setuptools import setup
from torch_musa.utils.musa_extension import BuildExtension, MUSAExtension

setup(
    name="project",
    ext_modules=[{extensions}],
    cmdclass={{"build_ext": BuildExtension.with_options({builder})}},
)
"""


def write_setup(folder: Path, extensions: list[str], builder: str = "") -> None:
    (folder / "setup.py").write_text(SETUP.format(extensions=", ".join(extensions), builder=builder))


def build_inplace(folder: Path, *, ok: bool = True, **env: str) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("TORCHADA_", "TORCH_MUSA_"))}
    done = subprocess.run(
        [sys.executable, "setup.py", "build_ext", "--inplace"],
        cwd=folder,
        env={**clean, "TORCHADA_DISABLE": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=500,
    )
    assert (done.returncode == 0) == ok, done.stdout
    return done.stdout


def write_small(folder: Path) -> None:
    (folder / "small.mu").write_text(SMALL)
    (folder / "factor.h").write_text("#define FACTOR 2\n")


@pytest.fixture
def builder(torch_musa: Any) -> Any:
    return torch_musa.musa_extension


def test_home_is_searched_for_in_torch_musas_order(tmp_path: Path) -> None:
    mcc = tmp_path / "toolkit" / "bin" / "mcc"
    mcc.parent.mkdir(parents=True)
    mcc.write_text("#!/bin/sh\n")
    mcc.chmod(0o755)
    code = """
        import os, torch, torch_musa
        from torch_musa.utils.musa_extension import _find_musa_home
        home = _find_musa_home()
        assert home.startswith("/"), home
        os.environ["PATH"] = os.environ["ITS_BIN"] + os.pathsep + os.environ["PATH"]
        assert _find_musa_home() == os.path.dirname(os.environ["ITS_BIN"])
        os.environ["MUSA_PATH"] = "/path"
        assert _find_musa_home() == "/path"
        os.environ["MUSA_HOME"] = "/home"
        assert _find_musa_home() == "/home"
    """
    run(code, ITS_BIN=str(mcc.parent), MUSA_HOME="", MUSA_PATH="")


def test_importing_torch_musa_does_not_import_the_builder() -> None:
    run("""
        import os, sys
        os.environ.pop("MAX_JOBS", None)
        import torch, torch_musa
        assert "torch_musa.utils.musa_extension" not in sys.modules and "MAX_JOBS" not in os.environ
        from torch_musa.utils.musa_extension import MUSAExtension
        assert os.environ["MAX_JOBS"] == str(os.cpu_count())
        assert torch.musa.MUSAExtension is MUSAExtension and torch_musa.utils.MUSAExtension is MUSAExtension
    """)


def test_architectures(builder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCH_MUSA_ARCH_LIST", raising=False)
    with pytest.warns(UserWarning, match="TORCH_MUSA_ARCH_LIST is not set"):
        assert builder._get_musa_arch_flags() == ["--offload-arch=mp_31"]
    monkeypatch.setenv("TORCH_MUSA_ARCH_LIST", "31;22")
    assert builder._get_musa_arch_flags() == ["--offload-arch=mp_22", "--offload-arch=mp_31"]
    monkeypatch.setenv("TORCH_MUSA_ARCH_LIST", "8.0")
    with pytest.raises(ValueError, match=r"8\.0"):
        builder._get_musa_arch_flags()


def test_any_architecture_is_taken_since_2_11_0_if_asked(builder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_MUSA_SKIP_ARCH_CHECK", "1")
    monkeypatch.setenv("TORCH_MUSA_ARCH_LIST", "9999")
    monkeypatch.setenv("MUSASIM_RELEASE", "2.9.1")
    with pytest.raises(ValueError, match="9999"):
        builder._get_musa_arch_flags()
    monkeypatch.setenv("MUSASIM_RELEASE", "2.11.0")
    assert builder._get_musa_arch_flags() == ["--offload-arch=mp_9999"]


def test_an_extension_is_made_with_the_toolkits_flags(builder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_MUSA_ARCH_LIST", "31")
    made = builder.MUSAExtension("a.b", ["a.mu"], include_dirs=["x"], extra_compile_args={"cxx": ["-O3"]})
    assert made.extra_compile_args["cxx"][0] == "-O3" and "--offload-arch=mp_31" in made.extra_compile_args["mcc"]
    assert made.include_dirs[0] == "x" and made.language == "c++"
    assert {"c10", "torch", "torch_cpu", "torch_python", "musa_python"} == set(made.libraries)
    assert all(
        (Path(builder.TORCH_MUSA_LIB_PATH) / f"lib{name}.so").exists() for name in ("musa_python", "musa_kernels")
    )
    assert any(argument.endswith(builder.TORCH_MUSA_LIB_PATH) for argument in made.extra_link_args)
    assert "dlink" not in vars(made)


def test_flags_in_a_list_fail_as_in_torch_musa(builder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_MUSA_ARCH_LIST", "31")
    with pytest.raises(AttributeError, match="list"):
        builder.MUSAExtension("a", ["a.mu"], extra_compile_args=["-O3"])


def test_sycl_is_refused(builder: Any, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="SYCL"):
        builder.load("a", ["a.cpp"], with_sycl=True, build_directory=str(tmp_path))


def test_a_home_that_is_missing_is_named(builder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "MUSA_HOME", None, raising=False)
    with pytest.raises(OSError, match="MUSA_HOME environment variable is not set"):
        builder.include_paths(musa=True)


def test_the_toolkits_libraries_need_a_lib_and_no_lib64(
    builder: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(builder, "MUSA_HOME", str(tmp_path), raising=False)
    assert str(tmp_path / "lib") not in builder.library_paths(musa=True)
    (tmp_path / "lib").mkdir()
    assert str(tmp_path / "lib") in builder.library_paths(musa=True)
    (tmp_path / "lib64").mkdir()
    assert str(tmp_path / "lib") not in builder.library_paths(musa=True)


def test_a_cu_file_is_not_recognised(tmp_path: Path) -> None:
    (tmp_path / "kernel.cu").write_text("int x;\n")
    write_setup(tmp_path, ['MUSAExtension("kernel", ["kernel.cu"])'], "use_ninja=False")
    assert "unknown file type '.cu'" in build_inplace(tmp_path, ok=False)


def write_two(folder: Path, prefix: str, builder: str) -> None:
    """One module from a .mu, and one from the same text in a .cpp, which mcc compiles because of "force_mcc"."""
    write_small(folder)
    (folder / "forced.cpp").write_text(SMALL)
    made = [
        f'MUSAExtension("{prefix}.small", ["small.mu"], {RUNTIME})',
        f'MUSAExtension("{prefix}.forced", ["forced.cpp"], {RUNTIME}, extra_compile_args={{"cxx": ["force_mcc"]}})',
    ]
    write_setup(folder, made, builder)
    (folder / prefix).mkdir(exist_ok=True)


@pytest.mark.full
def test_a_small_project_with_and_without_ninja(tmp_path: Path) -> None:
    write_two(tmp_path, "plain", "use_ninja=False")
    build_inplace(tmp_path)
    write_two(tmp_path, "by_ninja", "no_python_abi_suffix=True")
    build_inplace(tmp_path)
    assert (tmp_path / "by_ninja" / "small.so").exists()
    (tmp_path / "factor.h").write_text("#define FACTOR 3\n")  # mcc has reported to ninja that it read this file
    build_inplace(tmp_path)
    code = """
        import torch, torch_musa, plain.small, plain.forced, by_ninja.small, by_ninja.forced
        assert [module.scaled(21) for module in (plain.small, plain.forced)] == [42, 42]
        assert [module.scaled(21) for module in (by_ninja.small, by_ninja.forced)] == [63, 63]
    """
    run(code, PYTHONPATH=searched(tmp_path))


@pytest.mark.slow
def test_ninja_compiles_nothing_that_is_up_to_date(tmp_path: Path) -> None:
    write_two(tmp_path, "by_ninja", "")
    assert "ninja: no work to do" not in build_inplace(tmp_path)
    assert build_inplace(tmp_path).count("ninja: no work to do") == 2


@pytest.mark.full
def test_load_compiles_again_only_after_a_change(tmp_path: Path) -> None:
    write_small(tmp_path)
    folder = tmp_path / "build"
    folder.mkdir()
    code = """
        import os, torch, torch_musa
        from torch_musa.utils.musa_extension import load, _get_build_directory
        def built(**options):
            return load("small", [os.environ["SOURCE"]], build_directory=os.environ["BUILD"], **options)
        assert built().scaled(21) == 42
        assert built(extra_musa_cflags=["-DUNUSED"]).scaled(3) == 6
        assert sorted(name for name in os.listdir(os.environ["BUILD"]) if name.endswith(".so")) == ["small.so", "small_v1.so"]
        try:
            built(extra_musa_cflags=["-no-such-flag"])
        except RuntimeError as error:
            assert "no-such-flag" in str(error), error
        else:
            raise AssertionError
        os.environ.pop("TORCH_EXTENSIONS_DIR", None)
        assert _get_build_directory("x", False).endswith(f"_mu{torch.version.musa}/x")
    """
    # The cache of the compiled simulator stays the same, because compiling it again takes minutes.
    env = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "MUSASIM_CACHE_DIR": str(cache_path())}
    run(code, SOURCE=str(tmp_path / "small.mu"), BUILD=str(folder), **env)


def searched(folder: Path) -> str:
    return os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])


HOST = """
    import glob, os, torch, torch_musa
    for path in glob.glob(os.environ["PROJECT"] + "/project/*.so"):
        torch.ops.load_library(path)
    host, kernels = torch.ops.extension_host, torch.ops.extension_kernels
    torch.musa.set_device(1)
    assert host.current().tolist() == [0, 1, 0]
    stream = torch.musa.Stream(priority=-1)
    with torch.musa.stream(stream):
        assert host.current().tolist() == [stream.musa_stream, 1, -1]
        seen = host.guards(0).tolist()
    assert seen[0::2] == [1, 0, 0, 1] and seen[1] == seen[7] == stream.musa_stream, seen
    assert seen[3] == 0 and seen[5] not in (0, stream.musa_stream), seen
    x = torch.ones(5, dtype=torch.uint8, device="musa:0")
    filled = host.filled_like(x, 7)
    assert filled.device == x.device and filled.tolist() == [7] * 5 and torch.musa.current_device() == 1
    assert host.twice(x).tolist() == [2] * 5
    assert host.wait(1000.0) == 1
    assert host.scratch(1 << 20) == 1
    try:
        host.fail()
    except RuntimeError as error:
        assert "MUSA error: invalid device ordinal" in str(error), error
    else:
        raise AssertionError
    try:
        host.twice(torch.ones(2))
    except NotImplementedError:
        pass
    else:
        raise AssertionError
"""

KERNELS = """
    generator = torch.Generator().manual_seed(0)
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        a, b = (torch.randn(1000, generator=generator).to(dtype) for _ in range(2))
        expected = (a.float() + 0.5 * b.float()).to(dtype)
        for device in ("musa:0", "musa:1"):
            out = kernels.add_scaled(a.to(device), b.to(device), 0.5)
            assert out.device == torch.device(device) and torch.equal(out.cpu(), expected), (dtype, device)
    bins = torch.randint(7, (500,), generator=generator)
    for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float64):
        ones = torch.ones(500, dtype=dtype)
        out = kernels.count(bins.to("musa"), ones.to("musa"), 7)
        assert out.cpu().tolist() == torch.bincount(bins, minlength=7).tolist(), (dtype, out)
    values = torch.arange(1000, dtype=torch.float32)
    with torch.musa.stream(torch.musa.Stream()):
        assert kernels.sum(values.to("musa"), 256).item() == values.sum().item()
    try:
        kernels.sum(values.to("musa"), 1 << 20)
    except RuntimeError as error:
        assert "MUSA error: invalid configuration argument" in str(error), error
    else:
        raise AssertionError
    assert kernels.sum(values.to("musa"), 64).item() == values.sum().item()

    like = torch.zeros(1, dtype=torch.int64, device="musa")
    torch.musa.manual_seed(5)
    assert [kernels.draw(like, count).tolist() for count in (3, 5, 1)] == [[5, 0], [5, 4], [5, 12]]
    a, b = (torch.full((4,), value, device="musa") for value in (1.0, 2.0))
    graph = torch.musa.MUSAGraph()
    with torch.musa.graph(graph):
        captured = kernels.add_scaled(a, b, 0.5) * 2
        drawn = kernels.draw(like, 7)
    for value in (3.0, 5.0):
        a.fill_(value)
        graph.replay()
        assert captured.tolist() == [2 * value + 2] * 4
        assert drawn.tolist() == [5, 16 + 8 * (value == 5.0)], drawn
    assert kernels.draw(like, 1).tolist() == [5, 32]
"""


@pytest.mark.slow
def test_a_project_with_the_headers_of_torch_and_torch_musa(tmp_path: Path) -> None:
    """Host code and kernels, built by ninja, give the CPU's numbers on both devices and on other streams."""
    for source in SOURCES.iterdir():
        (tmp_path / source.name).write_bytes(source.read_bytes())
    (tmp_path / "project").mkdir()
    made = [
        f'MUSAExtension("project.{source.stem}", ["{source.name}"], extra_compile_args={{"cxx": ["-O0"], "mcc": ["-O0"]}})'
        for source in sorted(SOURCES.iterdir())
    ]
    write_setup(tmp_path, made)
    build_inplace(tmp_path)
    run(HOST + KERNELS, PROJECT=str(tmp_path))


@pytest.mark.slow
def test_load_inline(tmp_path: Path) -> None:
    code = """
        import torch, torch_musa
        from torch_musa.utils.musa_extension import load_inline
        kernel = '''
        __global__ void square(const float* in, float* out, int count) {
          const int i = blockIdx.x * blockDim.x + threadIdx.x;
          if (i < count) out[i] = in[i] * in[i];
        }
        torch::Tensor squared(torch::Tensor in) {
          auto out = torch::empty_like(in);
          square<<<(in.numel() + 63) / 64, 64>>>(in.data_ptr<float>(), out.data_ptr<float>(), in.numel());
          return out;
        }
        '''
        module = load_inline("inline_test", "torch::Tensor squared(torch::Tensor in);", kernel, functions={"squared": "x * x"})
        x = torch.randn(100)
        assert torch.equal(module.squared(x.to("musa")).cpu(), x * x) and "x * x" in module.squared.__doc__
    """
    run(code, TORCH_EXTENSIONS_DIR=str(tmp_path))
