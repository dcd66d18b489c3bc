"""PTX through shared memory: addresses, loads and stores, copies in the background, matrices that a warp loads and multiplies."""

from __future__ import annotations

import ctypes
import random
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from musasim import toolkit
from torchada.porting import CHECK, UNPORTED, port_source

pytestmark = pytest.mark.once

LANES = 32


def built(folder: Path, source: str, findings: int = 0) -> ctypes.CDLL:
    result = port_source(source.encode())
    assert [finding.kind for finding in result.findings] == [CHECK] * findings, result.findings
    assert b"asm" not in result.text and result.text.count(b"\n") == source.count("\n")
    (folder / "all.mu").write_bytes(b"#include <musa_fp16.h>\n" + result.text)
    command = [
        toolkit.home() / "bin" / "mcc",
        "-O1",
        "-shared",
        "-fPIC",
        folder / "all.mu",
        "-o",
        folder / "all.so",
        "-lmusart",
    ]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(folder / "all.so"))


# in: 512 halves, of which 2 * i is at i. out: 16 words of each lane.
MEMORY = r"""
#include <cuda_runtime.h>
#include <stdint.h>
__device__ __forceinline__ uint32_t number(const void* p) {
  uint32_t n;
  asm("{ .reg .u64 s; cvta.to.shared.u64 s, %1; cvt.u32.u64 %0, s; }" : "=r"(n) : "l"(p));
  return n;
}
template <int N>
__device__ __forceinline__ void copy(uint32_t to, const void* from, int read) {
  asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2, %3;\n" ::"r"(to), "l"(from), "n"(N), "r"(read));
}
__global__ void all(const uint16_t* in, uint32_t* out) {
  __shared__ uint32_t other[3];
  __shared__ __align__(16) uint16_t tile[32][24];
  extern __shared__ uint32_t dynamic[];
  const uint32_t lane = threadIdx.x;
  uint32_t r[16] = {};
  const uint32_t row = static_cast<uint32_t>(__cvta_generic_to_shared(&tile[lane][0]));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(row), "l"(in + 8 * lane));
  copy<8>(row + 16, in + 8 * lane, lane % 2 * 8);
  copy<4>(row + 24, in + 8 * lane, 2);
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %0, 0; @p cp.async.ca.shared.global [%1], [%2], 4; }"
               ::"r"(lane % 2), "r"(row + 32), "l"(in));
  asm volatile("cp.async.commit_group;\n" ::);
  asm volatile("cp.async.wait_group %0;\n" ::"n"(0));
  if (lane < 3) other[lane] = lane;
  dynamic[lane] = 100 + lane;
  __syncthreads();
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(row + 16));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7]) : "r"(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2+0];" : "=r"(r[8]), "=r"(r[9]) : "r"(row));
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r[10]) : "r"(r[4]));
  asm volatile("ld.shared.u32 %0, [%1+4];" : "=r"(r[11]) : "r"(number(dynamic) + 4 * (lane % 31)));
  __syncwarp();
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(number(dynamic + lane)), "r"(7 * lane) : "memory");
  r[12] = dynamic[lane];
  asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(r[13]) : "r"(number(other + lane % 3)), "r"(0));
  r[14] = number(tile) % 16 == 0 && number(tile + 1) - number(tile) == 48 && number(other) != number(dynamic);
  const float half = 0.5f;
  asm volatile("{ .reg .f32 x; st.shared.f32 [%1], %2; ld.shared.f32 x, [%1]; mov.b32 %0, x; }"
               : "=r"(r[15]) : "r"(row), "f"(half));
  for (int i = 0; i < 16; ++i) out[16 * lane + i] = r[i];
}
extern "C" int run(const uint16_t* in, uint32_t* out) {
  uint16_t* x;
  uint32_t* y;
  cudaMalloc(&x, 1024);
  cudaMalloc(&y, 2048);
  cudaMemcpy(x, in, 1024, cudaMemcpyHostToDevice);
  all<<<1, 32, 128>>>(x, y);
  cudaMemcpy(out, y, 2048, cudaMemcpyDeviceToHost);
  return cudaDeviceSynchronize();
}
"""


