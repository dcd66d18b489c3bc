"""nvcc's command line in the terms of mcc: data in, data out."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.toolkits import musa
from torchada.building.architectures import architectures, counterpart, required_flags
from torchada.building.errors import BuildError
from torchada.building.flags import translate, with_files
from torchada.building.include_flags import included, of_environment, with_copies
from torchada.building.libraries import linked, linker_flags
from torchada.building.ported import Copies
from torchada.building.toolkit import Toolkit

pytestmark = pytest.mark.once


def toolkit(home: str | None = "/opt/musa", devices: tuple[str, ...] = ("31",)) -> Toolkit:
    return musa(home, libraries=("musa_python", "musa_kernels"), devices=lambda: devices)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("-O3 -g -std=c++17 -Iinclude -c x.cu -o x.o", "-O3 -g -std=c++17 -Iinclude -c x.cu -o x.o"),
        ("--std c++17 --std=c++20 -std c++14", "-std=c++17 -std=c++20 -std=c++14"),
        ("--use_fast_math -use_fast_math", "-ffast-math -ffast-math"),
        ("--expt-relaxed-constexpr --expt-extended-lambda -extended-lambda", ""),
        ("--compiler-options -fPIC -Xcompiler -Wall,-fopenmp", "-fPIC -Wall -fopenmp"),
        ("--compiler-options '-fPIC'", "-fPIC"),
        ("-Xcompiler=-fno-strict-aliasing", "-fno-strict-aliasing"),
        ("-isystem=include -isystem inner -I=a -L=b", "-isystem include -isystem inner -Ia -Lb"),
        ("-rdc=true -dc", "-fgpu-rdc -fgpu-rdc -c"),
        ("--relocatable-device-code true", "-fgpu-rdc"),
        ("-rdc=false", ""),
        ("-lineinfo -G", "-g1 -g"),
        ("-DA=1 -D B=2 -U__CUDA_NO_HALF_OPERATORS__", "-DA=1 -DB=2 -U__MUSA_NO_HALF_OPERATORS__"),
        ('-DALLOC=cudaMallocAsync -DNAME="cuda"', '-DALLOC=musaMallocAsync -DNAME="cuda"'),
        ("-x cu x.cpp", "-x musa x.cpp"),
        ("--output-file x.o --compile --debug", "-o x.o -c -g"),
        ("--generate-dependencies-with-compile --dependency-output x.d", "-MD -MF x.d"),
        ("--default-stream per-thread", "-DMUSA_API_PER_THREAD_DEFAULT_STREAM"),
        ("-lcudart -lc10_cuda -lm", "-lmusart -lmusa_python -lmusa_kernels -lm"),
        ("-march=native -Wno-unused -fopenmp", "-march=native -Wno-unused -fopenmp"),
    ],
)
def test_translated(given: str, expected: str) -> None:
    done = translate(given.split(), toolkit())
    assert done.flags == expected.split()
    assert done.notices == []


@pytest.mark.parametrize(
    "given",
    [
        "--threads 4",
        "--threads=4",
        "-t 4",
        "-t4",
        "--ptxas-options=-v",
        "-Xptxas -O3,-v",
        "-maxrregcount=64",
        "--maxrregcount 64",
        "-ccbin g++",
        "-Xcudafe --diag_suppress=20012",
        "-diag-suppress 177",
        "-dlto",
        "--resource-usage",
    ],
)
def test_dropped_and_said(given: str) -> None:
    """With its value: what follows it is no input of the compiler's."""
    done = translate([*given.split(), "x.cu"], toolkit())
    assert done.flags == ["x.cu"]
    assert len(done.notices) == 1
    assert given in done.notices[0] and ": " in done.notices[0]


@pytest.mark.parametrize("flag", ["-ptx", "--ptx", "-cubin", "--fatbin"])
def test_refused(flag: str) -> None:
    with pytest.raises(BuildError, match=f"nvcc's {flag} has no equivalent in mcc: .*compile with -c"):
        translate([flag, "x.cu"], toolkit())


def test_flags_in_files(tmp_path: Path) -> None:
    """As CMake gives folders of headers and objects to link: their flags stand in the flag's place."""
    (tmp_path / "a").write_text('-I"/two words" -DA=1\n')
    (tmp_path / "b").write_text("b.o\n")
    inside = ["-I/two words", "-DA=1", "b.o"]
    for flags in (["--options-file", f"{tmp_path}/a,{tmp_path}/b"], [f"-optf={tmp_path}/a", f"@{tmp_path}/b"]):
        assert with_files(["-c", *flags, "x.cu"]) == ["-c", *inside, "x.cu"]
    with pytest.raises(BuildError, match="--options-file none: no such file"):
        with_files(["--options-file", "none"])


def test_a_value_that_is_missing() -> None:
    with pytest.raises(BuildError, match="-gencode lacks the value"):
        translate(["-gencode"], toolkit())


@pytest.mark.parametrize(
    "given",
    [
        "-gencode arch=compute_80,code=sm_80",
        "-gencode=arch=compute_80,code=sm_80",
        "--generate-code=arch=compute_80,code=[compute_80,sm_80]",
        "-arch=sm_80",
        "-arch sm_80",
        "--gpu-architecture=compute_80 --gpu-code=sm_80",
    ],
)
def test_architectures_of_nvidia_are_taken_out(given: str) -> None:
    done = translate(given.split(), toolkit())
    assert done.flags == []
    assert set(done.asked) == {"80"}


