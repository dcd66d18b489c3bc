"""fill_, masked_fill_ and clamp by tensors of the device, and products of booleans and doubles: graphs capture them, as on CUDA.

The simulator's kernels are CUDA's there. So each is replaced, before the device is used, by one that does what the vendor's sources
say.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.interpreter import Interpreter

PLANTED = """
import warnings
import torch
library = torch.library.Library("aten", "IMPL")

def plant(name, kernel):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library.impl(name, kernel, "PrivateUse1")

def fill(self, value):
    if value.dim():
        raise RuntimeError("fill_ only supports a 0-dimensional value tensor")
    return self.fill_(value.item())

def masked_fill(self, mask, value):
    return self.masked_fill_(mask, value.item())

def clamp(self, min=None, max=None, *, out=None):
    if min is None or max is None or min.numel() > 1:
        found = torch.clamp(self.cpu(), min if min is None else min.cpu(), max if max is None else max.cpu()).to(self.device)
    else:
        found = torch.clamp(self, min.item(), max.item())
    return found if out is None else out.copy_(found)

plant("fill_.Tensor", fill)
plant("masked_fill_.Tensor", masked_fill)
plant("clamp.Tensor", clamp)
plant("clamp_.Tensor", lambda self, min=None, max=None: self.copy_(clamp(self, min, max)))
plant("clamp.Tensor_out", clamp)

def captured(function, *changing):
    function()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = function()
    for tensor in changing:
        tensor.add_(1)
    graph.replay()
    return found.cpu()

low, high = torch.tensor(0.5, device="cuda"), torch.tensor([1.5], device="cuda")
x, mask = torch.tensor([-1.0, 1.0, 3.0], device="cuda"), torch.tensor([True, False, True], device="cuda")
"""

SCALARS = """
into, out = torch.zeros(3, device="cuda"), torch.empty(3, device="cuda")
assert captured(lambda: into.fill_(low), low).tolist() == [1.5] * 3
assert captured(lambda: x.masked_fill(mask, low), low).tolist() == [2.5, 1.0, 2.5]
assert captured(lambda: x.clamp(low - 2, high), high).tolist() == [0.5, 1.0, 2.5]
assert captured(lambda: torch.clamp(x, low, high, out=out)).tolist() == [2.5, 2.5, 2.5]
assert captured(lambda: out.clamp_(low - 1, low - 1)).tolist() == [1.5] * 3
assert torch.zeros(2, dtype=torch.int64, device="cuda").fill_(low).tolist() == [2, 2]
assert x.clamp(torch.zeros(3, device="cuda"), x).tolist() == [-1.0, 1.0, 3.0] and x.clamp(max=low).tolist() == [-1.0, 1.0, 2.5]
assert torch.tensor([float("nan"), 9.0], device="cuda").clamp(low, high).isnan().tolist() == [True, False]
try:
    into.fill_(x)
except RuntimeError as error:
    assert "0-dimension" in str(error), error
else:
    raise AssertionError
"""

PRODUCTS = """
own = torch._C._dispatch_has_kernel
def product(a, b):
    types = {t.dtype for t in (a, b) if isinstance(t, torch.Tensor)}
    if torch.bool in types or types == {torch.float64}:
        return torch.mul(a.cpu(), b.cpu() if isinstance(b, torch.Tensor) else b).to(a.device)
    parts = [t.cpu() if isinstance(t, torch.Tensor) else t for t in (a, b)]
    with torch.no_grad():
        return (parts[0] + 0).mul(parts[1]).to(a.device) if not torch.cuda.is_current_stream_capturing() else captured_product(a, b)
def captured_product(a, b):
    return torch.addcmul(torch.zeros_like(a), a, b)
plant("mul.Tensor", product)
y, z = torch.tensor([1.5, -2.0, 0.1], device="cuda"), torch.tensor([1.0, 1 / 3, 1e300], dtype=torch.float64, device="cuda")
assert torch.equal((y * mask).cpu(), y.cpu() * mask.cpu()) and torch.equal((mask * mask).cpu(), mask.cpu())
assert torch.equal((z * z).cpu(), z.cpu() * z.cpu()) and torch.equal((mask * 2).cpu(), mask.cpu() * 2)
assert torch.equal((z * y).cpu(), z.cpu() * y.cpu()) and torch.equal((z * 3).cpu(), z.cpu() * 3)
assert captured(lambda: y * mask, y).tolist() == [2.5, 0.0, torch.tensor(1.1).item()]
assert captured(lambda: mask * mask).tolist() == [True, False, True]
assert torch.equal(captured(lambda: z * z), z.cpu() * z.cpu())
from torchada.areas.kernels._gates.gates import GATES
assert GATES.state == "gates in C++", GATES.state
"""


def test_scalars_of_the_device(musa: Interpreter, tmp_path: Path) -> None:
    """With a cache of its own: what probes of planted kernels find must not be remembered for the simulator's."""
    musa.run(PLANTED + SCALARS, env={"TORCHADA_CPP_GATES": "0", "TORCHADA_CACHE_DIR": str(tmp_path / "cache")})


@pytest.mark.slow
@pytest.mark.once
def test_gates_in_cpp(musa: Interpreter, tmp_path: Path) -> None:
    """Products have no others: in Python they would cost every product. The first process compiles them for about a minute."""
    env = {"TORCHADA_CPP_GATES": "1", "TORCHADA_CACHE_DIR": str(tmp_path / "cache")}
    for program in (PRODUCTS, SCALARS):
        musa.run(PLANTED + program, env=env, timeout=600)
