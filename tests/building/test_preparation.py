"""What an extension becomes while it is built, and which files of whom are ported for it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from setuptools import Extension

from support.toolkits import musa
from torchada.building.closure import closure
from torchada.building.cuda_home import cuda_home, toolkit_of
from torchada.building.errors import BuildError
from torchada.building.extension import is_own_source, prepared
from torchada.building.jit import adapted
from torchada.building.ninja import with_dependencies
from torchada.building.nvcc import Line, ported
from torchada.building.stable_abi import stable_include_dir
from torchada.building.toolkit import Toolkit

pytestmark = pytest.mark.once


@pytest.fixture
def toolkit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toolkit:
    """A toolkit with a compiler that only says what it is given."""
    for name in ("TORCH_MUSA_ARCH_LIST", "TORCH_CUDA_ARCH_LIST", "PYTORCH_MCC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    home = tmp_path / "musa"
    for folder in ("bin", "include", "lib"):
        (home / folder).mkdir(parents=True)
    (home / "bin" / "mcc").write_text('#!/bin/sh\necho mcc "$@"\n')
    (home / "bin" / "mcc").chmod(0o755)
    (home / "lib" / "libmublas.so").touch()
    return musa(
        str(home),
        libraries=("musa_python",),
        include_dirs=lambda: [str(home / "include")],
        library_dirs=lambda: [str(home / "lib")],
        devices=lambda: ["31"],
    )


def written(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = written(
        tmp_path / "project",
        csrc__kernel_dot_cu='#include <cuda_runtime.h>\n#include "own.cuh"\n#include <torch/extension.h>\n',
        csrc__own_dot_cuh='#define NEXT "../include/next.h"\n#include NEXT\n',
        include__next_dot_h="#include <others.h>\nint cudaThing;\n",
        csrc__host_dot_cpp="#include <cuda_runtime.h>\n",
    )
    written(tmp_path / "torch", torch__extension_dot_h="")
    monkeypatch.chdir(folder)
    return folder


def test_the_sources_of_an_extension_are_compiled(project: Path, tmp_path: Path) -> None:
    found = closure(["csrc/kernel.cu"], [str(tmp_path / "torch")], [str(tmp_path / "torch")])
    assert [os.path.relpath(file) for file in found.files] == ["csrc/kernel.cu", "csrc/own.cuh", "include/next.h"]
    assert {"cuda_runtime.h", "torch/extension.h", "others.h"} <= found.headers
    with pytest.raises(BuildError, match=r"nowhere\.cu: no such source"):
        closure(["nowhere.cu"], [], [])


def test_a_source_needs_cuda_where_its_includes_do(project: Path, toolkit: Toolkit, tmp_path: Path) -> None:
    """A source for the CPU may include CUDA's headers for another build; without their folder it cannot mean it."""

    def needs_cuda(source: str, *folders: str) -> bool:
        return closure([source], folders, []).needs_cuda(toolkit)

    assert not needs_cuda("csrc/host.cpp", "/usr/include", "csrc", "csrc/cuda")
    assert needs_cuda("csrc/host.cpp", "/nowhere/cuda/include")
    assert needs_cuda("csrc/host.cpp", str(tmp_path / "musa" / "include"))
    assert not needs_cuda("include/next.h", "/nowhere/cuda/include")


def command(*extensions: Extension) -> Any:
    return SimpleNamespace(
        extensions=list(extensions), build_temp="build/temp", compiler=SimpleNamespace(src_extensions=[".cpp", ".cu"])
    )


