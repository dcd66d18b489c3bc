"""One source: what is code, words that mean CUDA in some places, guards, strings that are code, any bytes at all."""

from __future__ import annotations

import ast
import shutil
import subprocess

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support import tokenizer
from torchada.porting import CHECK, UNPORTED, PortingError, Project, port_file, port_source
from torchada.porting.findings import MOST
from torchada.porting.project import from_table
from torchada.porting.versions import ARCHITECTURES, OUT_OF_REACH, architecture, version

pytestmark = pytest.mark.once


def ported(source: str) -> str:
    return port_source(source.encode()).text.decode()


def found(source: str) -> list[tuple[str, str, int]]:
    return [(each.kind, each.name, each.line) for each in port_source(source.encode()).findings]


@pytest.mark.parametrize(
    "text",
    [
        "// cudaMalloc\\\n cudaFree",
        "/* cudaMalloc \n cudaFree */",
        '"cudaMalloc"',
        r'"\"cudaMalloc"',
        '"a\\\n cudaMalloc"',
        'R"(cudaMalloc)"',
        'R"x(cudaMalloc)" )x"',
        'u8R"(" cudaMalloc)"',
        'LR"--(cudaMalloc\n)--"',
        "'\"' /* cudaMalloc */",
        "#error cudaMalloc isn't there\n",
        "# warning cudaMalloc \\\n cudaFree",
        "/\\\n/ cudaMalloc",
        "/\\\n* cudaMalloc *\\\n/",
        "1'000'000 // 'cudaMalloc",
        "/* cudaMalloc",
    ],
)
def test_comments_strings_and_messages_stay(text: str) -> None:
    """And what follows them is code again."""
    assert ported(text) == text
    if not text.endswith("cudaMalloc") or "*/" in text:
        after = "\ncudaFree();" if not text.startswith("/* cudaMalloc") or "*/" in text else ""
        assert ported(text + after) == text + after.replace("cuda", "musa")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = 1'0'0; cudaFree(p); c = 'a';", "x = 1'0'0; musaFree(p); c = 'a';"),
        ("x = 0xFF'FF; cudaFree('\\'');", "x = 0xFF'FF; musaFree('\\'');"),
        ("case'a': cudaFree(u8'a', 'b');", "case'a': musaFree(u8'a', 'b');"),
        ('f("a" cudaFree "b");', 'f("a" musaFree "b");'),
        ('FOOR"(" cudaFree(")");', 'FOOR"(" musaFree(")");'),
        ("#define X(a) a##_ /* ' */ cudaFree", "#define X(a) a##_ /* ' */ musaFree"),
        ("#define E(error) #error cudaFree", "#define E(error) #error musaFree"),
        ("%:include <cuda.h>", "%:include <musa.h>"),
        ("  #  include <cuda_runtime.h>", "  #  include <musa_runtime.h>"),
        ("#if __has_include(<cuda_fp8.h>)", "#if __has_include(<musa_fp8.h>)"),
        ('\ufeff#include "cuda.h"', '\ufeff#include "musa.h"'),
        ("µcudaMalloc cudaMallocµ", "µcudaMalloc cudaMallocµ"),
        ("at::cuda::x c10::cuda::y cuda::std::z", "at::musa::x c10::musa::y musa::std::z"),
        ("typename ::cuda::std::enable_if<true>::type x;", "typename ::musa::std::enable_if<true>::type x;"),
        (
            "return ::cuda::std::forward<U>(x); lib::cuda::std::y;",
            "return ::musa::std::forward<U>(x); lib::cuda::std::y;",
        ),
        ("namespace at { namespace cuda { } }", "namespace at { namespace musa { } }"),
        (
            "namespace cuda = at::cuda; using namespace c10::cuda;",
            "namespace musa = at::musa; using namespace c10::musa;",
        ),
        ("namespace lib { namespace cuda { int f(); } } int x = lib::cuda::f() + cuda::f();",) * 2,
        (
            "cuda::getCurrentCUDAStream(); ::cuda::barrier<cuda::thread_scope_block> b;",
            "musa::getCurrentMUSAStream(); ::musa::barrier<musa::thread_scope_block> b;",
        ),
        ("thrust::cuda::par.on(s)", "thrust::musa::par.on(s)"),
        ("bool cuda = cuda_on; f(cuda, cuda##Free);", "bool cuda = cuda_on; f(cuda, musa##Free);"),
        ("torch::kCUDA, c10::DeviceType::CUDA", "torch::kPrivateUse1, c10::DeviceType::PrivateUse1"),
        ("DispatchKey::AutogradCUDA", "DispatchKey::AutogradPrivateUse1"),
        ("TORCH_LIBRARY_IMPL(cudaOps, CUDA, m)", "TORCH_LIBRARY_IMPL(cudaOps, PrivateUse1, m)"),
        ("TORCH_LIBRARY_IMPL(vision, Autocast, m)", "TORCH_LIBRARY_IMPL(vision, AutocastPrivateUse1, m)"),
        ("f<c10::DispatchKey::Autocast>(Autocast::on)", "f<c10::DispatchKey::AutocastPrivateUse1>(Autocast::on)"),
        ("TORCH_LIBRARY_IMPL(vision, AutocastCPU, m)",) * 2,
        ("constexpr int CUDA_1D_KERNEL_LOOP = 8;\nconstexpr int MUSA_1D_KERNEL_LOOP = 9; int x = CUDA_1D_KERNEL_LOOP;",)
        * 2,
        ("int n = MUSA_1D_KERNEL_LOOP + CUDA_1D_KERNEL_LOOP;", "int n = MUSA_1D_KERNEL_LOOP + MUSA_1D_KERNEL_LOOP;"),
        ("int CUDA_1D_KERNEL_LOOP = MUSA_1D_KERNEL_LOOP == 1;", "int MUSA_1D_KERNEL_LOOP = MUSA_1D_KERNEL_LOOP == 1;"),
        (
            "at::autocast::cached_cast(at::kFloat, x.to(a, b));",
            "at::autocast::cached_cast(at::kFloat, x.to(a, b), at::kPrivateUse1);",
        ),
        (
            "autocast::cached_cast (\n  at::kFloat,\n  x)",
            "autocast::cached_cast (\n  at::kFloat,\n  x, at::kPrivateUse1)",
        ),
        (
            "f(autocast::cached_cast(k, x), at::autocast::is_eligible(x), my_autocast::is_eligible(x))",
            "f(autocast::cached_cast(k, x, at::kPrivateUse1), at::autocast::is_eligible(x, at::kPrivateUse1), "
            "my_autocast::is_eligible(x))",
        ),
        ("at::autocast::cached_cast(at::kFloat, x, kind); using at::autocast::cached_cast;",) * 2,
        ("if (at::autocast::is_enabled()) f();", "if (at::autocast::is_autocast_enabled(at::kPrivateUse1)) f();"),
        (
            "at::autocast::set_enabled( false); at::autocast::get_autocast_gpu_dtype();",
            "at::autocast::set_autocast_enabled(at::kPrivateUse1, false); at::autocast::get_autocast_dtype(at::kPrivateUse1);",
        ),
        (
            "TORCH_LIBRARY_IMPL_EXPAND(\n  CAT(a, b), AutocastCUDA, m)",
            "TORCH_LIBRARY_IMPL_EXPAND(\n  CAT(a, b), AutocastPrivateUse1, m)",
        ),
        ("STABLE_TORCH_LIBRARY_IMPL(a,CUDA,m)", "STABLE_TORCH_LIBRARY_IMPL(a,PrivateUse1,m)"),
        ("PYBIND11_MODULE( cudaFree, m) { cudaFree; }", "PYBIND11_MODULE( cudaFree, m) { musaFree; }"),
        ("TORCH_LIBRARY_IMPL(a, /* key */ AutogradCUDA, m)", "TORCH_LIBRARY_IMPL(a, /* key */ AutogradPrivateUse1, m)"),
        (
            "TORCH_LIBRARY_IMPL(/* a; b */ a, // c; d\n CUDA /* e */, m)",
            "TORCH_LIBRARY_IMPL(/* a; b */ a, // c; d\n PrivateUse1 /* e */, m)",
        ),
        ("at::/* here */cuda /* there */ ::x", "at::/* here */musa /* there */ ::x"),
        ("k << <1, 1 >> >(p);", "k <<< 1, 1 >>> (p);"),
        ("k<<\t<n >> 3, f<A<B<C>> >::x>>>(p) >> b;", "k<<<\tn >> 3, f<A<B<C>> >::x>>>(p) >> b;"),
        ("k << <1,\n 1 >>\n >\n(p);", "k <<< 1,\n 1 >>>\n \n(p);"),
        ("operator<< <T>(x); operator /**/ << <T>(x); A<B<C>> >(y);",) * 2,
        ("f<A<B<C<D>>> >(x); a >> > b;",) * 2,
        ("x.is_cuda() && x->is_cuda()", "x.is_privateuseone() && x->is_privateuseone()"),
        ("x.type().is_cuda()", "x.device().is_privateuseone()"),
        ("at::Tensor y = x.cuda();", "at::Tensor y = x.to(at::kPrivateUse1);"),
        ("is_cuda(x) ? is_cuda : 0", "is_cuda(x) ? is_cuda : 0"),
        ("struct D { bool is_cuda() const; }; d.is_cuda();", "struct D { bool is_cuda() const; }; d.is_cuda();"),
    ],
)
def test_code(source: str, expected: str) -> None:
    assert ported(source) == expected
    assert ported(expected) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('torch::Device d("cuda:1");', 'torch::Device d("musa:1");'),
        ('at::Device("cuda")', 'at::Device("musa")'),
        ('dlopen("libcuda.so.1", 1)', 'dlopen("libmusa.so", 1)'),
        ('dlsym(h, "cuMemCreate")', 'dlsym(h, "muMemCreate")'),
        ('cudaGetDriverEntryPoint("cuMemMap", &f, 0)', 'musaGetDriverEntryPoint("muMemMap", &f, 0)'),
        ('auto s = R"(__global__ void f(cudaStream_t) {})";', 'auto s = R"(__global__ void f(musaStream_t) {})";'),
        ('m.def("cudaFree", &cudaFree);', 'm.def("cudaFree", &musaFree);'),
        ('printf("cuMemCreate");', 'printf("cuMemCreate");'),
    ],
)
def test_strings_that_are_code(source: str, expected: str) -> None:
    assert ported(source) == expected
    assert ported(expected) == expected


