"""An extension may use PyTorch's own headers for kernels: its setup.py finds them by -I, and each gives what the CPU does."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.interpreter import Interpreter

pytestmark = [pytest.mark.musa, pytest.mark.once, pytest.mark.slow]

PROJECT = Path(__file__).parent / "projects" / "torch_headers"
PROGRAM = """
import torch
import torch_headers as m

torch.manual_seed(0)
a, b = torch.randn(37, 65), torch.randn(37, 65)
x, y = a.cuda(), b.cuda()
near = torch.testing.assert_close
near(m.hypotenuse(x, y).cpu(), torch.hypot(a, b))
near(m.hypotenuse(x.t(), y[:, :1].t()).cpu(), torch.hypot(a.t(), b[:, :1].t().expand(65, 37)))
near(m.scaled_sum(x, torch.tensor(3.0)).cpu(), 2 * a + 3)
near(m.scaled_sum(torch.tensor(3.0), y).cpu(), 6 + b)
for dim in (0, 1):
    assert torch.equal(m.largest(x, dim).cpu(), a.amax(dim))
several = [torch.randn(n) for n in (1, 70_000, 5)]
for one, other in zip(m.scaled([t.cuda() for t in several], -1.5), several):
    assert torch.equal(one.cpu(), -1.5 * other)
near(m.row_sums(x).cpu(), a.sum(1))
values = torch.randint(0, 9, (1001,))
for halves in (False, True):
    assert m.counts(values.cuda(), 9, halves).tolist() == torch.bincount(values, minlength=9).tolist()
assert torch.equal(m.twice(x.flatten()[:400].contiguous()).cpu(), 2 * a.flatten()[:400])
expected = [i % 32 + 100 * ((i % 32 + 1) // 2) + 10000 * (i // 7) + 1000000 * (i % 7) for i in range(64)]
assert m.lanes_of_a_warp(x).tolist() == expected
assert torch.equal(m.contiguous(x[::2, 1::3]).cpu(), a[::2, 1::3])
near(m.softmax(x).cpu(), torch.softmax(a, 1))
near(m.running_sum(x.flatten()).cpu(), a.flatten().cumsum(0), rtol=1e-4, atol=1e-4)
assert torch.equal(m.sorted(x.flatten()).cpu(), a.flatten().sort().values)
print("all agree")
"""


def test_headers_for_kernels_give_what_the_cpu_does(musa: Interpreter, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    shutil.copytree(PROJECT, folder)
    musa.env.update(TORCHADA_CACHE_DIR=str(tmp_path / "caches"), MAX_JOBS="2", TORCHADA_FORCE_CUDA_AVAILABLE="1")
    musa.cwd = folder
    musa.run(["setup.py", "build_ext", "--inplace"])
    assert musa.run(PROGRAM).stdout.strip() == "all agree"
