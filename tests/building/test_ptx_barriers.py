"""Barriers of PTX: those of a whole block are translated whatever their number, those of a part of it are reported."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest

from musasim import toolkit
from torchada.porting import port_source
from torchada.porting.findings import UNPORTED

pytestmark = pytest.mark.once

THREADS = 64
# Each thread writes, waits, and reads what another one wrote, at a barrier of another number each time.
WHOLE = r"""
#include <cuda_runtime.h>
template <int id> __device__ void wait() { asm volatile("bar.sync %0;" ::"n"(id) : "memory"); }
__global__ void all(int* out) {
  __shared__ int given[64];
  const int t = threadIdx.x, other = (t + 33) % 64;
  given[t] = t;
  wait<1>();
  out[t] = given[other];
  asm volatile("barrier.cta.sync.aligned 2;" ::: "memory");
  given[t] = 2 * t;
  asm volatile("barrier.sync 15;\n" ::: "memory");
  out[64 + t] = given[other];
  asm volatile("bar.cta.sync 3;" ::: "memory");
  int count, any, every;
  asm volatile("{ .reg .pred p; setp.lt.s32 p, %1, 10; bar.red.popc.u32 %0, 1, p; }" : "=r"(count) : "r"(t));
  asm volatile("{ .reg .pred p, q; setp.lt.s32 p, %1, 0; barrier.cta.red.or.aligned.pred q, 1, !p; selp.b32 %0, 1, 0, q; }"
               : "=r"(any) : "r"(t));
  asm volatile("{ .reg .pred p, q; setp.lt.s32 p, %1, 63; bar.red.and.pred q, 0, p; selp.b32 %0, 1, 0, q; }"
               : "=r"(every) : "r"(t));
  out[128 + t] = 100 * count + 10 * any + every;
}
extern "C" int run(int* out) {
  int* y;
  cudaMalloc(&y, 4 * 192);
  all<<<1, 64>>>(y);
  cudaMemcpy(out, y, 4 * 192, cudaMemcpyDeviceToHost);
  return cudaDeviceSynchronize();
}
"""


def compiled(text: bytes, folder: Path) -> ctypes.CDLL:
    (folder / "all.mu").write_bytes(text)
    words = [str(toolkit.home() / "bin" / "mcc"), "-shared", "-fPIC", "all.mu", "-o", "all.so", "-lmusart"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, cwd=folder)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(folder / "all.so"))


@pytest.mark.full
def test_each_number_waits_for_the_whole_block(tmp_path: Path) -> None:
    ported = port_source(WHOLE.encode())
    assert ported.findings == () and b"asm" not in ported.text
    out = (ctypes.c_int * (3 * THREADS))()
    assert compiled(ported.text, tmp_path).run(out) == 0
    others = [(t + 33) % THREADS for t in range(THREADS)]
    assert list(out) == [*others, *(2 * other for other in others), *[1010] * THREADS]


@pytest.mark.parametrize(
    "statement",
    [
        "bar.sync 1, 64;",
        "bar.arrive 1, 128;",
        "barrier.cta.sync 1, 32;",
        "barrier.arrive 2, 64;",
        "bar.red.popc.u32 %0, 1, 64, p;",
    ],
)
def test_one_for_a_part_of_the_block_is_reported(statement: str) -> None:
    (finding,) = port_source(f'asm volatile("{statement}" : "=r"(x));'.encode()).findings
    assert finding.kind == UNPORTED and "a barrier for a part of a block" in finding.reason


@pytest.mark.parametrize("name", ["__barrier_sync", "__barrier_sync_count"])
def test_cuda_s_own_functions_for_them_are_reported(name: str) -> None:
    (finding,) = port_source(f"__device__ void f() {{ {name}(1); }}".encode()).findings
    assert (finding.kind, finding.name) == (UNPORTED, name) and "__syncthreads()" in finding.reason
