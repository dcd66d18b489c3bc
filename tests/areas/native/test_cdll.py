"""CUDA's C libraries through ctypes: what programs do that call the runtime, NCCL or cuBLAS without an extension."""

from __future__ import annotations

import ctypes
import ctypes.util
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from support.interpreter import Interpreter
from torchada.backends.descriptor import Backend, Native, NativeLibrary
from torchada.backends.musa import MUSA
from torchada.redirect.library_names import NativeLibraries

pytestmark = pytest.mark.once

CUDART = ("libcudart.so", "libcudart.so.12", "libcudart.so.11.0", "libcudart-d0da41ae.so.11.0")


def device_count(library: Any) -> int:
    count = ctypes.c_int(-1)
    assert library.cudaGetDeviceCount(ctypes.byref(count)) == 0
    return count.value


@pytest.fixture
def build_library(tmp_path: Path) -> Callable[[str, str], str]:
    """Compiles a C library of a given file name; its path."""
    if shutil.which("gcc") is None:
        pytest.skip("needs a C compiler")

    def build(name: str, code: str) -> str:
        path = tmp_path / name
        command = ["gcc", "-x", "c", "-", "-shared", "-fPIC", "-o", str(path)]
        subprocess.run(command, input=code, text=True, check=True)
        return str(path)

    return build


class TestOpening:
    @pytest.mark.parametrize("name", [*CUDART, "/usr/local/cuda/lib64/libcudart.so.12", b"libcudart.so.12"])
    def test_cdll_by_name_and_path(self, name: Any) -> None:
        assert device_count(ctypes.CDLL(name)) == torch.cuda.device_count()

    @pytest.mark.parametrize(
        "opened",
        [
            lambda: ctypes.cdll.LoadLibrary("libcudart.so"),
            lambda: ctypes.cdll["libcudart.so.12"],
            lambda: getattr(ctypes.cdll, "libcudart.so.11.0"),
            lambda: ctypes.PyDLL("libcudart.so"),
            lambda: ctypes.pydll.LoadLibrary("libcudart.so"),
            lambda: ctypes.CDLL(name="libcudart.so", mode=ctypes.RTLD_GLOBAL, use_errno=True),
        ],
    )
    def test_every_way_of_ctypes(self, opened: Callable[[], Any]) -> None:
        assert device_count(opened()) == torch.cuda.device_count()

    def test_the_other_arguments_arrive(self) -> None:
        library = ctypes.CDLL("libcudart.so", use_errno=True)
        assert library.cudaGetDevice._flags_ == ctypes.CDLL(None, use_errno=True).free._flags_
        assert library._FuncPtr._restype_ is ctypes.c_int
        by_handle = ctypes.CDLL("libcudart.so", handle=library._handle)
        assert by_handle._handle == library._handle and device_count(by_handle) == torch.cuda.device_count()

    def test_the_class_stays_what_it_is(self) -> None:
        class Runtime(ctypes.CDLL):
            def __init__(self) -> None:
                super().__init__("libcudart.so", ctypes.RTLD_GLOBAL)

            def __getitem__(self, name: Any) -> Any:
                return super().__getitem__(f"cuda{name}")

        assert type(ctypes.CDLL) is type and issubclass(ctypes.PyDLL, ctypes.CDLL)
        runtime = Runtime()
        assert isinstance(runtime, ctypes.CDLL)
        assert runtime.SetDevice(0) == 0 and isinstance(runtime.SetDevice, runtime._FuncPtr)

    def test_other_libraries_are_left_alone(self, build_library: Callable[[str, str], str]) -> None:
        assert ctypes.CDLL(None)._name is None
        if torch.version.cuda is None:  # such a build of torch has loaded CUDA's own
            assert not hasattr(ctypes.CDLL(None), "cudaMalloc")
        path = build_library("libcudart_helper.so", "int cudaMalloc(void) { return 42; }")
        library = ctypes.CDLL(path)
        assert library._name == path and library.cudaMalloc() == 42
        with pytest.raises(OSError, match=r"^libno_such_thing\.so: cannot open"):
            ctypes.CDLL("libno_such_thing.so")

    def test_cudas_own_library_where_there_is_no_counterpart(self, build_library: Callable[[str, str], str]) -> None:
        path = build_library("libnvjpeg.so.12", "int nvjpegGetProperty(void) { return 12; }")
        library = ctypes.CDLL(path)
        assert library._name == path and library.nvjpegGetProperty() == 12

    def test_the_counterpart_comes_before_cudas_own(self, build_library: Callable[[str, str], str]) -> None:
        path = build_library("libcudart.so.12", "int cudaGetDeviceCount(int* count) { return 100; }")
        assert device_count(ctypes.CDLL(path)) == torch.cuda.device_count()

    def test_neither_can_be_loaded(self) -> None:
        with pytest.raises(
            OSError, match=r"libnvjpeg\.so\.12 is libmtjpeg\.so on MUSA, and neither can be loaded: "
        ) as error:
            ctypes.CDLL("libnvjpeg.so.12")
        assert "libmtjpeg.so: cannot open" in str(error.value) and "libnvjpeg.so.12: cannot open" in str(error.value)

    def test_a_counterpart_without_a_plain_name(self, build_library: Callable[[str, str], str]) -> None:
        """As on a machine with the runtime packages only: the process has loaded libmupti.so.1 from somewhere."""
        path = build_library("libmupti.so.1", "int muptiGetVersion(void) { return 5; }")
        loaded = ctypes.CDLL(path)
        library = ctypes.CDLL("libcupti.so")
        assert library._name == path and library._handle == loaded._handle and library.cuptiGetVersion() == 5
        assert ctypes.util.find_library("cupti") == "libcupti.so"

    def test_a_counterpart_beside_another(self, build_library: Callable[[str, str], str]) -> None:
        beside = build_library("libmusparse.so.1", "int musparseGetVersion(void) { return 8; }")
        ctypes.CDLL(build_library("libmusolver.so.1", "int unused;"))
        library = ctypes.CDLL("libcusparse.so.12")
        assert library._name == beside and library.cusparseGetVersion() == 8


