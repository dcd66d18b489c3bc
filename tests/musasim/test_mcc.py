"""The simulated toolkit: the programs mcc and musaInfo, and compiled kernels. Only tests that say so use torch."""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from musasim import toolkit
from musasim.toolkit.compiler.options import UsageError, parse
from musasim.toolkit.compiler.rewrite import RewriteError, rewrite
from musasim.toolkit.home import FORWARDING, STANDARD_LIBRARY
from support.fresh_process import run as run_python
from torchada.porting import port_source

pytestmark = pytest.mark.once

KERNELS = Path(__file__).parent / "kernels"
BAD_CONFIGURATION, OUT_OF_RESOURCES, BAD_HANDLE, FAILED = 9, 701, 400, 719


@pytest.fixture(scope="module")
def home() -> Path:
    return toolkit.home()


def call(*command: object, ok: bool = True, **options: Any) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, **options)
    assert (done.returncode == 0) == ok, done.stdout + done.stderr
    return done


def build(home: Path, folder: Path, name: str) -> Path:
    program = folder / name
    call(home / "bin" / "mcc", "-O1", "-Wall", "-Werror", KERNELS / f"{name}.mu", "-o", program, "-lmusart")
    return program


# ---------------------------------------------------------------- the folder


def test_the_folder_is_made_once_and_needs_no_torch(home: Path) -> None:
    code = "import sys; sys.modules['torch'] = None; from musasim import toolkit; print(toolkit.home())"
    assert run_python(code).strip() == str(home)
    assert {path.name for path in home.iterdir()} == {"bin", "include", "lib", "manifest.json"}
    assert {"musa_runtime.h", "musa_runtime_api.h", "musa.h", "device_launch_parameters.h", "vector_types.h"} <= {
        path.name for path in (home / "include").iterdir()
    }


#: What torch_musa 2.7.1's own sources include of the toolkit, beside its libraries' headers.
OF_TORCH_MUSA = ("musa.h", "musa_bf16.h", "musa_fp16.h", "musa_profiler_api.h", "musa_runtime.h", "musa_runtime_api.h")


@pytest.mark.parametrize("header", OF_TORCH_MUSA)
def test_the_headers_that_torch_musa_includes_are_complete_by_themselves(
    home: Path, header: str, tmp_path: Path
) -> None:
    (tmp_path / "host.cpp").write_text(f"#include <{header}>\nint main() {{ return 0; }}\n")
    call("c++", "-std=c++17", "-fsyntax-only", "-I", home / "include", tmp_path / "host.cpp")


def test_each_header_that_only_includes_another_can_be_included(home: Path, tmp_path: Path) -> None:
    names = [name for listed in FORWARDING.values() for name in listed.split()]
    names += [f"musa/std/{name}" for name in STANDARD_LIBRARY.split()]
    written_by_hand = Path(toolkit.__file__).parent / "include"
    assert [name for name in names if (written_by_hand / name).exists()] == []  # it would be overwritten
    (tmp_path / "all.mu").write_text("".join(f"#include <{name}>\n" for name in names))
    call(home / "bin" / "mcc", "-std=c++20", "-fsyntax-only", tmp_path / "all.mu")


def test_the_profiler_is_switched_by_its_own_header(home: Path, tmp_path: Path) -> None:
    source = "#include <cuda_profiler_api.h>\nint main() { return cudaProfilerStart() | cudaProfilerStop(); }\n"
    (tmp_path / "main.mu").write_bytes(port_source(source.encode()).text)
    call(home / "bin" / "mcc", tmp_path / "main.mu", "-o", tmp_path / "main", "-lmusart")
    call(tmp_path / "main")


def test_the_programs_need_no_environment(home: Path) -> None:
    info = call(home / "bin" / "musaInfo", env={"MUSASIM_DEVICE_COUNT": "3"}).stdout
    assert info.count("device#") == 3 and "MTT S5000 (simulated)" in info
    assert "mcc version 5.1.0" in call(home / "bin" / "mcc", "--version", env={}).stdout
    assert (
        "no MUSA-capable device" in call(home / "bin" / "musaInfo", env={"MUSASIM_DEVICE_COUNT": "0"}, ok=False).stderr
    )