def pair(low: int, high: int) -> int:
    return low | high << 16


def of_memory(lane: int) -> list[int]:
    """What each word has to be, from where PTX's manual says that the elements of 8 x 8 matrices are."""
    group, place = divmod(lane, 4)

    def element(row: int, column: int) -> int:
        return 2 * (8 * row + column)

    first = 16 * lane
    copied = [pair(first, first + 2), pair(first + 4, first + 6)] if lane % 2 else [0, 0]
    unwritten = 0xFFFFFFFF
    rows = [pair(element(8 * at + group, 2 * place), element(8 * at + group, 2 * place + 1)) for at in range(4)]
    columns = [pair(element(8 * at + 2 * place, group), element(8 * at + 2 * place + 1, group)) for at in range(2)]
    return [*copied, first, unwritten, *rows, *columns, columns[0], 101 + lane % 31, 7 * lane, lane % 3, 1, 0x3F000000]


@pytest.mark.full
def test_what_a_block_shares_is_reached_by_numbers_of_32_bits(tmp_path: Path) -> None:
    library = built(tmp_path, MEMORY)
    given, got = (ctypes.c_uint16 * 512)(*range(0, 1024, 2)), (ctypes.c_uint32 * 512)()
    assert library.run(given, got) == 0
    for lane in range(LANES):
        assert got[16 * lane : 16 * lane + 16] == of_memory(lane), lane


@dataclass(frozen=True)
class Product:
    """A shape with the types of its sum and factors, and where the registers of a lane begin, from its own row and place."""

    shape: str
    types: str
    left: Sequence[tuple[int, int]]
    right: Sequence[int]
    satfinite: str = ""

    @property
    def size(self) -> tuple[int, int, int]:
        rows, rest = self.shape[1:].split("n8k")
        return int(rows), 8, int(rest)

    @property
    def of_register(self) -> int:
        """How many elements a register of the factors has."""
        return self.size[2] // (4 * len(self.right))


ROWS_OF_16 = ((0, 0), (8, 0))
PRODUCTS = [
    Product("m16n8k8", "f32.f16.f16.f32", ROWS_OF_16, (0,)),
    Product("m16n8k16", "f32.f16.f16.f32", (*ROWS_OF_16, (0, 8), (8, 8)), (0, 8)),
    Product("m16n8k16", "f16.f16.f16.f16", (*ROWS_OF_16, (0, 8), (8, 8)), (0, 8)),
    Product("m16n8k8", "f32.bf16.bf16.f32", ROWS_OF_16, (0,)),
    Product("m16n8k16", "f32.bf16.bf16.f32", (*ROWS_OF_16, (0, 8), (8, 8)), (0, 8)),
    Product("m16n8k4", "f32.tf32.tf32.f32", ROWS_OF_16, (0,)),
    Product("m16n8k8", "f32.tf32.tf32.f32", (*ROWS_OF_16, (0, 4), (8, 4)), (0, 4)),
    Product("m16n8k32", "f32.e4m3.e4m3.f32", (*ROWS_OF_16, (0, 16), (8, 16)), (0, 16)),
    Product("m16n8k32", "f32.e5m2.e4m3.f32", (*ROWS_OF_16, (0, 16), (8, 16)), (0, 16)),
    Product("m8n8k16", "s32.s8.s8.s32", ((0, 0),), (0,), ".satfinite"),
    Product("m16n8k16", "s32.u8.s8.s32", ROWS_OF_16, (0,)),
    Product("m16n8k32", "s32.s8.s8.s32", (*ROWS_OF_16, (0, 16), (8, 16)), (0, 16), ".satfinite"),
    Product("m8n8k32", "s32.s4.u4.s32", ((0, 0),), (0,)),
    Product("m16n8k64", "s32.s4.s4.s32", (*ROWS_OF_16, (0, 32), (8, 32)), (0, 32)),
    Product("m8n8k4", "f64.f64.f64.f64", ((0, 0),), (0,)),
]