class TestByTheBackendsOwnName:
    """SGLang opens libmusart and libmccl.so.2 by these names, and calls CUDA's and NCCL's functions."""

    @pytest.mark.parametrize("name", ["libmusart.so", b"libmusart.so", Path("libmusart.so")])
    def test_the_runtime(self, name: Any) -> None:
        if isinstance(name, bytes) and sys.version_info[:3] == (3, 13, 0):
            pytest.skip("this CPython takes no bytes for a library's name")
        library = ctypes.CDLL(name)
        assert device_count(library) == torch.cuda.device_count() and library.cudaSetDevice(0) == 0
        assert library.musaSetDevice(0) == 0 and library.musaSetDevice is not library.cudaSetDevice
        assert not hasattr(library, "cudaNoSuchThing") and library.strlen(b"four") == 4
        with pytest.raises(AttributeError, match=r"cudaNoSuchThing is musaNoSuchThing on MUSA: .*undefined symbol"):
            library.cudaNoSuchThing  # noqa: B018

    @pytest.mark.parametrize(
        ("file", "cuda", "musa"),
        [
            ("libmccl.so.2", "ncclGetVersion", "mcclGetVersion"),
            ("libmccl.so.2.11.4", "ncclGetVersion", "mcclGetVersion"),
            ("libmublas.so", "cublasCreate_v2", "mublasCreate"),
            ("libmurand-0a1b2c.so.1", "curandCreateGenerator", "murandCreateGenerator"),
        ],
    )
    def test_by_path_and_with_a_version(
        self, build_library: Callable[[str, str], str], file: str, cuda: str, musa: str
    ) -> None:
        path = build_library(file, f"int {musa}(void) {{ return 7; }}")
        library = ctypes.CDLL(path)
        assert library._name == path and library[musa]() == library[cuda]() == 7

    def test_a_name_that_the_library_has_itself_is_not_translated(
        self, build_library: Callable[[str, str], str]
    ) -> None:
        code = "int ncclGetVersion(void) { return 1; } int mcclGetVersion(void) { return 2; }"
        library = ctypes.CDLL(build_library("libmccl.so.3", code))
        assert library.ncclGetVersion() == 1 and library.mcclGetVersion() == 2

    def test_a_library_of_another_name_is_not_touched(self, build_library: Callable[[str, str], str]) -> None:
        library = ctypes.CDLL(build_library("libmccl_helper.so", "int mcclGetVersion(void) { return 2; }"))
        assert not hasattr(library, "ncclGetVersion")