@pytest.mark.slow
def test_the_drivers_library_answers_queries(home: Path) -> None:
    driver = ctypes.CDLL(str(home / "lib" / "libmusa.so"))
    count, name, context, memory = ctypes.c_int(), ctypes.create_string_buffer(64), ctypes.c_void_p(), ctypes.c_uint64()
    assert driver.muInit(0) == 0 and driver.muDeviceGetCount(ctypes.byref(count)) == 0 and count.value == 2
    assert driver.muDeviceGetName(name, 64, 0) == 0 and name.value == b"MTT S5000 (simulated)"
    assert driver.muDeviceGet(ctypes.byref(count), 5) == 101
    assert driver.muCtxGetCurrent(ctypes.byref(context)) == 0 and context.value
    data, back = ctypes.create_string_buffer(b"device"), ctypes.create_string_buffer(8)
    assert driver.muMemAlloc(ctypes.byref(memory), ctypes.c_size_t(8)) == 0
    assert driver.muMemcpyHtoD(memory, data, ctypes.c_size_t(7)) == 0
    assert driver.muMemcpyDtoH(back, memory, ctypes.c_size_t(7)) == 0 and back.value == b"device"
    first, size, kind = ctypes.c_uint64(), ctypes.c_size_t(), ctypes.c_uint32()
    inside = ctypes.c_uint64(memory.value + 3)
    assert driver.muMemGetAddressRange(ctypes.byref(first), ctypes.byref(size), inside) == 0
    assert first.value == memory.value and size.value >= 8
    first.value = size.value = 0
    assert driver.muPointerGetAttribute(ctypes.byref(first), 11, inside) == 0 and first.value == memory.value
    assert driver.muPointerGetAttribute(ctypes.byref(size), 12, inside) == 0 and size.value >= 8
    assert driver.muPointerGetAttribute(ctypes.byref(kind), 2, inside) == 0 and kind.value == 2
    assert driver.muPointerGetAttribute(ctypes.byref(kind), 99, inside) == 801
    assert driver.muMemFree(memory) == 0
    assert driver.muPointerGetAttribute(ctypes.byref(first), 11, inside) == 1, "it is nobody's memory now"


