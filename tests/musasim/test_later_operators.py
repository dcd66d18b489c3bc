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
refused(lambda: torch.sspaddmm(moved, moved.t().t(), torch.ones(3, 3, device="musa")), "NYI: CUDA sspaddmm")
for layout in (torch.sparse_coo, torch.sparse_csr):
    empty = torch.empty(2, 3, layout=layout, device="musa")
    assert (empty.layout, empty.device.type, empty._nnz()) == (layout, "musa", 0) and empty.to_dense().eq(0).all()
made = torch.ops.aten._sparse_coo_tensor_with_dims(2, 0, [4, 7], dtype=torch.int32, layout=torch.sparse_coo, device="musa")
assert (made.shape, made.dtype, made.sparse_dim()) == ((4, 7), torch.int32, 2)
rows = dense.to_sparse_csr().musa()
added, other = torch.ones(2, 2), torch.arange(6.0).reshape(3, 2)
found = torch.ops.aten.baddbmm.out(added.musa(), rows, other.musa(), beta=2, alpha=0.5, out=torch.empty(2, 2, device="musa"))
assert found.cpu().equal(2 * added + 0.5 * (dense @ other))
batch = torch.stack([dense, dense * 2]).to_sparse_csr()
found = torch.ops.aten.bmm.out(batch.musa(), torch.stack([other, other]).musa(), out=torch.empty(2, 2, 2, device="musa"))
assert found.cpu().equal(torch.stack([dense @ other, dense @ other * 2]))
wide = torch.sparse_csr_tensor(torch.tensor([0, 4000]), torch.arange(4000), torch.zeros(4000)).musa()
torch.musa.manual_seed(3)
drawn = wide.normal_(2, 3).values()
torch.musa.manual_seed(3)
assert drawn.equal(torch.empty(4000, device="musa").normal_(2, 3)) and abs(drawn.mean().item() - 2) < 0.3
for given, words in (moved, "NYI: CUDA sspaddmm is not implemented"), (moved.to_dense(), "only be called on sparse tensors"):
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
weight, bias = torch.tensor([1.0, 2, 3]), torch.tensor([0.5, 0, 1])
def normalised(device):
    parts = [row.clone().to(device).requires_grad_() for row in rows]
    factors = [each.clone().to(device).requires_grad_() for each in (weight, bias)]
    made = torch.nn.functional.layer_norm(torch.nested.as_nested_tensor(parts), (3,), *factors)
    torch.nested.to_padded_tensor(made, 0.0).square().sum().backward()
    return [*made.unbind(), *(each.grad for each in (*parts, *factors))]
for mine, other in zip(normalised("musa"), normalised("cpu")):
    torch.testing.assert_close(mine.cpu(), other, rtol=1e-4, atol=1e-4)
refused(lambda: torch.nn.functional.layer_norm(here, (2,)), "normalized_shape")
"""
# Of parts of two heads, with as many columns.
ATTENTION = """
torch.manual_seed(0)
queries, keys, values = ([torch.randn(2, length, 16) for length in lengths] for lengths in ((3, 5), (4, 2), (4, 2)))
attend = torch.ops.aten._scaled_dot_product_flash_attention
given = [torch.nested.nested_tensor([part.half() for part in parts], device="musa") for parts in (queries, keys, values)]
output, sums, of_queries, of_keys, longest, longest_key, *state, mask = attend(*given, 0.0, False, False)
assert of_queries.tolist() == [0, 3, 8] and of_keys.tolist() == [0, 4, 6] and (longest, longest_key) == (5, 4)
assert of_queries.dtype == torch.int32 and mask.numel() == 0 and output.is_nested
leaves = [[part.half().float().requires_grad_() for part in parts] for parts in (queries, keys, values)]
wanted = [torch.nn.functional.scaled_dot_product_attention(*parts) for parts in zip(*leaves)]
for mine, other in zip(output.unbind(), wanted):
    torch.testing.assert_close(mine.cpu().float(), other, rtol=1e-2, atol=1e-2)
