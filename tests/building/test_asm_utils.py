"""What PyTorch's ATen/cuda/AsmUtils.cuh offers to extensions, on MUSA: parts of integers and positions of lanes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from musasim import toolkit
from torchada.building.stable_abi import stable_include_dir
from torchada.porting import port_source

pytestmark = pytest.mark.once

PROGRAM = """
#include <ATen/cuda/AsmUtils.cuh>
#include <cstdio>
using Words = at::cuda::Bitfield<unsigned int>;
using Longs = at::cuda::Bitfield<uint64_t>;
__global__ void parts(unsigned long long* out) {
  out[0] = Words::getBitfield(0xabcd1234u, 8, 12);
  out[1] = Words::getBitfield(0xabcd1234u, 28, 8);
  out[2] = Words::getBitfield(0xabcd1234u, 32, 8) + Words::getBitfield(0xabcd1234u, 4, 0);
  out[3] = Words::setBitfield(0xffffffffu, 0x5u, 8, 4);
  out[4] = Words::setBitfield(0x1u, 0xffu, 28, 32);
  out[5] = Words::setBitfield(0x1u, 0xffu, 40, 8);
  out[6] = Longs::getBitfield(0x123456789abcdef0ull, 32, 16);
  out[7] = Longs::setBitfield(0, 0xabcull, 60, 64);
}
__global__ void lanes(unsigned* out) {
  unsigned* own = out + 5 * (threadIdx.x + 8 * threadIdx.y);
  own[0] = at::cuda::getLaneId();
  own[1] = at::cuda::getLaneMaskLt();
  own[2] = at::cuda::getLaneMaskLe();
  own[3] = at::cuda::getLaneMaskGt();
  own[4] = at::cuda::getLaneMaskGe();
}
int main() {
  unsigned long long* values;
  unsigned* masks;
  cudaMallocManaged(&values, 8 * sizeof(*values));
  cudaMallocManaged(&masks, 5 * 64 * sizeof(*masks));
  parts<<<1, 1>>>(values);
  lanes<<<1, dim3(8, 8)>>>(masks);
  cudaDeviceSynchronize();
  for (int i = 0; i < 8; i++) printf("%llx ", values[i]);
  for (int i = 0; i < 5; i++) printf("%x ", masks[5 * 35 + i]);
  printf("%llx", Longs::getBitfield(0xff00, 8, 4));
}
"""


def test_a_kernel_and_its_host_call_them(tmp_path: Path) -> None:
    """Thread 35 of a block of 8 times 8 is lane 3 of the second warp."""
    (tmp_path / "program.mu").write_bytes(port_source(PROGRAM.encode()).text)
    mcc = toolkit.home() / "bin" / "mcc"
    command = [mcc, f"-I{stable_include_dir()}", "program.mu", "-o", "program", "-lmusart"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    printed = subprocess.run([tmp_path / "program"], capture_output=True, text=True, timeout=60, check=True).stdout
    parts = "d12 a 0 fffff5ff f0000001 1 5678 c000000000000000"
    assert printed == f"{parts} 3 7 f fffffff0 fffffff8 f"