# ---------------------------------------------------------------- the command line


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["-gencode", "arch=compute_80,code=sm_80"], "unknown argument: '-gencode'"),
        (["--expt-relaxed-constexpr"], "unknown argument: '--expt-relaxed-constexpr'"),
        (["--use_fast_math"], "unknown argument: '--use_fast_math'"),
        (["-Xptxas", "-v"], "unknown argument: '-Xptxas'"),
        (["-Xcompiler", "-fPIC"], "unknown argument: '-Xcompiler'"),
        (["--threads", "4"], "unknown argument: '--threads'"),
        (["-rdc=true"], "unknown argument: '-rdc=true'"),
        (["-maxrregcount=32"], "unknown argument: '-maxrregcount=32'"),
        (["-lineinfo", "-ccbin"], "unknown argument: '-ccbin'"),
        (["-arch=sm_80"], "unknown argument: '-arch=sm_80'"),
        (["--offload-arch=sm_80"], "unsupported MUSA gpu architecture: sm_80"),
        (["--offload-arch=mp_99"], "unsupported MUSA gpu architecture: mp_99"),
        (["-x", "cuda"], "language not recognized: 'cuda'"),
        (["absent.mu"], "no such file or directory: 'absent.mu'"),
        (["-o"], "argument to '-o' is missing"),
        (["-O7"], "unknown argument: '-O7'"),
        (["-fno-such-thing"], "unknown argument: '-fno-such-thing'"),
    ],
)
def test_options_that_are_refused(words: list[str], reason: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(["-c", str(KERNELS / "tensors.mu"), *words])
    assert f"mcc: error: {reason}" in str(caught.value)


def test_a_refusal_names_every_option_and_fails(home: Path) -> None:
    done = call(home / "bin" / "mcc", "-c", KERNELS / "tensors.mu", "-gencode", "arch=a", "--use_fast_math", ok=False)
    assert done.stderr.splitlines() == [
        "mcc: error: unknown argument: '-gencode'",
        "mcc: error: no such file or directory: 'arch=a'",
        "mcc: error: unknown argument: '--use_fast_math'",
    ]
    assert call(home / "bin" / "mcc", ok=False).stderr == "mcc: error: no input files\n"


def test_options_that_builds_pass(tmp_path: Path) -> None:
    (tmp_path / "more.rsp").write_text("-DTEXT='a b' '-I/with space'\n--offload-arch=mp_31")
    source = str(KERNELS / "tensors.mu")
    before = "-o x.o -O3 -Od3 -std=c++20 -fPIC -march=native -mtgpu -fmusa-flush-denormals-to-zero -ffast-math --offload-arch=mp_22"
    after = (
        "-Wall -Wno-unused -pthread -isystem /inc -MMD -MF x.d -U NDEBUG -fvisibility=hidden -g -mllvm -mtgpu-opt-level=1 "
        "-fno-strict-aliasing -flto=auto -fno-lto -Wl,-rpath,/here -L/lib -lmusart -fno-strict-overflow"
    )
    options = parse(["-c", source, *before.split(), f"@{tmp_path}/more.rsp", *after.split()])
    assert (options.mode, options.output, options.standard) == ("compile", "x.o", "-std=c++20")
    assert (options.architectures, options.architecture) == ([22, 31], 31)
    assert options.preprocess == ["-D", "TEXT=a b", "-I", "/with space", "-isystem", "/inc", "-U", "NDEBUG"]
    assert options.dependencies == ["-MMD", "-MF", "x.d"]
    assert {"-O3", "-fPIC", "-march=native", "-g", "-pthread", "-Wall"} <= set(options.compile)
    assert not {"-ffast-math", "-mtgpu"} & set(options.compile), "options for the device's compiler only"
    assert options.link[-3:] == ["-Wl,-rpath,/here", "-L/lib", "-lmusart"]


def test_device_code_is_linked_into_an_object_of_its_own(home: Path, tmp_path: Path) -> None:
    """As builds with separable compilation link it, before all objects are linked."""
    (tmp_path / "a.mu").write_text(
        'extern "C" __global__ void a() {}\nint main() { a<<<1, 1>>>(); return musaGetLastError(); }\n'
    )
    mcc = home / "bin" / "mcc"
    call(mcc, "-fgpu-rdc", "-c", "a.mu", "-o", "a.o", cwd=tmp_path)
    call(mcc, "-dlink", "--offload-arch=mp_31", "a.o", "-o", "linked.o", cwd=tmp_path)
    call(mcc, "a.o", "linked.o", "-o", "a", "-lmusart", cwd=tmp_path)
    call(tmp_path / "a")


def test_dependency_files_make_ninja_build_what_has_changed(home: Path, tmp_path: Path) -> None:
    (tmp_path / "value.muh").write_text("#define VALUE 1\n")
    (tmp_path / "k.mu").write_text('#include "value.muh"\n__global__ void k(int* out) { *out = VALUE; }\n')
    (tmp_path / "build.ninja").write_text(
        f"rule mcc\n  command = {home}/bin/mcc -MD -MF $out.d -c $in -o $out\n  depfile = $out.d\n  deps = gcc\n"
        "build k.o: mcc k.mu\n"
    )
    assert "mcc" in call("ninja", "-v", cwd=tmp_path).stdout
    assert "no work to do" in call("ninja", cwd=tmp_path).stdout
    os.utime(tmp_path / "value.muh", (2e9, 2e9))
    assert "no work to do" not in call("ninja", "-n", cwd=tmp_path).stdout
    preprocessed = call(home / "bin" / "mcc", "-E", tmp_path / "k.mu", "-MMD", "-MF", tmp_path / "e.d").stdout
    assert "*out = 1;" in preprocessed and "value.muh" in (tmp_path / "e.d").read_text()


def test_a_name_with_a_second_meaning_in_a_class_is_compiled_as_clang_does(home: Path, tmp_path: Path) -> None:
    """GCC refuses it, by an option that would let other errors pass: those stay errors."""
    mcc, meaning = (
        home / "bin" / "mcc",
        "template <class T> struct packed {};\nstruct of { using packed = packed<int>; };\n",
    )
    (tmp_path / "k.mu").write_text(f"{meaning}__global__ void k(int* out) {{ *out = sizeof(of::packed); }}\n")
    call(mcc, "-c", tmp_path / "k.mu", "-o", tmp_path / "k.o")
    (tmp_path / "k.mu").write_text(f"{meaning}__global__ void k(const int* in) {{ int* out = in; }}\n")
    failed = call(mcc, "-c", tmp_path / "k.mu", "-o", tmp_path / "k.o", ok=False)
    assert failed.returncode == 1 and "invalid conversion from" in failed.stderr


# ---------------------------------------------------------------- what is refused in sources


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("void f(int* p) {\n  k<<<1>>>(p);\n}", 2, "too few execution configuration arguments"),
        ("void f(int* p) {\n  k<<<1, 2, 3, 4, 5>>>(p);\n}", 2, "too many to kernel function call"),
        ("void f(int* p) {\n  k<<<1, 2(p);\n}", 2, "expected '>>>'"),
        ("__global__ int k(int* p) { return 1; }", 1, "must have void return type, not 'int'"),
        ("\n__global__ void k(...) {}", 2, "variadic kernel function 'k'"),
        ("\n\n__global__ int x;", 3, "'__global__' attribute only applies to functions"),
        ("__global__ void k() {\n extern __shared__ int x;\n}", 2, "must be one array of unknown bound"),
        ("__global__ void __cluster_dims__(2, 1, 1) k() {}", 1, "clusters are not supported"),
        ("__global__ void k(int* p) {\n\n musaMalloc(&p, 4);\n}", 3, "__host__ function 'musaMalloc' in __global__"),
        (
            "int h(int x) { return x; }\n__global__ void k(int* p) { *p = h(1); }",
            2,
            "__host__ function 'h' in __global__",
        ),
        ("int h() { return 1; }\n__device__ int d() {\n return h(); }", 3, "'h' in __device__ function 'd'"),
        (
            'void h() {\n asm volatile("bar.sync 0;");\n}',
            2,
            "'bar.sync' is not an instruction of this device",
        ),
    ],
)
def test_sources_that_are_refused(text: str, line: int, reason: str, tmp_path: Path) -> None:
    with pytest.raises(RewriteError) as caught:
        rewrite(f'# 1 "{tmp_path}/k.mu"\n{text}\n', "31", f"{tmp_path}/k.mu")
    assert f"{tmp_path}/k.mu:{line}: error: " in str(caught.value) and reason in str(caught.value)