of_output = [torch.randn_like(part) for part in wanted]
torch.autograd.backward(wanted, of_output)
gradients = torch.ops.aten._scaled_dot_product_flash_attention_backward(
    torch.nested.nested_tensor([part.half() for part in of_output], device="musa"), *given, output, sums, of_queries,
    of_keys, longest, longest_key, 0.0, False, *state)
for made, parts in zip(gradients, leaves):
    for mine, leaf in zip(made.unbind(), parts):
        torch.testing.assert_close(mine.cpu().float(), leaf.grad, rtol=2e-2, atol=2e-2)
"""
GROUPED = """
torch.manual_seed(0)
eight = torch.float8_e4m3fn
def matrices(*sizes):
    return torch.randn(*sizes).to(eight).to("musa")
def columns_together(*sizes):
    return matrices(*sizes[:-2], sizes[-1], sizes[-2]).transpose(-2, -1)
def factors(*sizes):
    return torch.rand(*sizes, device="musa") + 0.5
ends = torch.tensor([16, 48], dtype=torch.int32, device="musa")
parts = slice(0, 16), slice(16, 48)
work = torch._scaled_grouped_mm
def check(found, *wanted):
    for mine, (left, right, rows, columns) in zip(found, wanted):
        assert mine.dtype == torch.bfloat16
        product = (left.float() * rows.reshape(-1, 1)) @ (right.float() * columns.reshape(1, -1))
        torch.testing.assert_close(mine.float(), product, rtol=2e-2, atol=2e-2)
left, right, rows, columns = matrices(48, 32), columns_together(2, 32, 16), factors(48), factors(2, 16)
made = work(left, right, rows, columns, ends)
check([made[part] for part in parts], *((left[part], right[n], rows[part], columns[n]) for n, part in enumerate(parts)))
left, right, rows, columns = matrices(2, 16, 32), columns_together(32, 48), factors(2, 16), factors(48)
made = work(left, right, rows, columns, ends)
check(
    [made[:, part] for part in parts],
    *((left[n], right[:, part], rows[n], columns[part]) for n, part in enumerate(parts)))
left, right, rows, columns = matrices(16, 48), columns_together(48, 32), factors(32), factors(64)
check(
    work(left, right, rows, columns, ends),
    *((left[:, part], right[part], rows[n * 16 :][:16], columns[n * 32 :][:32]) for n, part in enumerate(parts)))
left, right, one = matrices(2, 16, 32), columns_together(2, 32, 48), factors(1)
check(work(left, right, one, one), *((left[n], right[n], one, one) for n in range(2)))
for given, words in (
    ((right.transpose(-2, -1).contiguous().transpose(-2, -1), left, one, one), "mat1 to not be transposed"),
    ((left, right.contiguous(), one, one), "mat2 to be transposed"),
    ((left[..., :16].contiguous(), right, one, one), "contraction dimension"),
    ((left[0], right, one, one), "Have to provide offsets"),
    ((left, right, one.double(), one), "float32 tensors"),
    ((left, right, one, one, None, None, None, torch.float32), "Only bf16"),
    ((left.bfloat16(), right, one, one), "to be Float8"),
):
    refused(lambda: work(*given), words)
"""
PACKED = """
torch.manual_seed(0)
pack, multiply = torch.ops.aten._convert_weight_to_int4pack, torch.ops.aten._weight_int4pack_mm
row = torch.arange(1, 17, dtype=torch.uint8).musa()
words = pack(row.expand(5, 16).contiguous(), 2)
assert words.shape == (1, 1, 32, 1) and words.dtype == torch.int32
# Bytes 0, 4, 8 and 12: their upper halves, and above these their lower ones.
assert words[0, 0, 0, 0].item() & 0xFFFFFFFF == 0xD9510000 and words[0, 0, 20:].eq(0).all()
pairs = torch.tensor([[1.0, 0.5]]).bfloat16().expand(1, 8, 2).contiguous().musa()
columns = torch.eye(32, device="musa").bfloat16()
for digit, number in (3, 3), (9, -7):
    weight = pack(torch.full((8, 16), digit * 17, dtype=torch.uint8, device="musa"), 2)
    assert multiply(columns, weight, 32, pairs * 2).eq(number * 2 + 1).all()