def test_an_extension_while_it_is_built(project: Path, toolkit: Toolkit, capsys: pytest.CaptureFixture[str]) -> None:
    flags = {"cxx": ["-Iinclude", "-DALLOC=cudaMalloc"], "nvcc": ["-O3", "-arch=sm_80", "--threads=3"]}
    extension = Extension(
        "pkg._C",
        ["csrc/kernel.cu", "csrc/host.cpp"],
        define_macros=[("__CUDA_NO_HALF_OPERATORS__", None), ("SYNC", "cudaDeviceSynchronize()")],
        libraries=["cublas", "cusolver", "cudart", "c10", "c10_cuda"],
        extra_link_args=["-lcublas"],
        extra_compile_args=flags,  # type: ignore[arg-type]
    )
    before = dict(vars(extension))
    build = command(extension)
    with prepared(build, toolkit, []):
        assert extension.sources == [
            "build/temp/torchada/pkg._C/csrc/kernel.mu",
            "build/temp/torchada/pkg._C/csrc/host.cpp",
        ]
        copy = os.path.abspath("build/temp/torchada/pkg._C/include")
        given: Any = extension.extra_compile_args
        assert given["cxx"] == [f"-I{copy}", "-Iinclude", "-DALLOC=musaMalloc"]
        assert given["nvcc"] == ["-O3", "--offload-arch=mp_31"]
        assert extension.define_macros == [
            ("__MUSA_NO_HALF_OPERATORS__", None),
            ("SYNC", "musaDeviceSynchronize()"),
        ]
        assert extension.libraries == ["mublas", "musart", "c10", "musa_python"]
        assert extension.extra_link_args == ["-lmublas"]
        assert extension.runtime_library_dirs == [toolkit.folder("lib")]
        assert toolkit.folder("include") in extension.include_dirs
        assert ".mu" in build.compiler.src_extensions
        lines = Path(extension.sources[0]).read_text().splitlines()
        assert lines[:3] == [f'#line 1 "{project}/csrc/kernel.cu"', "#include <musa_runtime.h>", '#include "own.muh"']
    assert vars(extension) == before
    said = capsys.readouterr().err
    assert "nvcc's --threads=3 is not passed to mcc" in said and "library cusolver is left out" in said


def test_macros_as_setuptools_takes_them(project: Path, toolkit: Toolkit) -> None:
    """inplace_abn gives a number; a name alone is a macro that is undefined."""
    macros: Any = [("WITH_CUDA", 1), ("__CUDA_NO_HALF_OPERATORS__",), ("NOTHING", "")]
    extension = Extension("pkg._C", ["csrc/kernel.cu"], define_macros=macros)
    with prepared(command(extension), toolkit, []):
        given: Any = extension.define_macros
        assert given == [("WITH_CUDA", "1"), ("__MUSA_NO_HALF_OPERATORS__",), ("NOTHING", "")]


