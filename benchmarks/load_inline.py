"""What `load_inline` of two small kernels costs, while a program runs: by the clock, in processor time, and that of each compiler.

    python benchmarks/load_inline.py [--rounds N]

Each round builds once without compiled headers, once with them where none is kept yet, and twice where they are: with the same
extension, which is what a program pays that starts again, and with another one. The parts are those of the compilers that ran: what
compiles the file of bindings, what preprocesses and compiles the file of kernels, and what links; the rest is Python's, torch's,
torchada's and the simulated mcc's. The import of torch is in all of them. On a machine with other load, processor time says more.
Gates of operators are not compiled meanwhile: that happens once for each PyTorch, in the background, and would take a processor.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from musasim.base.cache import cache_path
from musasim.base.toolchain import find_compiler

PROGRAM = """
import sys, time
import torch
from torch.utils.cpp_extension import load_inline

KERNELS = '''
__global__ void scale(const float* x, float* y, float by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * by;
}
__global__ void add(const float* a, const float* b, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a[i] + b[i];
}
torch::Tensor scaled(torch::Tensor x, double by) {
  auto y = torch::empty_like(x);
  scale<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), by, x.numel());
  return y;
}
torch::Tensor sum(torch::Tensor a, torch::Tensor b) {
  auto y = torch::empty_like(a);
  add<<<(a.numel() + 255) / 256, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), a.numel());
  return y;
}
'''
BINDINGS = "torch::Tensor scaled(torch::Tensor x, double by); torch::Tensor sum(torch::Tensor a, torch::Tensor b);"
made = load_inline(sys.argv[1], BINDINGS, KERNELS + sys.argv[2], functions=["scaled", "sum"])
x = torch.arange(1000.0, device="cuda")
assert torch.equal(made.sum(made.scaled(x, 2.0), x), x * 3)
"""
# Runs the compiler, and notes what it did and its processor time.
COMPILER = """#!/bin/sh
part=link
for word; do case $word in -E) part=preprocess;; -c) part=compile;; *c++-header) part=header;; esac; done
case "$part $*" in "compile "*main.cpp*) part=bindings;; "header "*extension.h*) part="header of the bindings";; esac
{compiler} "$@"
code=$?
times > {record}.$$
{{ printf '%s|' "$part"; tail -1 {record}.$$; }} >> {record}
exit $code
"""


def seconds_of(times: str) -> float:
    """User's and system's seconds of a line that `times` wrote, as in "0m6.01s 0m0.40s"."""
    return sum(60 * float(part.split("m")[0]) + float(part.split("m")[1].rstrip("s")) for part in times.split())


def recording_compiler(folder: Path) -> Path:
    """Written once a folder: another date would be another compiler, whose headers are compiled anew."""
    compiler = folder / "bin" / "g++"
    if not compiler.exists():
        compiler.parent.mkdir()
        text = COMPILER.format(compiler=" ".join(find_compiler()), record=folder / "record")
        compiler.write_text(text, encoding="utf-8")
        compiler.chmod(0o755)
    return compiler


def build(folder: Path, name: str, more: str, headers: bool) -> dict[str, float]:
    """Seconds of a build: by the clock, of processors in all, and of processors by part."""
    record, compiler = folder / "record", recording_compiler(folder)
    record.write_text("")
    flag = "1" if headers else "0"
    wanted = {"TORCHADA_PRECOMPILED_HEADERS": flag, "MUSASIM_PRECOMPILED_HEADERS": flag}
    own = {
        "TORCHADA_SIMULATE": "1",
        "TORCHADA_CPP_GATES": "0",
        "TORCH_EXTENSIONS_DIR": str(folder / "extensions"),
        "TORCHADA_CACHE_DIR": str(folder / "cache"),
        "CXX": str(compiler),
    }
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(
        [sys.executable, "-c", PROGRAM, name, more], check=True, env={**os.environ, **wanted, **own}, stdout=sys.stderr
    )
    clock, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    parts = {"clock": clock, "all": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}
    for line in record.read_text(encoding="utf-8").splitlines():
        part, _, times = line.partition("|")
        parts[part] = parts.get(part, 0) + seconds_of(times)
    return parts


def one_round() -> dict[str, dict[str, float]]:
    """Removes the headers that mcc has kept: no other compiler than that of this round can use them."""
    before = set(cache_path().glob("precompiled-*"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain = build(folder, "plain", "", headers=False)
        cold = build(folder, "cold", "", headers=True)
        again = build(folder, "again", "", headers=True)
        started = build(folder, "again", "", headers=True)
    for entry in {*cache_path().glob("precompiled-*")} - before:
        shutil.rmtree(entry, ignore_errors=True)
    return {"without": plain, "the first": cold, "another": again, "the same again": started}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rounds = [one_round() for _ in range(options.rounds)]
    for build_of in rounds[0]:
        parts = {part: median(each[build_of].get(part, 0.0) for each in rounds) for part in rounds[0][build_of]}
        print(f"{build_of:15}", "  ".join(f"{part} {seconds:.2f} s" for part, seconds in parts.items()), flush=True)


if __name__ == "__main__":
    main()