HEAD = """
#include <cuda_runtime.h>
#include <stdint.h>
template <typename T> T* copied(const T* from, size_t count) {
  T* to;
  cudaMalloc(&to, count * sizeof(T));
  cudaMemcpy(to, from, count * sizeof(T), cudaMemcpyHostToDevice);
  return to;
}
"""


def kernel(at: int, product: Product) -> str:
    total = product.types.partition(".")[0]
    lefts, rights = len(product.left), len(product.right)
    sums = product.size[0] // 8 * (1 if total == "f16" else 2)
    held = {"f32": ("f", "float"), "f64": ("d", "double")}.get(total, ("r", "uint32_t"))
    factor = ("d", "double") if total == "f64" else ("r", "uint32_t")
    counts = (sums, lefts, rights, sums)
    first = [sum(counts[:n]) for n in range(4)]
    operands = ", ".join("{" + ", ".join(f"%{first[n] + i}" for i in range(counts[n])) + "}" for n in range(4))
    outputs = ", ".join(f'"={held[0]}"(d[{i}])' for i in range(sums))
    inputs = ", ".join(
        f'"{kind[0]}"({name}[{i}])'
        for name, kind, count in (("a", factor, lefts), ("b", factor, rights), ("c", held, sums))
        for i in range(count)
    )
    return f"""
__global__ void of_{at}(const {factor[1]}* all_a, const {factor[1]}* all_b, {held[1]}* all_c) {{
  const {factor[1]} *a = all_a + {lefts} * threadIdx.x, *b = all_b + {rights} * threadIdx.x;
  {held[1]}* c = all_c + {sums} * threadIdx.x;
  {held[1]} d[{sums}];
  asm volatile("mma.sync.aligned.{product.shape}.row.col{product.satfinite}.{product.types} "
               "{operands};\\n" : {outputs} : {inputs});
  for (int i = 0; i < {sums}; ++i) c[i] = d[i];
}}
extern "C" int run_{at}(const {factor[1]}* a, const {factor[1]}* b, {held[1]}* c) {{
  auto *x = copied(a, 32 * {lefts}), *y = copied(b, 32 * {rights});
  auto* z = copied(c, 32 * {sums});
  of_{at}<<<1, 32>>>(x, y, z);
  cudaMemcpy(c, z, 32 * {sums} * sizeof(*c), cudaMemcpyDeviceToHost);
  return cudaDeviceSynchronize();
}}
"""


def f8(value: int, exponent_bits: int) -> int:
    """The bits of a small whole number as an 8-bit float."""
    if value == 0:
        return 0
    exponent = abs(value).bit_length() - 1
    mantissa_bits = 7 - exponent_bits
    mantissa = (abs(value) << mantissa_bits >> exponent) - (1 << mantissa_bits)
    bias = (1 << exponent_bits - 1) - 1
    return (value < 0) << 7 | exponent + bias << mantissa_bits | mantissa


def bits(value: int, type_: str) -> int:
    if type_ in ("f32", "tf32"):
        return int(struct.unpack("<I", struct.pack("<f", value))[0])
    if type_ == "f64":
        return int(struct.unpack("<Q", struct.pack("<d", value))[0])
    if type_ == "f16":
        return int(struct.unpack("<H", struct.pack("<e", value))[0])
    if type_ == "bf16":
        return bits(value, "f32") >> 16
    if type_[0] == "e":
        return f8(value, int(type_[1]))
    return value & (1 << int(type_[1:])) - 1


WIDTHS = {
    "f16": 16,
    "bf16": 16,
    "tf32": 32,
    "f32": 32,
    "f64": 64,
    "e4m3": 8,
    "e5m2": 8,
    "s8": 8,
    "u8": 8,
    "s4": 4,
    "u4": 4,
    "s32": 32,
}