def test_sources_that_are_not_refused(tmp_path: Path) -> None:
    """Names that only look like host functions, literals that look like launches, and operators that look like both."""
    text = r"""
    const char* a = "k<<<1>>>() __shared__ \" __global__"; const char* b = R"x(k<<<1>>>(p); "__global__ int f();)x";
    template <class T> struct S { friend S& operator<<<>(S&, T); char c = '"'; int n = 1'000'000; };
    int h(int x) { return x; } constexpr int c(int x) { return x; } int both(int); __device__ int both(int x) { return x; }
    struct M { int h(int); int operator()(int) const; };
    __host__ __device__ int either(int x) { return h(x); }
    __global__ void k(M m, int* p) { auto h = [](int x) { return x; }; p[0] = h(m.h(c(1))) + both(2) + either(3); }
    void host(int* p) { h(2); auto lambda = [] __device__ (int) { return 1; }; asm volatile("nop"); }
    """
    # Headers of the system and of an environment in the project's folder.
    text += "__global__ void calls() { of_system(1); of_environment(1); }\n"
    text += f'# 1 "{tmp_path}/s.h" 3\nint of_system(int x) {{ return x; }}\n'
    text += f'# 1 "{tmp_path}/site-packages/e.h"\nint of_environment(int x) {{ return x; }}\n'
    result = rewrite(f'# 1 "{tmp_path}/k.mu"\n{text}\n', "31", f"{tmp_path}/k.mu")
    assert '"k<<<1>>>() __shared__ \\" __global__"' in result and 'R"x(k<<<1>>>(p); "__global__ int f();)x"' in result
    assert "operator<<<>(S&, T)" in result and "__device__" not in result and result.count("\n") == text.count("\n") + 2