# What the vendor's kernel meets in the second column was packed for the ninth.
places = pack((row.expand(8, 16) % 8 * 16).contiguous(), 2)
assert multiply(columns, places, 32, pairs)[:4, 0].tolist() == [1.5, 5.5, 2.5, 6.5]
for given, words in (
    ((columns.float(), places, 32, pairs), "bfloat16"), ((columns, places, 16, pairs), "qGroupSize"),
    ((columns, places, 32, pairs[..., :1]), "scale and a zero"),
):
    refused(lambda: multiply(*given), words)
for given, words in ((row, "2D"), (row[None].int(), "uint8"), (row.expand(4, 16), "contiguous"), (row[None, :8].clone(), "whole")):
    refused(lambda: pack(given, 2), words)
refused(lambda: pack(row[None].clone(), 3), "innerKTiles")
eight = torch.ops.aten._weight_int8pack_mm
x, weight, scales = torch.randn(3, 16), torch.randint(-128, 127, (5, 16), dtype=torch.int8), torch.rand(5)
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    found = eight(x.to(dtype).musa(), weight.musa(), scales.musa())
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.cpu(), x.to(dtype).float() @ weight.float().t() * scales, rtol=1e-4, atol=1e-3)
refused(lambda: eight(x.musa(), weight.musa(), scales[:4].musa()), "scales must be 1D")
from torch_musa.core.ao import _quantized_conversions as conversions
numbers, factors = torch.randint(-8, 8, (256, 256)), torch.rand(2, 256)
tiles = conversions.prepack_int4_weight_for_mixed_dtypes_linear(numbers.musa())
assert tiles.shape == (256, 128)
assert conversions.prepack_int4_weight_for_mixed_dtypes_linear(numbers[:100, :200]).shape == (128, 128)
scale = conversions.prepack_scale_for_mixed_dtypes_linear(factors.musa(), 256)
x, bias = torch.randn(2, 3, 256).half().musa(), torch.randn(256).half().musa()
wanted = x.cpu().float() @ (numbers * factors.repeat_interleave(128, 0))
mixed = torch.ops.aten._mixed_dtypes_linear
torch.testing.assert_close(mixed(x, tiles, scale).cpu().float(), wanted, rtol=1e-2, atol=1e-1)
found = mixed(x, tiles, scale, bias=bias, activation="relu").cpu().float()
torch.testing.assert_close(found, (wanted + bias.cpu().float()).relu(), rtol=1e-2, atol=1e-1)
refused(lambda: mixed(x, tiles, scale, activation="gelu"), "Supported: none, relu, silu")
refused(lambda: mixed(x.float(), tiles, scale), "input datatype")
"""
MISSING = """
here = torch.ones(16, 16, device="musa")
eight = here.to(torch.float8_e4m3fn)
refused(lambda: torch._scaled_grouped_mm(eight[None], eight.t()[None], here[:1, 0], here[:1, 0]), "_scaled_grouped_mm")
refused(lambda: torch.ops.aten._convert_weight_to_int4pack(here.byte(), 2), "_convert_weight_to_int4pack")
try:
    import torch_musa.core.ao._quantized_conversions
except ModuleNotFoundError:
    pass
else:
    raise SystemExit("2.7.1 has no _quantized_conversions")
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
@pytest.mark.parametrize(
    "program",
    [SPARSE, NESTED, ATTENTION, DENSE, GROUPED, PACKED],
    ids=["sparse", "nested", "attention", "dense", "grouped", "packed"],
)
def test_later_releases_have_them(name: str, program: str) -> None:
    """Without torchada."""
    Interpreter(env={"TORCHADA_DISABLE": "1", "MUSASIM_RELEASE": name}).run(START + program)


def test_an_older_release_lacks_them() -> None:
    """Without torchada."""
    Interpreter(env={"TORCHADA_DISABLE": "1", "MUSASIM_RELEASE": "2.7.1"}).run(START + MISSING)
