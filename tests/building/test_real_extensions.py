"""A real extension from PyPI, by its own setup.py and unchanged: built, and right on the device.

See docs/reference/extensions-tried.md.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from support.interpreter import Interpreter

pytestmark = [pytest.mark.slow, pytest.mark.once]

# Every function of the package, on the device and on the CPU, for which the same library has kernels of its own.
CHECK = """
import itertools, json
import torch, torch_scatter

torch.manual_seed(0)
wrong, tried = [], 0

def compare(name, function, *arguments):
    global tried
    tried += 1
    on = [each.cuda() if isinstance(each, torch.Tensor) else each for each in arguments]
    got, want = function(*on), function(*arguments)
    for a, b in zip(got if isinstance(got, tuple) else [got], want if isinstance(want, tuple) else [want]):
        if not a.is_cuda or not torch.allclose(a.cpu().double(), b.double(), rtol=1e-2 if b.dtype == torch.bfloat16 else 1e-3):
            wrong.append(name)

index = torch.tensor([0, 0, 0, 1, 1, 3, 3, 3, 3, 6])
pointer = torch.tensor([0, 3, 5, 5, 9, 9, 9, 10])
for dtype in (torch.half, torch.bfloat16, torch.float, torch.double, torch.int, torch.long):
    x = torch.randperm(60).reshape(10, 6).to(dtype)
    for reduce in ("sum", "mul", "mean", "min", "max"):
        small = (x % 3 + 1) if reduce == "mul" else x
        compare(f"scatter_{reduce} {dtype}", getattr(torch_scatter, f"scatter_{reduce}"), small, index, 0)
        if reduce != "mul":
            compare(f"segment_{reduce}_csr {dtype}", getattr(torch_scatter, f"segment_{reduce}_csr"), x, pointer)
            compare(f"segment_{reduce}_coo {dtype}", getattr(torch_scatter, f"segment_{reduce}_coo"), x, index)
    compare(f"gather_csr {dtype}", torch_scatter.gather_csr, x[:7], pointer)
    compare(f"gather_coo {dtype}", torch_scatter.gather_coo, x[:7], index)
for function in (torch_scatter.scatter_softmax, torch_scatter.scatter_log_softmax, torch_scatter.scatter_logsumexp):
    compare(function.__name__, function, torch.randn(10), index)
x = torch.randn(10, 6, dtype=torch.double, device="cuda", requires_grad=True)
for reduce in ("sum", "mean", "min", "max"):
    assert torch.autograd.gradcheck(lambda x: torch_scatter.scatter(x, index.cuda(), 0, reduce=reduce), (x,))
    assert torch.autograd.gradcheck(lambda x: torch_scatter.segment_csr(x, pointer.cuda(), reduce=reduce), (x,))
other = torch_scatter.scatter_sum(x.detach().to("cuda:1"), index.to("cuda:1"), 0)
assert other.device.index == 1
print(json.dumps({"wrong": wrong, "tried": tried}))
"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:", "--no-build-isolation"]
    done = subprocess.run([*command, "torch-scatter==2.1.2", "-d", folder], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no sdist of torch-scatter at hand: {done.stderr.strip().splitlines()[-1:]}")
    with tarfile.open(folder / "torch_scatter-2.1.2.tar.gz") as archive:
        archive.extractall(folder)
    return folder / "torch_scatter-2.1.2"


def checksums(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and "egg-info" not in str(path)
    }


def test_torch_scatter(sources: Path, musa: Interpreter, tmp_path: Path) -> None:
    """Ten files, most of them with all of PyTorch's headers: some minutes."""
    before = checksums(sources)
    site = tmp_path / "site"
    install = ["-m", "pip", "install", "--no-build-isolation", "--no-deps", "--target", str(site), str(sources)]
    musa.run(install, env={"FORCE_ONLY_CUDA": "1", "TORCHADA_STRICT": "0"}, timeout=3600)
    after = checksums(sources)
    assert {name: after[name] for name in before} == before, "nothing of the project's has changed"
    found = musa.json(f"import sys; sys.path.insert(0, {str(site)!r})\n{CHECK}", timeout=600)
    assert found == {"wrong": [], "tried": 93}
