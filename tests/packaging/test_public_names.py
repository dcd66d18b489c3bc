"""The public names of torchada, including those of earlier releases, and their answers."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import torchada
from support.interpreter import Interpreter
from torchada.utils import cpp_extension


def test_every_public_name_resolves() -> None:
    for name in torchada.__all__:
        assert getattr(torchada, name) is not None
    assert set(torchada.__all__) <= set(dir(torchada))
    with pytest.raises(AttributeError, match="nonsense"):
        torchada.nonsense  # noqa: B018


def test_names_for_type_checkers_are_those_of_run_time() -> None:
    """The imports under TYPE_CHECKING agree with the table of names that are resolved when they are first used."""
    body = ast.parse(Path(torchada.__file__).read_text()).body
    block = next(node for node in body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    declared = {
        alias.asname: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert declared == {**torchada._LAZY, **torchada._OF_TORCH}
    aliases = [alias for node in block.body for alias in getattr(node, "names", ())]
    assert all(alias.name == alias.asname for alias in aliases), "a re-export to type checkers: X as X"
    assert len(aliases) == len(block.body) == len(declared)


@pytest.mark.once
def test_a_process_that_uses_no_name_imports_nothing_for_it(plain: Interpreter) -> None:
    code = "import sys, torchada; print(*(name for name in sys.modules if name.startswith('torchada') or name == 'typing'))"
    assert plain.run(["-S", "-c", f"import sys; sys.path[:] = {sys.path!r}; {code}"]).stdout.split() == ["torchada"]


# A user's program: it uses every name, and asserts every type.
PROGRAM = """
from collections.abc import Callable
from types import ModuleType
from typing_extensions import assert_type

from setuptools import Extension, setup

import torchada
from torchada import Platform, UnsupportedError
from torchada.utils import cpp_extension
from torchada.utils.cpp_extension import BuildExtension, CppExtension, CUDAExtension, load, load_inline

assert_type(torchada.__version__, str)
assert_type(torchada.get_version(), str)
assert_type(torchada.get_device_type(), str)
assert_type(torchada.CUDA_HOME, str | None)
platform: torchada.Platform = torchada.detect_platform()
assert_type(torchada.get_platform(), Platform)
if platform is Platform.MUSA:
    assert_type(torchada.get_device_name(), str)
for answer in (torchada.is_musa_platform(), torchada.is_cuda_platform(), torchada.is_cpu_platform()):
    assert_type(answer, bool)
assert_type(torchada.is_gpu_device("cuda:0"), bool)
assert_type(torchada.is_cuda_like_device(None), bool)
assert_type(torchada.get_backend(), ModuleType)
assert_type(torchada.get_torch_device_module(), ModuleType)
torchada.get_backend().synchronize()
assert_type(torchada.cuda_to_musa_name("cudaMalloc"), str)
modules: list[ModuleType] = [torchada.cuda, torchada.triton, torchada.utils]
rotate: Callable[..., None] = torchada.apply_rope_inplace
transform: Callable[..., object] = torchada.musa_irfft_graph
assert_type(torchada.apply_patches(), None)
start: Callable[..., None] = torchada.get_original_init_process_group()
assert_type(torchada.nccl_to_mccl_name("ncclSend"), str)
assert_type(torchada.cublas_to_mublas_name("cublasCreate"), str)
assert_type(torchada.curand_to_murand_name("curandCreate"), str)


class Mine(torchada.TorchadaWarning):
    pass


def work() -> bool:
    torchada.disable()
    torchada.enable()
    torchada.set_view("program", "cuda")
    try:
        with torchada.disabled() as nothing:
            assert_type(nothing, None)
    except torchada.UnsupportedError as error:
        assert_type(error, UnsupportedError)
        raise torchada.TorchadaError(str(error)) from error
    return torchada.is_patched()


assert_type(CUDAExtension("name", ["a.cu"], extra_compile_args={"nvcc": ["-O3"]}), Extension)
assert_type(CppExtension(name="name", sources=["a.cpp"]), Extension)
assert_type(cpp_extension.include_paths("cuda"), list[str])
assert_type(cpp_extension.library_paths("cuda"), list[str])
assert_type(cpp_extension.CUDA_HOME, str | None)
assert_type(cpp_extension.stable_compat_include_dir(), str)
assert_type(cpp_extension.stable_compat_box_header(), str)
assert_type(load("name", ["a.cu"], verbose=True), ModuleType)
assert_type(load_inline("name", "int f();", cuda_sources=["..."], functions=["f"]), ModuleType)
setup(ext_modules=[CUDAExtension("name", ["a.cu"])], cmdclass={"build_ext": BuildExtension.with_options(use_ninja=True)})
"""
NAMES = sorted({*torchada.__all__, "CUDA_HOME"})


ASKED = [f"torchada.{name}" for name in NAMES] + [f"cpp_extension.{name}" for name in cpp_extension.__all__]
PROGRAMS = {
    "program.py": PROGRAM,
    "wrong.py": "import torchada\ntorchada.nonsense\nx: int = torchada.detect_platform()\ntorchada.is_gpu_device()\n",
    "asking.py": "import torchada\nfrom torchada.utils import cpp_extension\n"
    + "".join(f"reveal_type({name})\n" for name in ASKED),
}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What mypy --strict says of users' programs, in one run, because most of its time goes into torch."""
    folder = tmp_path_factory.mktemp("programs")
    for name, text in PROGRAMS.items():
        (folder / name).write_text(text)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--no-color-output", "--cache-dir", "cache", *PROGRAMS]
    return subprocess.run(mypy, cwd=folder, capture_output=True, text=True, timeout=600).stdout.splitlines()