class TestFunctions:
    def test_attribute_item_and_getattr(self) -> None:
        library = ctypes.CDLL("libcudart.so")
        version = ctypes.c_int()
        for function in (library.cudaRuntimeGetVersion, library["cudaRuntimeGetVersion"]):
            assert function(ctypes.byref(version)) == 0 and version.value > 0
            assert function.__name__ == "cudaRuntimeGetVersion"
        assert getattr(library, "cudaSetDevice") is library.cudaSetDevice  # noqa: B009

    def test_argtypes_and_restype(self) -> None:
        library = ctypes.CDLL("libcudart.so")
        library.cudaGetErrorString.restype = ctypes.c_char_p
        library.cudaGetErrorString.argtypes = [ctypes.c_int]
        assert library.cudaGetErrorString(2) == b"out of memory"
        with pytest.raises(ctypes.ArgumentError):
            library.cudaGetErrorString("2")

    def test_names_that_are_not_there(self) -> None:
        library = ctypes.CDLL("libcudart.so")
        assert hasattr(library, "cudaMalloc") and not hasattr(library, "cudaNoSuchThing")
        with pytest.raises(AttributeError, match=r"cudaNoSuchThing is musaNoSuchThing on MUSA: .*undefined symbol"):
            library.cudaNoSuchThing  # noqa: B018
        with pytest.raises(AttributeError, match=r"undefined symbol: no_such_thing$"):
            library["no_such_thing"]
        with pytest.raises(AttributeError):
            library.__wrapped__  # noqa: B018

    def test_names_without_cudas_prefix_are_as_they_are(self) -> None:
        library = ctypes.CDLL("libcudart.so")
        assert library.musaGetDeviceCount(ctypes.byref(ctypes.c_int())) == 0
        assert library.strlen(b"four") == 4

    def test_a_versioned_name_of_an_unversioned_function(self, build_library: Callable[[str, str], str]) -> None:
        ctypes.CDLL(
            build_library(
                "libmublas.so.1", "int mublasCreate(void) { return 3; } int mublasDestroy_v2(void) { return 4; }"
            )
        )
        library = ctypes.CDLL("libcublas.so.12")
        assert library.cublasCreate_v2() == 3 and library.cublasDestroy_v2() == 4
        with pytest.raises(AttributeError, match="cublasSgemm_v2 is mublasSgemm_v2 or mublasSgemm on MUSA"):
            library.cublasSgemm_v2  # noqa: B018

    @pytest.mark.parametrize(
        ("cuda", "musa"),
        [
            ("cudaMalloc", ["musaMalloc"]),
            ("__cudaRegisterFunction", ["__musaRegisterFunction"]),
            ("cuMemAlloc_v2", ["cuMemAlloc_v2"]),
            ("ncclCommInitRank", ["mcclCommInitRank"]),
            ("cublasSgemm_v2", ["mublasSgemm_v2", "mublasSgemm"]),
            ("cublasLtMatmul", ["mublasLtMatmul"]),
            ("cublasLtGetCudartVersion", ["mublasLtGetMusartVersion"]),
            ("curandCreateGenerator", ["murandCreateGenerator"]),
            ("cufftPlan1d", ["mufftPlan1d"]),
            ("cusparseCreate", ["musparseCreate"]),
            ("cusolverDnCreate", ["musolverDnCreate"]),
            ("cuptiSubscribe", ["muptiSubscribe"]),
            ("nvrtcCreateProgram", ["mtrtcCreateProgram"]),
            ("cudaDeviceGetNvSciSyncAttributes", ["musaDeviceGetMtSciSyncAttributes"]),
            ("custom_function", ["custom_function"]),
            ("cudart", ["cudart"]),
            ("free", ["free"]),
        ],
    )
    def test_function_names_are_translated(self, cuda: str, musa: list[str]) -> None:
        assert NativeLibraries(MUSA).symbols(cuda) == musa

    def test_the_tables_are_the_backends(self) -> None:
        other = Backend(
            "x",
            "x",
            "torch_x",
            "x",
            "X_VISIBLE",
            native=Native(libraries={"cudart": NativeLibrary("xrt", {"cuda": "x"})}),
        )
        libraries = NativeLibraries(other)
        assert libraries.symbols("cudaMalloc") == ["xMalloc"] and libraries.symbols("ncclSend") == ["ncclSend"]
        assert libraries.in_file("libnccl.so") is None
        without = NativeLibraries(Backend("y", "y", "torch_y", "y", "Y_VISIBLE"))
        assert without.in_file("libcudart.so") is None and without.symbols("cudaMalloc") == ["cudaMalloc"]

    @pytest.mark.parametrize(
        "name",
        [
            None,
            7,
            "",
            "cudart",
            "libcudart",
            "libcudart.so.tar",
            "libcudart_stub.so",
            "libcuda_utils.so",
            "libcudnn.so.9",
        ],
    )
    def test_other_names_are_no_names_of_cuda_libraries(self, name: Any) -> None:
        assert NativeLibraries(MUSA).in_file(name) is None