@pytest.mark.parametrize("operator", [">=", "<", ">", "<=", "==", "!="])
@pytest.mark.parametrize("number", [350, 530, 600, 700, 701, 750, 800, 860, 890, 900, 1000])
@pytest.mark.parametrize(
    "shape", ["__CUDA_ARCH__ {} {}", "__CUDA_ARCH__{}{}", "(__CUDA_ARCH__) {} {}", "{1} {0} __CUDA_ARCH__"]
)
def test_guards_of_architectures(operator: str, number: int, shape: str) -> None:
    """Each is true on an architecture of MUSA exactly when it was on the one that it stands for."""
    before = shape.format(operator, number)
    after = ported(f"#if {before}\n").removeprefix("#if ").strip()
    assert "__MUSA_ARCH__" in after
    for musa, cuda in ARCHITECTURES:
        assert eval(after, {"__MUSA_ARCH__": musa}) == eval(before, {"__CUDA_ARCH__": cuda}), (after, musa)
    assert ported(after) == after


@pytest.mark.parametrize("operator", [">=", "<", ">", "<=", "==", "!="])
@pytest.mark.parametrize("number", [9000, 10020, 11000, 11080, 11081, 12010, 13000])
def test_guards_of_versions(operator: str, number: int) -> None:
    """MUSA, whose own number is 40300 or 50100, counts as CUDA 11.8."""
    after = ported(f"CUDART_VERSION {operator} {number}")
    expected = eval(f"11080 {operator} {number}")
    if operator in ("==", "!=") and number == 11080:
        return  # no number of MUSA's own equals it
    for musa in (30100, 40300, 50100):
        assert eval(after, {"MUSART_VERSION": musa}) == expected, after