@pytest.mark.parametrize("folder", ["csrc", "."])
def test_an_include_from_a_folder_above_all_files_finds_the_copy(
    toolkit: Toolkit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    """vLLM's grouped_topk_kernels.cu: with the folder that the files have in common as root, the original was found."""
    path = "" if folder == "csrc" else "csrc/"
    written(
        tmp_path / "vllm",
        csrc__lib__moe__topk_dot_cu=f'#include "{path}lib/utils.h"\n',
        csrc__lib__utils_dot_h="#include <cuda_runtime.h>\n",
    )
    monkeypatch.chdir(tmp_path / "vllm")
    extension = Extension("topk", ["csrc/lib/moe/topk.cu"], include_dirs=[folder])
    with prepared(command(extension), toolkit, []):
        first = Path(extension.include_dirs[0])
        assert (first / path / "lib" / "utils.h").read_text().endswith("#include <musa_runtime.h>\n")
        assert str(first) in extension.sources[0] or first.resolve() in Path(extension.sources[0]).resolve().parents


@pytest.mark.parametrize(
    ("call", "libraries"),
    [
        ("cublasHgemm(h);", ["musart", "mublas"]),
        ("cublasStrsm (h);", ["musart", "mublas"]),
        ("auto h = at::cuda::getCurrentCUDABlasHandle();", ["musart", "mublas"]),
        ("cublasLtMatmul(h); cublasHandle_t h; my_cublasHgemm(h);", ["musart"]),  # there is no libmublasLt here
    ],
)
def test_what_torch_is_linked_with_need_not_be_named(
    call: str, libraries: list[str], project: Path, toolkit: Toolkit
) -> None:
    """An extension is linked with torch's libraries, and finds CUDA's that they are linked with."""
    Path("csrc/kernel.cu").write_text(f"#include <ATen/cuda/CUDAContext.h>\nvoid f() {{ {call} }}\n")
    extension = Extension("a", ["csrc/kernel.cu"])
    with prepared(command(extension), toolkit, []):
        assert extension.libraries == libraries
    arguments: dict[str, Any] = dict.fromkeys(("extra_cflags", "extra_cuda_cflags", "extra_include_paths"), ())
    arguments |= {"sources": ["csrc/kernel.cu"], "extra_ldflags": ["-lx"], "build_directory": "jit", "with_cuda": True}
    assert adapted(arguments, toolkit, [])["extra_ldflags"] == ["-lx", *(f"-l{name}" for name in libraries[1:])]


def test_flags_in_a_list_are_for_both_compilers(project: Path, toolkit: Toolkit) -> None:
    extension = Extension("one", ["csrc/kernel.cu"], extra_compile_args=["-O2", "--use_fast_math"])
    with prepared(command(extension), toolkit, []):
        given: Any = extension.extra_compile_args
        assert given["nvcc"] == ["-O2", "-ffast-math", "--offload-arch=mp_31"]
    assert extension.extra_compile_args == ["-O2", "--use_fast_math"]


def test_others_are_left_alone(project: Path, toolkit: Toolkit) -> None:
    extension = Extension("one", ["csrc/host.cpp"])
    with prepared(command(extension), toolkit, []):
        assert extension.sources == ["csrc/host.cpp"] and extension.libraries == []
    assert not (project / "build").exists()


def test_sources_for_the_device_itself_are_built_with_the_others(project: Path, toolkit: Toolkit) -> None:
    """They stay what they are, beside ported headers, and get the flags for their own compiler."""
    text = '#include "own.cuh"\nmusaStream_t cudaLikeName;\n'
    (project / "csrc" / "native.mu").write_text(text)
    flags = {"mcc": ["-DFLAG=100", "--cuda-gpu-arch=mp_22"], "nvcc": ["--use_fast_math"], "mcc_dlink": ["-Od3"]}
    extension = Extension("pkg._C", ["csrc/native.mu", "csrc/kernel.cu"], extra_compile_args=flags)  # type: ignore[arg-type]
    build = command(extension)
    with prepared(build, toolkit, []):
        copy = "build/temp/torchada/pkg._C/csrc/native.mu"
        assert extension.sources == [copy, "build/temp/torchada/pkg._C/csrc/kernel.mu"]
        assert Path(copy).read_text() == text
        given: Any = extension.extra_compile_args
        lifted, flags = given["nvcc"][:4], given["nvcc"][4:]
        assert given["cxx"] == [] and given["nvcc_dlink"] == ["-Od3"]
        assert flags == ["-ffast-math", "-DFLAG=100", "--cuda-gpu-arch=mp_22"]
        # Torch forbids these to nvcc, and the vendor's own build tool allows them.
        assert all(flag.startswith("-U__MUSA_NO_") for flag in lifted) and "-U__MUSA_NO_HALF_CONVERSIONS__" in lifted


def test_an_extension_may_give_its_host_code_to_the_devices_compiler(project: Path, toolkit: Toolkit) -> None:
    """By the word of the vendor's own build tool, for as long as the extension is built."""
    extension = Extension("pkg._C", ["csrc/host.cpp"], extra_compile_args={"cxx": ["-O2", "force_mcc"]})  # type: ignore[arg-type]
    with prepared(command(extension), toolkit, []):
        given: Any = extension.extra_compile_args
        assert given == {"cxx": ["-O2"], "nvcc": ["--offload-arch=mp_31"]}
        copy = extension.sources[0]
        assert is_own_source(copy) and is_own_source(os.path.abspath(copy)) and not is_own_source("csrc/host.cpp")
    assert not is_own_source(copy)


def test_flags_for_no_compiler_are_named(project: Path, toolkit: Toolkit, capsys: pytest.CaptureFixture[str]) -> None:
    extension = Extension("lost", ["csrc/host.cpp"], extra_compile_args={"cxx": [], "hipcc": ["-O3"]})  # type: ignore[arg-type]
    with prepared(command(extension), toolkit, []):
        pass
    assert "extra_compile_args of lost has the key 'hipcc', which names no compiler" in capsys.readouterr().err


def test_what_was_noticed_is_said_also_where_the_next_step_ends_the_build(
    project: Path, toolkit: Toolkit, capsys: pytest.CaptureFixture[str]
) -> None:
    """So that a user can mend everything at once."""
    (project / "csrc" / "own.cuh").write_text('__device__ void f() { asm("bar.sync 1, 64;"); }\n')
    flags = {"nvcc": ["--ptx"], "hipcc": []}
    extension = Extension("two", ["csrc/kernel.cu"], extra_compile_args=flags)  # type: ignore[arg-type]
    with pytest.raises(BuildError, match="nvcc's --ptx has no equivalent"):
        prepared(command(extension), toolkit, []).__enter__()
    said = capsys.readouterr().err
    assert "bar.sync has no counterpart and stays" in said and "the key 'hipcc'" in said
    assert vars(extension)["extra_compile_args"] is flags


def test_a_header_by_its_absolute_path_is_the_ported_one(project: Path, toolkit: Toolkit) -> None:
    (project / "csrc" / "generated.cu").write_text(f'#include "{project}/csrc/own.cuh"\n#include "/nowhere/x.cuh"\n')
    extension = Extension("two", ["csrc/generated.cu"])
    with prepared(command(extension), toolkit, []):
        lines = Path(extension.sources[0]).read_text().splitlines()
    assert lines[1:] == ['#include "own.muh"', '#include "/nowhere/x.cuh"']


def test_a_source_that_cannot_be_ported_is_an_error(
    project: Path, toolkit: Toolkit, capsys: pytest.CaptureFixture[str]
) -> None:
    """Told by file and line; a source that is none stops the build, and the extension is its own again."""
    (project / "csrc" / "own.cuh").write_text('__device__ void f() { asm volatile("bar.sync 1, 64;"); }\n')
    extension = Extension("two", ["csrc/kernel.cu"])
    with prepared(command(extension), toolkit, []):
        pass
    assert f"{project}/csrc/own.cuh:1:23: bar.sync has no counterpart and stays" in capsys.readouterr().err
    (project / "csrc" / "own.cuh").write_bytes(b"\0")
    with pytest.raises(BuildError, match=r"own\.cuh: not a text, line 1 has a NUL byte"):
        prepared(command(extension), toolkit, []).__enter__()
    assert extension.sources == ["csrc/kernel.cu"]


def test_a_ported_copy_that_was_edited_stops_the_build_with_the_way_out(project: Path, toolkit: Toolkit) -> None:
    extension = Extension("two", ["csrc/kernel.cu"])
    with prepared(command(extension), toolkit, []):
        copy = Path(extension.sources[0])
    copy.write_text("edited by hand\n")
    with pytest.raises(BuildError, match="was changed since torchada wrote it: remove it, and build again"):
        prepared(command(extension), toolkit, []).__enter__()
    assert copy.read_text() == "edited by hand\n" and extension.sources == ["csrc/kernel.cu"]


def test_no_compiler(project: Path, toolkit: Toolkit) -> None:
    os.remove(toolkit.folder("bin", "mcc"))
    with pytest.raises(BuildError, match="mcc is not a program; MUSA_HOME must be the folder of MUSA toolkit"):
        prepared(command(Extension("one", ["csrc/kernel.cu"])), toolkit, []).__enter__()


def test_load_hands_ported_sources_to_ninja(project: Path, toolkit: Toolkit) -> None:
    arguments = {
        "sources": ["csrc/kernel.cu"],
        "extra_cflags": [],
        "extra_cuda_cflags": ["-gencode=arch=compute_80,code=sm_80"],
        "extra_include_paths": ["include"],
        "extra_ldflags": [],
        "build_directory": "jit",
        "with_cuda": True,
    }
    done = adapted(arguments, toolkit, [])
    assert done["sources"] == [os.path.abspath("jit/torchada/csrc/kernel.mu")]
    assert done["extra_cuda_cflags"] == ["--offload-arch=mp_31"]
    assert done["extra_include_paths"] == [os.path.abspath("jit/torchada/include"), "include", stable_include_dir()]
    plain = {**arguments, "sources": ["csrc/host.cpp"], "with_cuda": False}
    assert adapted(plain, toolkit, []) is plain


def test_the_folder_that_builds_take_for_cuda(toolkit: Toolkit, project: Path, tmp_path: Path) -> None:
    """Made once; nvcc in it ports, translates, and calls the compiler; others' leftovers go."""
    parent = tmp_path / "cache" / "torchada" / "cuda-home"
    written(parent, gone__torchada_dot_json='{"packages": "/nowhere", "python": "/nowhere/python"}')
    home = cuda_home(toolkit)
    assert home == cuda_home(toolkit) and [str(path) for path in parent.iterdir() if path.is_dir()] == [home]
    assert toolkit_of(f"{home}/torchada.json") == toolkit
    assert Path(home, "lib64", "libcublas.so").read_text() == f'INPUT("{toolkit.folder("lib", "libmublas.so")}")\n'
    nvcc = [f"{home}/bin/nvcc", "-c", "csrc/kernel.cu", "-o", "out/kernel.o", "-O2", "-Xptxas", "-v", "-arch", "sm_80"]
    done = subprocess.run(nvcc, capture_output=True, text=True, check=True)
    ported = project / "out" / ".torchada" / "kernel.o" / "csrc" / "kernel.mu"
    assert done.stdout.split()[:6] == ["mcc", "--offload-arch=mp_22", "-c", str(ported), "-o", "out/kernel.o"]
    assert "nvcc's -Xptxas -v is not passed" in done.stderr and ported.is_file()
    assert not any(path.name == ".torchada" for path in (project / "csrc").iterdir())
    torch = tmp_path / "torch" / "include"
    written(torch, ATen__ATen_dot_h="#include <ATen/cuda/Of.h>\n", ATen__cuda__Of_dot_h="cudaStream_t stream;\n")
    written(project, csrc__torch_dot_cu="#include <ATen/ATen.h>\n#include <ATen/cuda/Of.h>\n")
    subprocess.run([*nvcc[:2], f"-I{torch}", "csrc/torch.cu", "-o", "out/torch.o"], capture_output=True, check=True)
    assert [path.name for path in (project / "out/.torchada/torch.o").rglob("[!.]*.*")] == ["torch.mu"]
    subprocess.run([nvcc[0], "-E", "csrc/kernel.cu"], capture_output=True, check=True)
    assert sorted(path.name for path in project.iterdir()) == ["csrc", "include", "out"]
    assert cuda_home(Toolkit(**{**vars(toolkit), "home": None})) is None


def test_what_the_compilers_variables_name_is_ported(
    project: Path, toolkit: Toolkit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Headers of the project's in folders of CPATH and CPLUS_INCLUDE_PATH alone; those of PyTorch's there are no project's."""
    for name, variable in (("first", "CPATH"), ("second", "CPLUS_INCLUDE_PATH")):
        written(tmp_path / name, **{f"{name}_dot_h": f"cudaStream_t {name};\n"})
        monkeypatch.setenv(variable, os.pathsep.join([str(tmp_path / name), str(tmp_path / "torch")]))
    includes = "#include <first.h>\n#include <second.h>\n#include <torch/extension.h>\n"
    written(project, csrc__kernel_dot_cu=includes)
    extension = Extension("pkg._C", ["csrc/kernel.cu"])
    with prepared(command(extension), toolkit, [str(tmp_path / "torch")]):
        given: Any = extension.extra_compile_args
    copies = project / "build" / "temp" / "torchada" / "pkg._C"
    assert given["nvcc"][:4] == ["-I", f"{copies}/first", "-isystem", f"{copies}/second"]
    assert (copies / "first" / "first.h").read_text().endswith("musaStream_t first;\n")
    assert sorted(path.name for path in copies.rglob("*.*h")) == ["first.h", "second.h"]
    arguments = {
        "sources": [str(project / "csrc" / "kernel.cu")],
        "build_directory": str(tmp_path / "loaded"),
        **dict.fromkeys(("extra_cflags", "extra_cuda_cflags", "extra_include_paths", "extra_ldflags", "with_cuda")),
    }
    loaded = adapted(arguments, toolkit, [str(tmp_path / "torch")])["extra_cuda_cflags"]
    assert loaded[:4] == ["-I", f"{tmp_path}/loaded/torchada/first", "-isystem", f"{tmp_path}/loaded/torchada/second"]
    line = Line.of(["-c", "csrc/kernel.cu", "-o", str(tmp_path / "kernel.o")])
    made = ported(line, str(tmp_path / "home"), toolkit, str(tmp_path / "ported"))
    assert made is not None
    assert {Path(original).name for original in made.origins().values()} == {"kernel.cu", "first.h", "second.h"}


def test_files_that_flags_include_are_ported_wherever_they_are_found(project: Path, toolkit: Toolkit) -> None:
    """-include and -imacros search the working directory, then folders of headers; what is nowhere is the compiler's matter."""
    written(project, config__sizes_dot_h="#define NOW cudaSuccess\n", config__more_dot_h="int cudaThing;\n")
    nvcc = ["-imacros", "config/sizes.h", "-Iconfig", "-include", "more.h", "-include", "nowhere.h"]
    extension = Extension("pkg._C", ["csrc/host.cpp"], libraries=["cudart"], extra_compile_args=nvcc)
    with prepared(command(extension), toolkit, []):
        given: Any = extension.extra_compile_args
    copies = project / "build" / "temp" / "torchada" / "pkg._C"
    config = copies / "config"
    assert given == [
        "-imacros", str(config / "sizes.h"), f"-I{config}", "-Iconfig", "-include", "more.h", "-include", "nowhere.h",
    ]  # fmt: skip
    assert (config / "sizes.h").read_text().endswith("#define NOW musaSuccess\n")
    assert (config / "more.h").is_file()


def test_headers_of_an_adapter_are_not_the_projects(tmp_path: Path, toolkit: Toolkit) -> None:
    """Those that its tool has made of PyTorch's lie in a folder without PyTorch's main header."""
    translated, own = tmp_path / "share" / "include", tmp_path / "project"
    for folder in (translated / "c10" / toolkit.language, own):
        folder.mkdir(parents=True)
    (translated / "shim.h").write_text("#ifdef USE_CUDA\n#endif\n")
    (own / "own.h").write_text("#include <cuda_runtime.h>\n")
    source = own / "kernel.cu"
    source.write_text('#include "shim.h"\n#include "own.h"\ncudaStream_t stream;\n')
    line = Line.of(["-c", str(source), "-o", str(tmp_path / "kernel.o"), f"-I{translated}", f"-I{own}"])
    copies = ported(line, str(tmp_path / "home"), toolkit, str(tmp_path / "ported"))
    assert copies is not None
    assert {Path(original).name for original in copies.origins().values()} == {"kernel.cu", "own.h"}


def test_ninja_learns_what_kernels_include() -> None:
    text = "rule compile\n  command = $cxx\n\nrule cuda_compile\n  command = $nvcc  $cuda_cflags -c $in -o $out\n\nbuild x: y\n"
    new = with_dependencies(text)
    assert "rule cuda_compile\n  depfile = $out.d\n  deps = gcc\n  command = $nvcc -MD -MF $out.d " in new
    assert with_dependencies(new) == new
    assert with_dependencies("rule compile\n") == "rule compile\n"