class TestFindLibrary:
    def test_a_library_that_is_found_can_be_opened(self) -> None:
        found = ctypes.util.find_library("cudart")
        assert found is not None
        assert device_count(ctypes.cdll.LoadLibrary(found)) == torch.cuda.device_count()

    def test_others_as_ever(self) -> None:
        assert (ctypes.util.find_library("c") or "").startswith("libc.so")
        assert ctypes.util.find_library("no_such_thing") is None

    def test_neither_is_there(self) -> None:
        assert ctypes.util.find_library("cufft") is None

    @pytest.mark.full
    def test_imported_before_torch_or_after(self, musa: Interpreter) -> None:
        for order in (
            "import ctypes.util, torch",
            "import torch, ctypes.util",
            "import torch; from ctypes import util",
        ):
            code = f"{order}\nimport ctypes.util; print(ctypes.util.find_library('cudart'))"
            assert musa.run(code).stdout.strip() == "libcudart.so"

    @pytest.mark.full
    def test_torch_alone_does_not_import_it(self, musa: Interpreter) -> None:
        code = "import musasim; musasim.install(); import torch, torch_musa, sys; print('ctypes.util' in sys.modules)"
        plain = musa.run(code, env={"TORCHADA_DISABLE": "1"})
        if plain.stdout.strip() == "False":
            assert musa.run("import torch, sys; print('ctypes.util' in sys.modules)").stdout.strip() == "False"


# --- well-known users, after their pattern ----------------------------------------------------------------------------------


class IpcHandle(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_byte * 128)]


class CudaRuntime:
    """The runtime as vLLM and others wrap it: a table of functions, looked up at once, and an error raised for each code."""

    FUNCTIONS = (
        ("cudaSetDevice", ctypes.c_int, [ctypes.c_int]),
        ("cudaDeviceSynchronize", ctypes.c_int, []),
        ("cudaDeviceReset", ctypes.c_int, []),
        ("cudaGetErrorString", ctypes.c_char_p, [ctypes.c_int]),
        ("cudaMalloc", ctypes.c_int, [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t]),
        ("cudaFree", ctypes.c_int, [ctypes.c_void_p]),
        ("cudaMemset", ctypes.c_int, [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]),
        ("cudaMemcpy", ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]),
        ("cudaIpcGetMemHandle", ctypes.c_int, [ctypes.POINTER(IpcHandle), ctypes.c_void_p]),
        ("cudaIpcOpenMemHandle", ctypes.c_int, [ctypes.POINTER(ctypes.c_void_p), IpcHandle, ctypes.c_uint]),
    )

    def __init__(self, file: str) -> None:
        library = ctypes.CDLL(file)
        self.functions = {}
        for name, result, arguments in self.FUNCTIONS:
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
            self.functions[name] = function

    def __getattr__(self, name: str) -> Callable[..., None]:
        def call(*arguments: Any) -> None:
            code = self.functions[name](*arguments)
            if code != 0:
                raise RuntimeError(f"CUDART error: {self.functions['cudaGetErrorString'](code).decode()}")

        return call