def test_the_version_of_the_compiler_is_a_number_and_whether_there_is_one_is_asked_of_the_compiler() -> None:
    source = "#if __CUDACC_VER_MAJOR__ >= 11 && 4 <= __CUDACC_VER_MINOR__\nint v = __CUDACC_VER_MAJOR__ * 10;"
    assert ported(source) == "#if 11 >= 11 && 4 <= 8\nint v = 11 * 10;" and found(source) == []
    newer = port_source(b"#if (__CUDACC_VER_MAJOR__ > 12 || __CUDACC_VER_MINOR__ == 4)", Project(reached=12040))
    assert newer.text == b"#if (12 > 12 || 4 == 4)"
    for asks in ("#ifdef %s", "# if !defined ( %s )", "#undef %s", "#define %s 12", "#if defined %s"):
        assert ported(asks % "__CUDACC_VER_MAJOR__") == asks % "__MUSACC_VER_MAJOR__"
        assert found(asks % "__CUDACC_VER_MAJOR__") == [(CHECK, "__CUDACC_VER_MAJOR__", 1)]
    assert ported("#if defined(A) && (__CUDACC_VER_MINOR__)") == "#if defined(A) && (8)"


def test_the_version_of_a_library_is_that_of_cuda_11_8() -> None:
    """MUSA's own numbers are meant for none of these: flash-attn's fused_dense took its way for the oldest cuBLAS."""
    source = "#if CUBLAS_VERSION >= 11600 && 11000 < CUSPARSE_VERSION\nint v = CUBLAS_VER_MAJOR * 10 + CUFFT_VER_MINOR;"
    assert ported(source) == "#if 111103 >= 11600 && 11000 < 11705\nint v = 11 * 10 + 9;" and found(source) == []
    for asks in ("#ifdef %s", "#if !defined(%s)", "#define %s 12"):
        assert ported(asks % "CURAND_VERSION") == asks % "MURAND_VERSION"
        assert found(asks % "CUSOLVER_VERSION") == [(CHECK, "CUSOLVER_VERSION", 1)]
    newer = port_source(b"#if CUBLAS_VERSION >= 120205", Project(reached=12040))
    assert newer.text == b"#if MUBLAS_VERSION >= 120205" and [each.kind for each in newer.findings] == [CHECK]