@pytest.mark.full
@pytest.mark.once
def test_a_program_that_uses_every_public_name_passes_mypy_strict(said: list[str]) -> None:
    assert [name for name in [*NAMES, *cpp_extension.__all__] if not re.search(rf"\b{name}\b", PROGRAM)] == []
    assert [line for line in said if line.startswith("program.py")] == []
    assert said[-1].endswith("in 1 file (checked 3 source files)"), (
        "the program was checked, and the errors are another's"
    )


@pytest.mark.full
@pytest.mark.once
def test_mypy_finds_errors_in_a_program(said: list[str]) -> None:
    """This shows that mypy really checks the names that it accepts."""
    assert re.findall(r"wrong.py:(\d+): error: .*\[([\w-]+)\]", "\n".join(said)) == [
        ("2", "attr-defined"),
        ("3", "assignment"),
        ("4", "call-arg"),
    ]


@pytest.mark.full
@pytest.mark.once
def test_no_public_name_is_any_or_object_to_mypy(said: list[str]) -> None:
    revealed = dict(zip(ASKED, re.findall(r'asking.py:.*Revealed type is "(.*)"', "\n".join(said)), strict=True))
    nothing = ("Any", "object", "builtins.object")
    assert {name: kind for name, kind in revealed.items() if kind.rpartition("-> ")[2] in nothing} == {}


def test_every_public_function_has_a_docstring() -> None:
    functions = {name: getattr(torchada, name) for name in torchada.__all__ if name != "__version__"}
    assert [name for name, function in functions.items() if not (function.__doc__ or "").strip()] == []


@pytest.mark.parametrize(
    ("function", "given", "expected"),
    [
        ("cuda_to_musa_name", "cudaMalloc", "musaMalloc"),
        ("cuda_to_musa_name", "malloc", "malloc"),
        ("nccl_to_mccl_name", "ncclAllReduce", "mcclAllReduce"),
        ("cublas_to_mublas_name", "cublasCreate", "mublasCreate"),
        ("curand_to_murand_name", "curand_init", "murand_init"),
    ],
)
def test_names_of_libraries_are_translated(function: str, given: str, expected: str) -> None:
    assert getattr(torchada, function)(given) == expected


@pytest.mark.musa
def test_questions_about_the_platform_on_musa() -> None:
    assert torchada.detect_platform() is torchada.get_platform() is torchada.Platform.MUSA
    assert torchada.is_musa_platform()
    assert not torchada.is_cuda_platform()
    assert not torchada.is_cpu_platform()
    assert torchada.get_device_name() == "musa"
    assert torchada.get_backend() is torch.musa
    assert torchada.is_patched()
    assert torchada.get_version() == torchada.__version__


@pytest.mark.musa
@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ("cuda", True),
        ("cuda:1", True),
        ("musa:0", True),
        ("cpu", False),
        (torch.device("cpu"), False),
        (None, False),
        (3, False),
    ],
)
def test_is_gpu_device_tells_devices_by_name(device: object, expected: bool) -> None:
    assert torchada.is_gpu_device(device) is expected


@pytest.mark.musa
def test_is_gpu_device_tells_tensors_by_their_device() -> None:
    assert torchada.is_gpu_device(torch.zeros(1, device="cuda"))
    assert torchada.is_gpu_device(torch.device("cuda"))
    assert not torchada.is_gpu_device(torch.zeros(1))


def test_questions_about_the_platform_without_accelerator(plain: Interpreter) -> None:
    plain.run(
        """
        import torchada
        assert torchada.is_cpu_platform() and not torchada.is_patched()
        assert torchada.get_device_name() == "cpu"
        try:
            torchada.get_backend()
        except RuntimeError as error:
            assert "CPU" in str(error)
        else:
            raise AssertionError
        """
    )


def test_the_platform_variable_decides_without_torch(plain: Interpreter) -> None:
    code = "import sys, torchada; print(torchada.detect_platform().value, 'torch' in sys.modules)"
    assert plain.run(code, env={"TORCHADA_PLATFORM": "cuda"}).stdout.split() == ["cuda", "False"]