def words(values: Sequence[int], type_: str) -> int:
    """Elements in one register, the first of them lowest."""
    return sum(bits(value, type_) << WIDTHS[type_] * at for at, value in enumerate(values))


def pairs(values: Sequence[int], type_: str) -> list[int]:
    """What two neighbours of a sum are held in: one register if they are halves."""
    return [words(values, type_)] if type_ == "f16" else [bits(value, type_) for value in values]


@pytest.mark.full
def test_products_of_matrices_are_those_of_their_elements(tmp_path: Path) -> None:
    library = built(tmp_path, HEAD + "".join(map(kernel, range(len(PRODUCTS)), PRODUCTS)), len(PRODUCTS))
    random.seed(0)
    for at, product in enumerate(PRODUCTS):
        total, left, right, _ = product.types.split(".")
        rows, columns, depth = product.size
        few = range(-3, 4) if left[0] != "u" else range(4)
        few_right = range(-3, 4) if right[0] != "u" else range(4)
        a = [[random.choice(few) for _ in range(depth)] for _ in range(rows)]
        b = [[random.choice(few_right) for _ in range(columns)] for _ in range(depth)]
        c = [[random.randrange(-9, 10) for _ in range(columns)] for _ in range(rows)]
        if product.satfinite:
            c[0][0], a[0], b[0][0] = 2**31 - 1, [1] + [0] * (depth - 1), 3
        many = product.of_register
        given_a, given_b, given_c, expected = [], [], [], []
        for lane in range(LANES):
            group, place = divmod(lane, 4)
            for row, column in product.left:
                begin = column + place * many
                given_a.append(words(a[group + row][begin : begin + many], left))
            for row in product.right:
                begin = row + place * many
                given_b.append(words([b[begin + i][group] for i in range(many)], right))
            for row in range(group, rows, 8):
                two = range(2 * place, 2 * place + 2)
                sums = [c[row][n] + sum(a[row][k] * b[k][n] for k in range(depth)) for n in two]
                sums = [min(value, 2**31 - 1) for value in sums]
                given_c += pairs([c[row][n] for n in two], total)
                expected += pairs(sums, total)
        kind = ctypes.c_uint64 if total == "f64" else ctypes.c_uint32
        arrays = [(kind * len(given))(*given) for given in (given_a, given_b, given_c)]
        assert getattr(library, f"run_{at}")(*arrays) == 0
        assert list(arrays[2]) == expected, product


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("wgmma.fence.sync.aligned;", "matrix instructions of NVIDIA's sm_90"),
        ("cp.async.bulk.commit_group;", "tensor memory accelerator"),
        ("mbarrier.init.shared::cta.b64 [%0], 1;", "barriers in shared memory"),
        ("barrier.cluster.wait.aligned;", "clusters"),
        ("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%0}, {%1}, {%2}, {%3};", "of a shape or type"),
        ("mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 {%0}, {%1}, {%2}, {%3};", "of a shape or type"),
        ("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0}, {%1}, {%2}, {%3}, %4, 0;", "of a shape or type"),
        ("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};", "matrices of a shape or type"),
        ("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0}, [%0];", "matrices of a shape or type"),
        ("bar.sync 1, 64;", "a part of a block"),
        ("{ L: bra.uni L; }", "branches"),
        ("cp.async.cg.shared.global [%0], [%1], 8;", "a copy in the background"),
        ("ld.shared::cluster.u32 %0, [%0];", "an access to memory"),
        ("mov.u32 %0, %%smid;", "a special register"),
    ],
)
def test_what_is_refused_says_of_what_kind_it_is(statement: str, kind: str) -> None:
    source = f'void f() {{\n  asm volatile("{statement}" : "=r"(r) : "r"(a), "r"(b), "l"(c));\n}}\n'
    result = port_source(source.encode())
    assert result.text.decode() == source
    assert [(finding.kind, finding.line) for finding in result.findings] == [(UNPORTED, 2)]
    assert kind in result.findings[0].reason and result.findings[0].reason.startswith("PTX is NVIDIA's assembler")