def test_a_version_that_is_returned_is_the_one_that_torch_tells() -> None:
    """Packages compare it with torch.version.cuda when they are imported."""
    assert ported("int f() { return CUDA_VERSION; }") == "int f() { return 11080; }"
    assert ported("return\\\n CUDART_VERSION ;") == "return\\\n 11080 ;"
    assert port_source(b"return CUDA_VERSION;", Project(reached=12040)).text == b"return 12040;"
    assert ported("my_return CUDA_VERSION; return (CUDA_VERSION)") == "my_return MUSA_VERSION; return (MUSA_VERSION)"
    assert found("return CUDA_VERSION;") == []


def test_guards_that_no_rule_covers_are_reported() -> None:
    source = (
        "#if __CUDA_ARCH__ / 100 == 8\n#if CUDA_VERSION >= MINE\nint a = __CUDA_ARCH__;\n#if __CUDA_ARCH__ == 750\n"
    )
    assert [line for kind, _, line in found(source) if kind == CHECK] == [1, 2, 3, 4]
    assert found("#if defined(__CUDA_ARCH__) && !defined(CUDA_VERSION)") == []
    assert architecture(900, ">=") == 900 and version(12000, ">=") == 12000 + OUT_OF_REACH


def test_a_name_without_counterpart_stays_and_is_reported_with_its_place() -> None:
    source = """int a;
asm volatile("cp.async.bulk.wait_all;" ::: "memory"); // asm("mov.u32")
if (x) asm volatile("{\\n"
   " mov.b32 %0, %1;}" : "=r"(y)); else cudaGraphConditionalHandleCreate();
asm volatile("" ::: "memory");
__asm__ __volatile__("bar.sync 1, 64;");
#include <cuda/ptx>
void f(const __grid_constant__ CUtensorMap m);
cuda\\
Free(p);
"""
    result = port_source(source.encode())
    assert result.text == source.encode()
    assert [(each.name, each.line) for each in result.unported] == [
        ("cp.async.bulk.wait_all", 2),
        ("mov.b32", 3),
        ("cudaGraphConditionalHandleCreate", 4),
        ("bar.sync", 6),
        ("cuda/ptx", 7),
        ("__grid_constant__", 8),
        ("CUtensorMap", 8),
        ("cudaFree", 9),
    ]
    assert all(each.reason and each.kind == UNPORTED for each in result.findings)
    assert all(each.source == source.split("\n")[each.line - 1].strip() for each in result.findings)


