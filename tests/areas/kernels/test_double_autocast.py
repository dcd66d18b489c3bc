"""torch.autocast leaves double precision as it is, as on CUDA; torch_musa's own turns it into halves and single precision."""

from __future__ import annotations

import pytest

from support.interpreter import Interpreter

PROGRAM = """
import torch, torch.nn.functional as F
half = torch.linspace(-1, 1, 4).half().reshape(2, 2).cuda()
single, double = half.float(), half.double()
target = torch.tensor([0, 1]).cuda()
CALLS = {
    "mm": lambda x: x @ x, "addmm": lambda x: torch.addmm(x, x, x), "linear": lambda x: F.linear(x, x),
    "conv1d": lambda x: F.conv1d(x[None], x[:, :, None]), "multi_dot": lambda x: torch.linalg.multi_dot([x, x, x]),
    "exp": lambda x: x.exp(), "pow": lambda x: (x * x) ** 1.5, "mse_loss": lambda x: F.mse_loss(x, x * 2),
    "layer_norm": lambda x: F.layer_norm(x, (2,)), "nll_loss": lambda x: F.nll_loss(x, target),
    "softmax": lambda x: x.softmax(-1), "sum": lambda x: x.sum(), "cumsum": lambda x: x.cumsum(0),
    "norm": lambda x: torch.ops.aten.norm.Scalar(x, 2), "vector_norm": lambda x: torch.linalg.vector_norm(x),
    "dot": lambda x: torch.dot(x[0], x[1]), "addcmul": lambda x: torch.addcmul(x, x, x),
    "index_put": lambda x: x.index_put((target,), x[0]), "scatter_add": lambda x: x.scatter_add(0, target[None], x),
}
def types(x):
    with torch.autocast("cuda"):
        return {name: str(call(x).dtype).removeprefix("torch.") for name, call in CALLS.items()}
lower = ("mm", "addmm", "linear", "conv1d", "multi_dot")
"""
AS_CUDA = """
assert set(types(double).values()) == {"float64"}, types(double)
assert types(single) == {name: "float16" if name in lower else "float32" for name in CALLS}, types(single)
for name, call in CALLS.items():
    with torch.autocast("cuda"):
        computed = call(double)
    torch.testing.assert_close(computed, call(double), rtol=0, atol=0)
with torch.autocast("cuda"):
    # Beside doubles, halves become single precision in an operator of that list, and stay halves among those of the wider type.
    mixed = F.mse_loss(half, double * 3), torch.addcmul(double, half, half), torch.addcmul(double, half, single)
    try:
        single @ double
    except RuntimeError as error:
        assert "dtype" in str(error), error
    else:
        raise AssertionError("CUDA refuses a product of a half and a double")
assert {x.dtype for x in mixed} == {torch.float64}
assert mixed[0].item() == F.mse_loss(half.float(), double * 3).item()
weight = double.clone().requires_grad_()
with torch.autocast("cuda"):
    F.linear(double, weight).softmax(-1)[:, 0].sum().backward()
wanted = double.cpu().requires_grad_()
F.linear(double.cpu(), wanted).softmax(-1)[:, 0].sum().backward()
torch.testing.assert_close(weight.grad.cpu(), wanted.grad)
"""
THE_VENDORS = """
del CALLS["norm"], CALLS["vector_norm"]  # doubles with a narrower type for the result are refused
found = types(double)
promoted = ("dot", "addcmul", "index_put", "scatter_add")
assert found == {name: "float16" if name in (*lower, *promoted) else "float32" for name in CALLS}, found
"""
SWITCHED = """
import torchada
torchada.disable()
x = torch.ones(2, 2, dtype=torch.float64, device="musa")
with torch.autocast("musa"):
    assert (x @ x).dtype == torch.float16
torchada.enable()
assert types(double)["mm"] == "float64"
"""


@pytest.mark.full
def test_doubles_stay_as_they_are(musa: Interpreter) -> None:
    """In C++ alone: the first process compiles the gates where that has not been done."""
    musa.run(PROGRAM + AS_CUDA + SWITCHED, env={"TORCHADA_CPP_GATES": "1"}, timeout=590)


def test_the_backends_own_autocast_is_left_where_that_is_asked_for(musa: Interpreter) -> None:
    musa.run(PROGRAM + THE_VENDORS, env={"TORCHADA_ALL_DTYPES": "0"})