class TestWellKnownUsers:
    @pytest.mark.parametrize("file", ["libcudart.so", "/usr/local/cuda/lib64/libcudart.so.12"])
    def test_a_wrapper_of_the_runtime(self, file: str) -> None:
        runtime = CudaRuntime(file)
        runtime.cudaSetDevice(1)
        assert torch.cuda.current_device() == 1
        before = torch.cuda.mem_get_info()[0]
        pointer, handle, back = ctypes.c_void_p(), IpcHandle(), (ctypes.c_uint8 * 8)()
        runtime.cudaMalloc(ctypes.byref(pointer), 1 << 20)
        assert torch.cuda.mem_get_info()[0] == before - (1 << 20)
        runtime.cudaMemset(pointer, 7, 8)
        runtime.cudaDeviceSynchronize()
        runtime.cudaMemcpy(back, pointer, 8, 4)
        assert list(back) == [7] * 8
        runtime.cudaIpcGetMemHandle(ctypes.byref(handle), pointer)
        assert any(handle.internal)
        with pytest.raises(RuntimeError, match="CUDART error: invalid device context"):
            runtime.cudaIpcOpenMemHandle(ctypes.byref(ctypes.c_void_p()), handle, 1)
        runtime.cudaFree(pointer)
        assert torch.cuda.mem_get_info()[0] == before
        with pytest.raises(RuntimeError, match="CUDART error: invalid argument"):
            runtime.cudaFree(pointer)
        with pytest.raises(RuntimeError, match="CUDART error: out of memory"):
            runtime.cudaMalloc(ctypes.byref(pointer), 1 << 50)

    def test_looking_for_libcudart_among_the_mapped_files_finds_nothing(self, musa: Interpreter) -> None:
        """They take the name from VLLM_CUDART_SO_PATH then; docs/reference/native-libraries.md says so."""
        musa.run(
            """
            import ctypes, torch
            library = ctypes.CDLL("libcudart.so")
            maps = open("/proc/self/maps").read()
            assert library._name in maps
            assert torch.version.cuda or "libcudart" not in maps    # a CUDA build of torch loads its own
            """
        )

    def test_a_library_of_the_programs_own_beside_the_runtime(self, build_library: Callable[[str, str], str]) -> None:
        """As bitsandbytes does: the runtime by find_library, and then a library of its own."""
        runtime = ctypes.cdll.LoadLibrary(ctypes.util.find_library("cudart") or "")
        own = ctypes.cdll.LoadLibrary(
            build_library("libbitsandbytes_cuda121.so", "int cudaQuantize(int x) { return x / 2; }")
        )
        assert device_count(runtime) > 0 and own.cudaQuantize(8) == 4


@pytest.mark.full
def test_undone_and_done_again(musa: Interpreter, build_library: Callable[[str, str], str]) -> None:
    path = build_library("libcudart.so.12", "int cudaSetDevice(int device) { return 35; }")
    musa.run(
        f"""
        import ctypes, ctypes.util
        init, find = vars(ctypes.CDLL)["__init__"], ctypes.util.find_library
        import torch, torchada
        opened = ctypes.CDLL({path!r})
        assert opened.cudaSetDevice(0) == 0
        assert vars(ctypes.CDLL)["__init__"] is not init and ctypes.util.find_library is not find
        with torchada.disabled():
            assert vars(ctypes.CDLL)["__init__"] is init and ctypes.util.find_library is find
            assert ctypes.CDLL({path!r}).cudaSetDevice(0) == 35
            assert opened.cudaSetDevice(0) == 0
        assert ctypes.CDLL({path!r}).cudaSetDevice(0) == 0
        """
    )