def test_libcuxx_has_its_headers_and_its_namespace() -> None:
    headers = [
        "access_property",
        "atomic",
        "barrier",
        "cmath",
        "latch",
        "memory_resource",
        "pipeline",
        "semaphore",
        "std/span",
        "stream_ref",
        "warp",
    ]
    source = "".join(f"#include <cuda/{name}>\n" for name in headers)
    assert ported(source) == source.replace("cuda", "musa")
    code = (
        "cuda::atomic_ref<int, cuda::thread_scope_device> r(x); r.load(cuda::memory_order_acquire); cuda::stream_ref s;"
    )
    assert ported(code) == code.replace("cuda", "musa")
    project = '#include <cuda/kernels.h>\n#include "cuda/atomic_adds.cuh"\ncuda::my_kernels();'
    assert ported(project) == project
    assert found("#include <nv/target>") == [(UNPORTED, "nv/target", 1)]


def test_a_launch_that_is_spelt_apart_is_reported_once_where_it_begins() -> None:
    source = "f();\nk << <1, 1\n >> >(p); k<<<1, 1>>>(p);"
    assert found(source) == [(CHECK, "<<<", 2)]
    assert found("k << <1, 1;\n") == [(CHECK, "<<<", 1), (UNPORTED, "<<<", 1)]


HOST = (
    "fence.i",
    "vadd.vv v0, v1, v2",
    "ld1 {v0.16b}, [%0]",
    "st.d $a0, $a1, 0",
    "vle8.v v8, (%0)",
    "add.w $a0, $a0",
    "nop",
)


@pytest.mark.parametrize("instruction", [*HOST, "vmax.vx v0, v1, t0", "lock; xaddl %0, %1", "and $t0, $t1"])
def test_assembler_of_other_processors_is_no_finding(instruction: str) -> None:
    """RISC-V, Arm, LoongArch and x86 have words with dots as well, and share some with PTX."""
    assert found(f'void f() {{ asm volatile("{instruction}" : : : "memory"); asm("mov " REGISTER); }}') == []


@pytest.mark.parametrize(
    ("template", "name"),
    [
        ("{ .reg .pred p; setp.ne.and.b32 p, %0, 0, p; }", "setp.ne.and.b32"),
        ("@p0 bra.uni DONE;", "bra.uni"),
        ("brkpt;", "brkpt"),
        ("fence.proxy.async;", "fence.proxy.async"),
        ("ld.global.nc.L1::no_allocate.v4.s32 {%0, %1, %2, %3}, [%4];", "ld.global.nc.l1::no_allocate"),
        ("vadd4.u32.u32.u32 %0, %1, %2, %3;", "vadd4.u32.u32.u32"),
        (
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0}, {%1};",
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        ),
    ],
)
def test_ptx_is_a_finding(template: str, name: str) -> None:
    names = [each[1] for each in found(f'asm volatile("{template}" :: "r"(x));')]
    assert len(names) == 1 and names[0].split(".")[0] == name.split(".")[0]


def test_templates_put_together_by_macros_are_findings_in_code_for_gpus() -> None:
    assert found('__device__ void f() { asm(OP " %0;"); }') == [(UNPORTED, "asm", 1)]
    assert found('__device__ void f() { asm volatile("" OP " %0;"); }') == [(UNPORTED, "asm", 1)]


def test_findings_within_a_program_in_a_string_have_their_own_lines() -> None:
    source = 'auto s = R"(\n__global__ void f() {\n asm("bar.sync 1, 64;"); }\n)";\ncudaGraphConditionalHandleCreate();'
    assert found(source) == [(UNPORTED, "bar.sync", 3), (UNPORTED, "cudaGraphConditionalHandleCreate", 5)]