def test_which_architectures(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable, else the devices in sight, else what stands for those that were asked for."""
    for name in ("TORCH_MUSA_ARCH_LIST", "TORCH_CUDA_ARCH_LIST"):
        monkeypatch.delenv(name, raising=False)
    blind = toolkit(devices=())
    assert architectures(toolkit(devices=("31", "22")), ["70"]) == ["22", "31"]
    assert architectures(blind, ["80", "90"]) == ["22", "31"]
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "7.5;8.0 9.0a+PTX")
    assert architectures(blind) == ["21", "22", "31"]
    assert architectures(toolkit()) == ["31"]
    monkeypatch.setenv("TORCH_MUSA_ARCH_LIST", "22;mp_21")
    assert required_flags(toolkit(), ["80"]) == ["--offload-arch=mp_21", "--offload-arch=mp_22"]
    monkeypatch.setenv("TORCH_MUSA_ARCH_LIST", "S5000")
    with pytest.raises(BuildError, match="TORCH_MUSA_ARCH_LIST='S5000'"):
        architectures(toolkit())


def test_nothing_to_compile_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCH_MUSA_ARCH_LIST", raising=False)
    monkeypatch.delenv("TORCH_CUDA_ARCH_LIST", raising=False)
    with pytest.raises(BuildError, match="set TORCH_MUSA_ARCH_LIST"):
        required_flags(toolkit(devices=()))


@pytest.mark.parametrize(
    ("number", "expected"),
    [("60", "10"), ("75", "21"), ("80", "22"), ("86", "22"), ("89", "31"), ("120", "31"), ("31", "31"), ("32", "32")],
)
def test_counterparts(number: str, expected: str) -> None:
    """A number that a setup.py has from get_device_capability() is one of MUSA's already."""
    assert counterpart(number) == expected


def test_libraries(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    for name in ("musa", "mublas"):
        (tmp_path / "lib" / f"lib{name}.so").touch()
    names, notices = linked(
        ["cuda", "cublas_static", "nvrtc", "cudadevrt", "z", "cudart", "c10", "c10_cuda", "torch_cuda"],
        toolkit(str(tmp_path)),
    )
    assert names == ["musa", "mublas", "z", "musart", "c10", "musa_python", "musa_kernels"]
    assert len(notices) == 2
    assert "nvrtc is left out: on MUSA it is mtrtc" in notices[0] and str(tmp_path) in notices[0]
    assert linker_flags(
        ["-lcuda", "-L/x", "-Wl,--no-as-needed,-lcublas", "-l", "cudart", "-lm"], toolkit(str(tmp_path))
    ) == (
        ["-lmusa", "-L/x", "-Wl,--no-as-needed,-lmublas", "-lmusart", "-lm"],
        [],
    )


def test_no_toolkit() -> None:
    with pytest.raises(BuildError, match=r"no MUSA toolkit found.*set MUSA_HOME"):
        toolkit(home=None).compiler_path()


INCLUDES = [
    "-Ia",
    "-I",
    "b",
    "-isystem",
    "c",
    "-iquoted",
    "-include",
    "e/f.h",
    "-DI=-I",
    "-idirafter",
    "g",
    "-imacros",
    "h.h",
    "-O2",
    "-include",
]


def test_folders_and_files_that_flags_include() -> None:
    assert included(INCLUDES) == (["a", "b", "c", "d", "g"], ["e/f.h", "h.h"])
    assert included(["", "-Ia"]) == (["a"], []), "as ''.split(' ') gives it, of a variable that is empty"


def test_folders_of_copies_are_searched_first(tmp_path: Path) -> None:
    """By a flag of the same form; a file is included as its copy, and what has no copy stays."""
    root, copies = tmp_path / "project", tmp_path / "copies"
    for folder in ("b", "d"):
        (copies / folder).mkdir(parents=True)
    flags = [f"-I{root}/a", "-I", f"{root}/b", f"-iquote{root}/d", "-include", f"{root}/e.h", "-include", f"{root}/f.h"]
    made = Copies(str(root), str(copies), {f"{root}/e.h": "e.h"}, [])
    assert with_copies([*flags, "-I"], made) == [
        f"-I{root}/a", "-I", f"{copies}/b", "-I", f"{root}/b", f"-iquote{copies}/d", f"-iquote{root}/d",
        "-include", f"{copies}/e.h", "-include", f"{root}/f.h", "-I",
    ]  # fmt: skip
    assert with_copies(["-imacros", f"{root}/e.h"], made) == ["-imacros", f"{copies}/e.h"]


def test_folders_of_the_compilers_own_variables_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compilers search them behind those of flags; a toolkit of CUDA's, for which many machines have them set, is no project."""
    root, copies, cuda = tmp_path / "project", tmp_path / "copies", tmp_path / "cuda"
    for folder in (copies / "a", copies / "b", cuda):
        folder.mkdir(parents=True)
    (cuda / "cuda_runtime_api.h").touch()
    monkeypatch.setenv("CPATH", f"{root}/a:{cuda}:")
    monkeypatch.setenv("CPLUS_INCLUDE_PATH", f"{root}/b:{root}/none")
    assert of_environment() == ["-I", f"{root}/a", "-I", ".", "-isystem", f"{root}/b", "-isystem", f"{root}/none"]
    made = Copies(str(root), str(copies), {}, [])
    assert with_copies(["-O2", f"-I{root}/b"], made) == [
        "-O2", f"-I{copies}/b", f"-I{root}/b", "-I", f"{copies}/a", "-isystem", f"{copies}/b",
    ]  # fmt: skip
    monkeypatch.delenv("CPATH")
    monkeypatch.setenv("CPLUS_INCLUDE_PATH", "")
    assert of_environment() == []
