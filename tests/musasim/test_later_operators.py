"""What torch_musa 2.9.1 has added to the operators of 2.7.1: the simulated release has it, and an older one has not."""

from __future__ import annotations

import pytest

from musasim.base import release
from support.interpreter import Interpreter

pytestmark = pytest.mark.once

LATER = [name for name in release.VERSIONS if name != "2.7.1"]
START = """
import json, warnings
import musasim
musasim.install()
import torch, torch_musa
warnings.simplefilter("ignore")
agrees = lambda work, *given: torch.testing.assert_close(
    work(*(each.to("musa") for each in given)), work(*given), check_device=False, rtol=1e-5, atol=1e-5)
def refused(work, words):
    try:
        work()
    except RuntimeError as error:
        assert words in str(error), error
    else:
        raise SystemExit(f"what is refused with '{words}' was computed")
"""
SPARSE = """
dense, matrix = torch.tensor([[0, 2.0, 0], [3, 0, 4]]), torch.arange(6.0).reshape(3, 2)
works = {
    "to_dense": lambda made, _: made.to_dense(),
    "product": lambda made, other: made @ other,
    "sum of two": lambda made, _: (made + made).to_dense(),
    "sqrt": lambda made, _: made.sqrt().to_dense(),
    "in place": lambda made, _: made.clone().abs_().mul_(2).to_dense(),
    "members": lambda made, _: torch.tensor([made.dense_dim(), made._nnz()]),
    "transposed": lambda made, _: made.t().to_dense(),
    "sum": lambda made, _: made.sum(),
}
for make in (torch.Tensor.to_sparse, torch.Tensor.to_sparse_csr):
    for name, work in works.items():
        agrees(lambda given, other: work(make(given), other).cpu(), dense, matrix)
agrees(lambda given: given.to_sparse_csc().to_dense(), dense)
moved = dense.to_sparse().to("musa")
assert moved.cpu().to_dense().equal(dense) and moved.device.type == "musa"
assert moved.unsqueeze(0)._values().data_ptr() == moved._values().data_ptr()
grown = torch.zeros(2, 3, device="musa").to_sparse()
grown.add_(moved)
assert grown._nnz() == 3 and grown.to_dense().cpu().equal(dense)
leaf = moved.detach().requires_grad_()
torch.sparse.mm(leaf, matrix.musa()).sum().backward()
assert leaf.grad.to_dense().cpu().equal((dense != 0) * matrix.sum(1))
for given, words in (moved, "not implemented"), (moved.to_dense(), "only be called on sparse tensors"):
    refused(lambda: torch.ops.aten.sspaddmm.out(given, given, torch.ones(3, 3, device="musa"), out=given.clone()), words)
"""
NESTED = """
rows = [torch.arange(6.0).reshape(2, 3), torch.arange(12.0).reshape(4, 3)]
works = {
    "sum": lambda made: made + made,
    "softmax": lambda made: made.softmax(-1),
    "product": lambda made: made @ made.transpose(1, 2),
    "linear": lambda made: torch.nn.functional.linear(made, torch.ones(2, 3, device=made.device)),
    "copy": lambda made: made.clone().relu_(),
}
for name, work in works.items():
    def padded(*parts):
        made = work(torch.nested.as_nested_tensor(list(parts)))
        assert made.is_nested and made.device == parts[0].device, name
        return torch.nested.to_padded_tensor(made, -1.0)
    agrees(padded, *rows)
here = torch.nested.nested_tensor(rows, device="musa")
assert [row.tolist() for row in here.cpu().unbind()] == [row.tolist() for row in rows] and here[1].cpu().equal(rows[1])
leaves = [row.clone().to("musa").requires_grad_() for row in rows]
torch.nested.to_padded_tensor(torch.nested.as_nested_tensor(leaves) * 3, 0.0).sum().backward()
assert all(leaf.grad.eq(3).all() for leaf in leaves)
"""
DENSE = """
agrees(lambda x: torch.logcumsumexp(x, 0), torch.randn(3, 3))
agrees(torch.linalg.matrix_exp, torch.randn(3, 3))
agrees(lambda x: torch.nonzero_static(x, size=2), torch.eye(3))
agrees(lambda x: torch.special.modified_bessel_i0(x), torch.randn(3))
halves = torch.randn(4, 3, 2).half(), torch.randn(4, 2, 3).half(), torch.randn(4, 3, 3).half()
wide = [each.float() for each in halves]
if hasattr(torch.ops.aten.mm, "dtype"):
    here = [each.musa() for each in halves]
    found = {
        "mm": torch.mm(here[0][0], here[1][0], out_dtype=torch.float32),
        "bmm": torch.bmm(here[0], here[1], out_dtype=torch.float32),
        "addmm": torch.addmm(here[2][0], here[0][0], here[1][0], out_dtype=torch.float32, beta=2),
        "baddbmm": torch.baddbmm(here[2], here[0], here[1], out_dtype=torch.float32, alpha=3),
    }
    wanted = {
        "mm": wide[0][0] @ wide[1][0], "bmm": wide[0] @ wide[1], "addmm": wide[2][0] * 2 + wide[0][0] @ wide[1][0],
        "baddbmm": wide[2] + 3 * (wide[0] @ wide[1]),
    }
    for name in wanted:
        torch.testing.assert_close(found[name].cpu(), wanted[name])
    out = torch.empty(3, 3, device="musa")
    assert torch.mm(here[0][0], here[1][0], out_dtype=torch.float32, out=out) is out and out.cpu().equal(wanted["mm"])
    product = lambda **given: lambda: torch.mm(here[0][0], here[1][0], **given)
    for wrong in (torch.float64, torch.int32):
        refused(product(out_dtype=wrong), "out_dtype must be the same")
    refused(product(out_dtype=torch.float32, out=out.half()), "dtype of the provided out tensor")
    wrong = here[2][0].double()
    refused(lambda: torch.addmm(wrong, here[0][0], here[1][0], out_dtype=torch.float32), "self dtype must match")
kept, mask = torch._fused_dropout(torch.ones(1000, device="musa"), 0.25)
assert mask.dtype == torch.uint8 and kept.eq(mask * 4).all() and 150 < mask.sum() < 350
assert torch._masked_scale(torch.ones(1000, device="musa"), mask, 4.0).equal(kept)
refused(lambda: torch._masked_scale(kept, mask.bool(), 4.0), "mask should be torch.uint8")
x, weight, grad = (torch.randn(*size, dtype=torch.float64) for size in ((2, 3, 5), (5,), (2, 3, 5)))
leaves, there = ([each.clone().to(device).requires_grad_() for each in (x, weight)] for device in ("cpu", "musa"))
for made in (leaves, there):
    torch.nn.functional.rms_norm(made[0], (5,), made[1], 1e-6).backward(grad.to(made[0].device))
for mine, other in zip(there, leaves):
    torch.testing.assert_close(mine.grad.cpu(), other.grad)
if hasattr(torch.ops.aten, "_fused_rms_norm"):
    found, factors = torch.ops.aten._fused_rms_norm(x.musa().half(), [5], weight.musa().half(), None)
    assert found.dtype == torch.float16 and factors.dtype == torch.float32 and factors.shape == (2, 3, 1)
    least = torch.finfo(torch.float32).eps
    torch.testing.assert_close(factors.cpu(), (x.float().square().mean(-1, keepdim=True) + least).rsqrt(), rtol=1e-2, atol=0)
agrees(lambda x: torch.nn.functional.rms_norm(x, (5,)), x.float() * 1e-4)
parts = torch.randn(2, 8, 3)
running, spread = torch.zeros(3, device="musa"), torch.ones(3, device="musa")
inverses = (parts.var(1, correction=0) + 1e-5).rsqrt().musa()
mean, inverse = torch.batch_norm_gather_stats(
    torch.ones(4, 3, 2, device="musa"), parts.mean(1).musa(), inverses, running, spread, 0.5, 1e-5, 8)
whole = parts.reshape(16, 3)
torch.testing.assert_close(mean.cpu(), whole.mean(0)); torch.testing.assert_close(running, mean / 2)
torch.testing.assert_close(inverse.cpu(), (whole.var(0, correction=0) + 1e-5).rsqrt())
torch.testing.assert_close(spread.cpu(), 0.5 + whole.var(0) / 2)
"""


@pytest.mark.parametrize("name", LATER)
@pytest.mark.parametrize("program", [SPARSE, NESTED, DENSE], ids=["sparse", "nested", "dense"])
def test_later_releases_have_them(name: str, program: str) -> None:
    """Without torchada."""
    Interpreter(env={"TORCHADA_DISABLE": "1", "MUSASIM_RELEASE": name}).run(START + program)