@pytest.mark.parametrize(
    "within", ["{}", 'auto s = R"(__global__ void f() {{ {} }})";'], ids=["code", "a program in a string"]
)
def test_the_findings_of_one_source_that_nobody_reads_are_counted(within: str) -> None:
    each, other = "cudaGraphConditionalHandleCreate();\n", "x = __CUDA_ARCH__ + 1;\n"
    source = within.format(each * MOST + (each + other) * 3)
    findings = port_source(source.encode()).findings
    assert [finding.line for finding in findings[:MOST]] == list(range(1, MOST + 1))
    more = {finding.kind: (finding.name, finding.line, finding.reason) for finding in findings[MOST:]}
    assert len(findings) == MOST + 2
    assert more[UNPORTED] == ("...", MOST + 1, "3 more from here on") and more[CHECK][2] == "3 more from here on"


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_bytes_outside_names_survive(end: bytes) -> None:
    lines = [
        b"\xef\xbb\xbf#include <cuda.h>",
        b"// \xe9\xff \x80",
        b'"\xe9" cudaFree(\xe9);',
        b"\tx = \\",
        b"  1;",
        b"",
    ]
    expected = end.join(lines).replace(b"<cuda.h>", b"<musa.h>").replace(b"cudaFree", b"musaFree")
    assert port_source(end.join(lines)).text == expected


def test_a_line_directive_names_the_original(tmp_path) -> None:
    file = tmp_path / "a.cu"
    file.write_bytes(b'#include "b.cuh"\r\ncudaFree(p);\r\n')
    (tmp_path / "b.cuh").write_bytes(b"")
    result = port_file(file, origin='/x/"a.cu')
    assert result.text == b'#line 1 "/x/\\"a.cu"\r\n#include "b.muh"\r\nmusaFree(p);\r\n'
    assert result.original_line(3) == 2
    with pytest.raises(PortingError, match=r"nowhere\.cu"):
        port_file(tmp_path / "nowhere.cu")


@pytest.mark.parametrize(
    "name", ["line\nbreak.cu", "carriage\rreturn.cu", 'quote".cu', "back\\\\slash.cu", "back\\n.cu"]
)
def test_a_line_directive_is_one_line_and_one_string_whatever_the_name(name: str) -> None:
    """A compiler that reads it counts lines as the original does and gives the same name; GCC takes no carriage return."""
    text = port_source(b"const char *name = __FILE__;\nint line = __LINE__;\n", origin=name).text
    assert text.count(b"\n") == 3 and b"\r" not in text
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("needs a C++ compiler")
    done = subprocess.run([compiler, "-E", "-P", "-x", "c++", "-"], input=text, capture_output=True, check=True)
    first, second = done.stdout.decode().splitlines()
    assert (
        ast.literal_eval(first.partition("= ")[2].rstrip(";")) == name.replace("\r", "?") and second == "int line = 2;"
    )


def test_rules_of_a_project() -> None:
    project = Project(
        names={"CUDA": "PrivateUse1", "MyThing": "Other"},
        prefixes={"gpu_": "mp_"},
        headers={"vendor/cuda.h": "vendor/musa.h"},
        keep=("cudaMine",),
        reached=12040,
    )
    words = b"REG(op, CUDA, f) MyThing NotMyThing MyThings gpu_x a_gpu_x cudaMine cudaFree"
    source = b"#include <vendor/cuda.h>\n%b\n#if CUDA_VERSION >= 12000" % words
    words = b"REG(op, PrivateUse1, f) Other NotMyThing MyThings mp_x a_gpu_x cudaMine musaFree"
    expected = b"#include <vendor/musa.h>\n%b\n#if MUSA_VERSION >= 12000" % words
    assert port_source(source, project).text == expected
    assert port_source(source).findings, "without the rule, CUDA as an argument is reported"
    for wrong in ({"nmaes": {}}, {"names": ["a"]}, {"keep": "cuda"}, {"reached": "12"}, {"prefixes": {"": "x"}}):
        with pytest.raises(PortingError, match=r"rules\.toml"):
            from_table(wrong, "rules.toml")


WORDS = b"cuda cudaMalloc CUDA __CUDA_ARCH__ include error asm is_cuda cu nccl __nv_half Device __global__ x".split()
MARKS = b'" \' // /* */ \\ R"( )" # < > ( ) :: . 1\'0 , %: TORCH_LIBRARY_IMPL(a, "cuda:0"'.split(b" ")
BLANKS = [b" ", b"\n", b"\r\n", b" >= 800", b"\xef\xbb\xbf", b"\xff", b"\0"]
PIECES = st.sampled_from([*WORDS, *MARKS, *BLANKS])
SOURCES = st.one_of(st.binary(max_size=200), st.lists(PIECES, max_size=40).map(b"".join))


