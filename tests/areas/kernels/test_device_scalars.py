"""fill_, masked_fill_, clamp and comparisons by tensors of the device, products of booleans and doubles: graphs capture them.

The simulator's kernels are CUDA's there. So each is replaced, before the device is used, by one that does what the vendor's sources
say.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support import compiled_gates
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
"""

START = """
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

PLANTED_PRODUCT = """
def product(a, b):
    types = {t.dtype for t in (a, b) if isinstance(t, torch.Tensor)}
    if torch.bool in types or types == {torch.float64}:
        return torch.mul(a.cpu(), b.cpu() if isinstance(b, torch.Tensor) else b).to(a.device)
    if torch.cuda.is_current_stream_capturing():
        return captured_product(a, b)
    parts = [t.cpu() if isinstance(t, torch.Tensor) else t for t in (a, b)]
    with torch.no_grad():
        return (parts[0] + 0).mul(parts[1]).to(a.device)
def captured_product(a, b):
    if a.is_complex():  # of doubles, whose imaginary parts are 0
        real = captured_product(torch.view_as_real(a)[..., 0], torch.view_as_real(b)[..., 0])
        return torch.complex(real, torch.zeros_like(real))
    return torch.addcmul(torch.zeros_like(a), a, b)
plant("mul.Tensor", product)
"""

PRODUCTS = """
y, z = torch.tensor([1.5, -2.0, 0.1], device="cuda"), torch.tensor([1.0, 1 / 3, 1e300], dtype=torch.float64, device="cuda")
assert torch.equal((y * mask).cpu(), y.cpu() * mask.cpu()) and torch.equal((mask * mask).cpu(), mask.cpu())
assert torch.equal((z * z).cpu(), z.cpu() * z.cpu()) and torch.equal((mask * 2).cpu(), mask.cpu() * 2)
for number in (0.1, 1e300):
    assert torch.equal((z * number).cpu(), z.cpu() * number) and torch.equal((number * z).cpu(), number * z.cpu())
assert torch.equal(z.clone().mul_(0.1).cpu(), z.cpu() * 0.1)
image = torch.ones(2, 3, 4, 4, dtype=torch.float64, device="cuda").to(memory_format=torch.channels_last)
assert (image * z[0]).stride() == image.stride()
assert torch.equal((z * y).cpu(), z.cpu() * y.cpu()) and torch.equal((z * 3).cpu(), z.cpu() * 3)
assert captured(lambda: y * mask, y).tolist() == [2.5, 0.0, torch.tensor(1.1).item()]
assert captured(lambda: mask * mask).tolist() == [True, False, True]
assert torch.equal(captured(lambda: z * z), z.cpu() * z.cpu())
from torchada.areas.kernels._gates.gates import GATES
assert GATES.state == "gates in C++", GATES.state
"""


NAMES = (
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "remainder",
    "maximum",
    "minimum",
    "logical_and",
    "logical_or",
    "logical_xor",
    "pow",
)
PLANTED_COMPARISONS = f"""
NAMES, RESULTS = {NAMES}, {{}}
def comparison(name):
    def kernel(a, b):
        assert a.shape == (1,) and a.dtype == b.dtype, "the vendor's kernel reads a number on the host"
        return RESULTS[name].clone()
    return kernel
for name in NAMES:
    overloads = getattr(torch.ops.aten, name).overloads()
    plant(name + next(kind for kind in (".Tensor_Tensor", ".Tensor", "") if (kind[1:] or "default") in overloads), comparison(name))
"""

COMPARISONS = """
number, row = torch.tensor(1.0, device="cuda"), torch.tensor([0.5, 1.0, 3.0], device="cuda")
for name in NAMES:
    for operand in (row, row.half()):
        wanted = getattr(torch, name)(number.cpu(), operand.cpu())
        RESULTS[name] = wanted.cuda()
        found = captured(lambda: getattr(torch, name)(number, operand))
        assert torch.equal(found, wanted) and found.dtype == wanted.dtype, (name, found, wanted)
"""


def test_scalars_of_the_device(musa: Interpreter, tmp_path: Path) -> None:
    """With a cache of its own: what probes of planted kernels find must not be remembered for the simulator's."""
    musa.run(PLANTED + START + SCALARS, env={"TORCHADA_CPP_GATES": "0", "TORCHADA_CACHE_DIR": str(tmp_path / "cache")})


@pytest.mark.slow
@pytest.mark.once
def test_products_in_cpp(musa: Interpreter, tmp_path: Path) -> None:
    """They have no other gates: in Python they would cost every product."""
    program = PLANTED + PLANTED_PRODUCT + START + PRODUCTS
    musa.run(program, env=compiled_gates.environment(musa, tmp_path / "cache"))


@pytest.mark.full
@pytest.mark.once
@pytest.mark.parametrize(
    ("planted", "program"), [("", SCALARS), (PLANTED_COMPARISONS, COMPARISONS)], ids=["scalars", "comparisons"]
)
def test_gates_in_cpp(musa: Interpreter, tmp_path: Path, planted: str, program: str) -> None:
    """Comparisons have no others: in Python they would cost every one of them."""
    musa.run(PLANTED + planted + START + program, env=compiled_gates.environment(musa, tmp_path / "cache"))
