"""A kernel can ask which memory an address is in, and turn it into one of that memory and back."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from musasim import toolkit

pytestmark = pytest.mark.once

PROGRAM = """
#include <cstdio>
__device__ float of_device;
__device__ __noinline__ void ask(const void* address, int* out) {
  out[0] = __isShared(address);
  out[1] = __isLocal(address);
  out[2] = __isGlobal(address);
}
__global__ void kernel(int* out) {
  __shared__ float fixed[4];
  extern __shared__ float dynamic[];
  float own = 1;
  ask(fixed + 3, out);
  ask(dynamic, out + 3);
  ask(&own, out + 6);
  ask(out, out + 9);
  ask(&of_device, out + 12);
  fixed[1] = own;
  const size_t place = __cvta_generic_to_shared(fixed);
  static_cast<float*>(__cvta_shared_to_generic(place + sizeof(float)))[1] = 7;
  out[15] = static_cast<int>(fixed[2]);
}
int main() {
  int* out;
  musaMallocManaged(&out, 16 * sizeof(int));
  kernel<<<1, 1, 64>>>(out);
  musaDeviceSynchronize();
  for (int i = 0; i < 16; i++) printf("%d", out[i]);
  printf(" %d", __isShared(out));
}
"""


def test_each_address_is_in_one_memory(tmp_path: Path) -> None:
    (tmp_path / "program.mu").write_text(PROGRAM)
    command = [toolkit.home() / "bin" / "mcc", "-O1", "program.mu", "-o", "program", "-lmusart"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    printed = subprocess.run([tmp_path / "program"], capture_output=True, text=True, timeout=60, check=True).stdout
    assert printed == "1001000100010017 0"