@settings(deadline=None, max_examples=150)
@given(SOURCES)
@example(b'R"(__global__ R"x(cudaMalloc)x")"')
@example(b"#error 'cudaMalloc\n'cudaMalloc'")
def test_any_bytes_are_ported_once_and_for_all(data: bytes) -> None:
    result = port_source(data)
    assert result.text.count(b"\n") == data.count(b"\n")
    assert port_source(result.text).text == result.text
    assert all(1 <= each.line <= data.count(b"\n") + 1 and each.column >= 1 for each in result.findings)


@settings(deadline=None, max_examples=150)
@given(
    st.lists(PIECES.filter(lambda piece: piece not in (b"__global__", b'"cuda:0"', b"\0")), max_size=40).map(b"".join)
)
def test_comments_and_strings_stay_as_another_lexer_sees_them(data: bytes) -> None:
    kinds = (tokenizer.COMMENT, tokenizer.STRING, tokenizer.CHARACTER, tokenizer.NUMBER, tokenizer.MESSAGE)
    before = [token for token in tokenizer.tokens(data) if token.kind in kinds[:3]]
    after = [token for token in tokenizer.tokens(port_source(data).text) if token.kind in kinds[:3]]
    assert [token[:2] for token in before] == [token[:2] for token in after]


@pytest.mark.parametrize("name", ["cudaGridDependencySynchronize", "cudaTriggerProgrammaticLaunchCompletion"])
def test_a_wait_for_the_kernel_before_becomes_nothing(name: str) -> None:
    """As PTX's griddepcontrol, which is the same instruction."""
    ported = port_source(f"if (last) {name}( );\nelse x = 1;\n".encode())
    assert ported.text == b"if (last) ((void)0);\nelse x = 1;\n" and not ported.findings
    for left in (f"auto f = &{name};", f"::{name}();"):
        ported = port_source(left.encode())
        assert ported.text == left.encode() and [finding.kind for finding in ported.findings] == [UNPORTED]


def test_code_under_every_macro_is_ported_in_one_pass() -> None:
    """A build that compiles a file several times, with other macros each time, needs one port of it."""
    source = """#if defined(WITH_HALF)
cudaMalloc(&a, n); __nv_newest();
#elif WITH_DOUBLE
cudaFree(a);
#else
# ifdef __CUDACC__
cudaStream_t s; wgmma_of_mine();
# endif
asm volatile("cp.async.bulk.wait_all;");
#endif
"""
    text = ported(source)
    assert [name in text for name in ("musaMalloc", "musaFree", "musaStream_t", "__MUSACC__")] == [True] * 4
    assert [line for _, _, line in found(source)] == [9], "what has no counterpart is reported in each branch"
    assert text.count("\n") == source.count("\n")


@pytest.mark.parametrize("name", ["cublasSgemm_64", "cublasCgemm_64", "cublasGemmEx_64", "cublasSetMatrix_64"])
def test_sizes_of_64_bits_name_the_function_to_take(name: str) -> None:
    (finding,) = port_source(f"{name}(handle);".encode()).findings
    assert (finding.kind, finding.name) == (UNPORTED, name) and "the one without _64" in finding.reason


@pytest.mark.parametrize(
    ("code", "ported"),
    [
        ("d * X.matrix().block<3,3>(0,0)", "d * X.matrix().template block<3,3>(0,0)"),
        ("p->head<N - 1>() = q.cast<float>();", "p->template head<N - 1>() = q.template cast<float>();"),
        ("m.template block<2, 2>(1, 1)", "m.template block<2, 2>(1, 1)"),
        ("if (list.head < first && last > (2)) {}", "if (list.head < first && last > (2)) {}"),
        ("x.data_ptr<float>()", "x.data_ptr<float>()"),
    ],
)
def test_eigens_member_templates_are_called_as_clang_reads_them(code: str, ported: str) -> None:
    """nvcc takes them without the word where a type depends on a parameter, as lietorch writes them."""
    text = f"template <class T> void f() {{ using Eigen::Matrix; {code}; }}\n"
    assert port_source(text.encode()).text.decode() == text.replace(code, ported)
    assert port_source(code.encode()).text.decode() == code  # not Eigen's