def test_errors_name_the_users_file_and_line(home: Path, tmp_path: Path) -> None:
    """The errors are in a header's template, in a launch through a macro, and after rewritten lines."""
    (tmp_path / "h.muh").write_text(
        "template <class T>\n__global__ void __launch_bounds__(\n    64) t(T* out) {\n  __shared__ T s[2];\n  out[0] = absent;\n}\n"
    )
    (tmp_path / "k.mu").write_text(
        '#include "h.muh"\n#define RUN(k) k<<<1, 1>>>(out, 1)\n__global__ void f(int*) {}\nvoid run(int* out) {\n'
        "  f<<<\n    1,\n    2>>>(out);\n  RUN(f);\n}\n"
    )
    done = call(home / "bin" / "mcc", "-c", "k.mu", cwd=tmp_path, ok=False)
    assert "h.muh:5:" in done.stderr and "'absent' was not declared" in done.stderr.replace("‘", "'").replace("’", "'")
    assert "k.mu:8:" in done.stderr and "too many arguments" in done.stderr
    assert "k.mu:7" not in done.stderr and not (tmp_path / "k.o").exists()


@pytest.mark.parametrize("folder", ["-I", "-isystem"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_assembly_of_another_device_is_an_error_where_it_is_emitted(
    level: str, folder: str, home: Path, tmp_path: Path
) -> None:
    """PyTorch's headers have templates and inline functions with PTX, which an extension may include and not call."""
    (tmp_path / "headers").mkdir()
    (tmp_path / "headers" / "lanes.muh").write_text(
        'template <class T> __device__ T of_template(T x) {\n  asm("mov.u32 %0, %%laneid;" : "=r"(x));\n  return x;\n}\n'
        '__device__ inline int of_all() {\n  int x;\n  asm volatile("mov.s32 %0, %%laneid;" : "=r"(x));\n  return x;\n}\n'
    )
    kernel = '#include "lanes.muh"\n__global__ void k(int* out) {{ *out = {0}; }}\n'
    command = [home / "bin" / "mcc", level, folder, tmp_path / "headers", "-c", "k.mu"]
    (tmp_path / "k.mu").write_text(kernel.format("1"))
    call(*command, cwd=tmp_path)
    for called, line, instruction in (("of_template(2)", 2, "mov.u32"), ("of_all()", 7, "mov.s32")):
        (tmp_path / "k.mu").write_text(kernel.format(called))
        message = call(*command, cwd=tmp_path, ok=False).stderr
        assert f"lanes.muh:{line}:" in message and f"'{instruction}' is not an instruction of this device" in message


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_too_much_shared_data_is_an_error_of_its_line(level: str, home: Path, tmp_path: Path) -> None:
    (tmp_path / "k.mu").write_text("\n__global__ void big() { __shared__ int s[20000]; s[0] = 1; }\n")
    done = call(home / "bin" / "mcc", level, "-c", "k.mu", cwd=tmp_path, ok=False)
    assert "too much shared data" in done.stderr and "k.mu:2:" in done.stderr and not (tmp_path / "k.o").exists()


def test_shared_data_of_any_size_may_stand_where_the_code_is_never_reached(home: Path, tmp_path: Path) -> None:
    """A template with two ways to get its memory chooses by its argument; the compiler drops the other way."""
    (tmp_path / "k.mu").write_text(
        "template <int KB> __global__ void k(int* out) {\n"
        "  if (KB <= 48) { __shared__ int s[KB > 48 ? 1 << 24 : 64]; s[0] = KB; out[0] = s[0]; } else { out[0] = -KB; }\n}\n"
        "void run(int* out) { k<32><<<1, 1>>>(out); k<96><<<1, 1>>>(out); }\n"
    )
    for level in ("-O0", "-O2"):
        call(home / "bin" / "mcc", level, "-c", "k.mu", cwd=tmp_path)


# ---------------------------------------------------------------- what kernels do


def test_kernels_and_launches_can_be_written_in_every_way(home: Path, tmp_path: Path) -> None:
    assert call(build(home, tmp_path, "launches")).stdout == "0 wrong\n"


def test_the_runtime_around_kernels(home: Path, tmp_path: Path) -> None:
    assert call(build(home, tmp_path, "runtime")).stdout == "thread 0 of 2\nthread 1 of 2\n0 wrong\n"


def test_two_libraries_may_have_kernels_of_one_name(home: Path, tmp_path: Path) -> None:
    """Each has its own shared variables, although C++ would merge them. Code for another architecture does not run."""
    source = (
        "template <class T> __global__ void k(T* out) { __shared__ T s[SIZE]; s[threadIdx.x] = SIZE; __syncthreads();\n"
        "  *out = s[SIZE - 1] + sizeof(s); }\n"
        'extern "C" int run(int* out) { k<int><<<1, SIZE>>>(out); return musaGetLastError(); }\n'
    )
    (tmp_path / "k.mu").write_text(source)
    for size, architecture in ((2, "mp_31"), (64, "mp_31"), (4, "mp_22")):
        flags = [f"-DSIZE={size}", f"--offload-arch={architecture}", "-fPIC", "-shared"]
        call(home / "bin" / "mcc", *flags, tmp_path / "k.mu", "-o", tmp_path / f"k{size}.so", "-lmusart")
    code = f"""
    import ctypes
    for size in (2, 64, 4):
        out = ctypes.c_int()
        error = ctypes.CDLL(f"{tmp_path}/k{{size}}.so").run(ctypes.byref(out))
        print(error, out.value)
    """
    assert run_python(code, install=False) == f"0 {2 + 8}\n0 {64 + 256}\n209 0\n"


# For each failing launch: its error, which all later calls return too if it breaks the device, and the message.
REFUSED = {
    "no threads": ("musaErrorInvalidConfiguration", BAD_CONFIGURATION),
    "many threads": ("musaErrorInvalidConfiguration", BAD_CONFIGURATION),
    "deep block": ("musaErrorInvalidConfiguration", BAD_CONFIGURATION),
    "tall grid": ("musaErrorInvalidConfiguration", BAD_CONFIGURATION),
    "negative": ("musaErrorInvalidConfiguration", BAD_CONFIGURATION),
    "bounds": ("musaErrorLaunchOutOfResources", OUT_OF_RESOURCES),
    "shared": ("musaErrorInvalidValue", 1),
    "stream": ("musaErrorInvalidResourceHandle", BAD_HANDLE),
    "other device": ("musaErrorInvalidResourceHandle", BAD_HANDLE),
    "no configuration": ("musaErrorMissingConfiguration", 52),
    "not a kernel": ("musaErrorInvalidDeviceFunction", 98),
    "memory": ("musaErrorMemoryAllocation", 2),
}
STICKY = {
    "bad address": (
        700,
        "kernel bad_address, block (0, 0, 0), thread (2, 0, 0): no memory of the device at address 0x10",
    ),
    "assert": (710, "asserts(int*): block: [0,0,0], thread: [3,0,0] Assertion `threadIdx.x != 3 &&"),
    "trap": (FAILED, "kernel traps, block (0, 0, 0), thread (1, 0, 0): __trap()"),
    "divide": (FAILED, "thread (1, 0, 0): an integer was divided by zero"),
    "throw": (FAILED, "an exception left the kernel: no"),
    "host call": (FAILED, "a kernel called a function of the host's runtime"),
    "two barriers": (FAILED, "divergent barrier: this thread is at"),
    "barrier and warp": (FAILED, "deadlock: no thread of the block can continue\n  thread (0, 0, 0) waits in"),
    "wrong mask": (FAILED, "__syncwarp: the mask does not contain the calling lane"),
    "recursion": (700, "the thread's stack is full"),
    "grid barrier": (FAILED, "a grid barrier in a launch that is not cooperative"),
}


def test_failing_launches_report_their_error(home: Path, tmp_path: Path) -> None:
    program = build(home, tmp_path, "faults")
    for what, (name, error) in REFUSED.items():
        assert call(program, what).stdout == f"{name} 0 {error} 0\nno error\n", what
    for what, (error, message) in STICKY.items():
        done = call(program, what)
        launch, *later = done.stdout.splitlines()[0].split()
        assert later == [str(error)] * 3 and launch.startswith("musaError"), what
        assert done.stdout.splitlines()[1] != "no error" and message in done.stderr, what


# ---------------------------------------------------------------- with torch


@pytest.mark.full
@pytest.mark.musa
def test_kernels_work_on_torchs_tensors(home: Path, tmp_path: Path) -> None:
    """They use torch's streams and graphs, in one process with its runtime. After a fault, torch raises its error too."""
    library = tmp_path / "libtensors.so"
    call(home / "bin" / "mcc", "-O1", "-fPIC", "-shared", KERNELS / "tensors.mu", "-o", library, "-lmusart")
    out = run_python(
        f"""
        import ctypes, torch, torch_musa
        kernels = ctypes.CDLL({str(library)!r})
        loaded = {{line.split()[-1] for line in open("/proc/self/maps") if "libmusart" in line}}
        assert len(loaded) == 1, loaded
        p = lambda tensor: ctypes.c_void_p(tensor.data_ptr())
        s = lambda stream: ctypes.c_void_p(stream.musa_stream)
        x = torch.rand(7, 300, device="musa")
        out = torch.empty(7, device="musa")
        assert kernels.row_sums_float(p(x), p(out), 7, 300, s(torch.musa.current_stream())) == 0
        torch.testing.assert_close(out.cpu(), x.cpu().sum(1))

        stream, event = torch.musa.Stream(), torch.musa.Event()
        with torch.musa.stream(stream):
            torch.musa._sleep(50_000_000)
            kernels.row_sums_float(p(x), p(out), 7, 300, s(stream))
            event.record()
        assert not event.query()
        event.synchronize()
        assert event.query()

        graph = torch.musa.MUSAGraph()
        with torch.musa.graph(graph):
            y = x * 2
            out.zero_()
            assert kernels.row_sums_float(p(y), p(out), 7, 300, s(torch.musa.current_stream())) == 0
            z = out + 1
        for factor in (1, 3):
            x.fill_(factor)
            graph.replay()
            assert z.tolist() == [factor * 600 + 1.0] * 7, z

        x.fill_(-1)
        kernels.refuse_negative(p(x), 4, s(torch.musa.current_stream()))
        for action in (torch.musa.synchronize, x.cpu, lambda: x[0, 0].item()):
            try:
                action()
            except RuntimeError as error:
                print(str(error).splitlines()[0])
        """
    )
    assert out == "MUSA error: device-side assert triggered\n" * 3


def test_many_threads_pass_many_barriers(home: Path, tmp_path: Path) -> None:
    """100 thousand threads pass nine barriers, in independent blocks."""
    (tmp_path / "k.mu").write_text(
        "__global__ void k(int* p) { __shared__ int s[256]; s[threadIdx.x] = 0;\n"
        "  for (int i = 0; i < 8; ++i) { __syncthreads(); s[(threadIdx.x + i) % 256] += 1; }\n"
        "  __syncthreads(); if (threadIdx.x == 0) p[blockIdx.x] = s[0]; }\n"
        "int main() { int *p, last; musaMalloc(&p, 4096); k<<<391, 256>>>(p);\n"
        "  musaMemcpy(&last, p + 390, 4, musaMemcpyDeviceToHost); return last != 8; }\n"
    )
    call(home / "bin" / "mcc", "-O2", tmp_path / "k.mu", "-o", tmp_path / "k", "-lmusart")
    subprocess.run([tmp_path / "k"], check=True, timeout=120)
