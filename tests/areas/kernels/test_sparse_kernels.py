"""Sparse tensors compute what the CPU's do, though torch_musa makes and takes them apart only."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from support.interpreter import Interpreter

pytestmark = pytest.mark.filterwarnings("ignore:Sparse CS[RC] tensor support is in beta state")
LAYOUTS = {
    "coo": torch.Tensor.to_sparse,
    "csr": torch.Tensor.to_sparse_csr,
    "csc": torch.Tensor.to_sparse_csc,
    "bsr": lambda x: x.to_sparse_bsr((2, 2)),
}
DENSE = torch.tensor([[0, 2.0, 0, 1], [0, 0, 3, 0], [4, 0, 0, 0], [0, 0, 0, 5]])
OTHER = torch.arange(12.0).reshape(4, 3) - 5
Call = Callable[[torch.Tensor, torch.Tensor], Any]
ALL = {
    "to_dense": lambda x, _: x.to_dense(),
    "matmul": lambda x, y: x @ y,
    "mul": lambda x, _: (x * 2.5).to_dense(),
    "types": lambda x, _: ((x.to(torch.bfloat16) * 2.5).dtype, (x.to(torch.int16) * 2).dtype),
    "sqrt": lambda x, _: x.sqrt().to_dense(),
    "neg": lambda x, _: (-x).to_dense(),
    "abs_": lambda x, _: x.neg().abs_().to_dense(),
    "clone": lambda x, _: x.clone().to_dense(),
    "zeros_like": lambda x, _: torch.zeros_like(x).to_dense(),
    "empty_like": lambda x, _: torch.empty_like(x).shape,
    "to double": lambda x, _: x.double().to_dense(),
    "dims": lambda x, _: (x.sparse_dim(), x.dense_dim(), x._nnz(), x.layout, x.dtype),
}
COO_AND_CSR = {
    "addmm": lambda x, y: torch.addmm(torch.ones(4, 3, device=y.device), x, y, beta=0.5, alpha=2),
    "without the input": lambda x, y: torch.addmm(torch.full((4, 3), torch.nan, device=y.device), x, y, beta=0),
    "sparse.mm": torch.sparse.mm,
    "mv": lambda x, y: x @ y[:, 0],
    "sum": lambda x, _: x.sum(),
    "add": lambda x, _: (x + x).to_dense(),
    "sin_": lambda x, _: x.sin_().to_dense(),
    "product of two": lambda x, _: (x @ x).to_dense(),
    "transposed": lambda x, _: x.t().to_dense(),
}
COO = {
    "pickle": lambda x, _: pickle.loads(pickle.dumps(x)).to_dense(),
    "deepcopy": lambda x, _: copy.deepcopy(x).to_dense(),
    "half": lambda x, y: (x.to(torch.bfloat16) @ y.to(torch.bfloat16)).float(),
    "add to dense": lambda x, y: y.new_ones(4, 4) + x,
    "in place": lambda x, y: y.new_ones(4, 4).add_(x),
    "sums": lambda x, _: torch.sparse.sum(x, 0).to_dense(),
    "softmax": lambda x, _: torch.sparse.softmax(x, 1).to_dense(),
    "cat": lambda x, _: torch.cat([x, x]).to_dense(),
    "stack": lambda x, _: torch.stack([x, x]).to_dense(),
    "mask": lambda x, y: (y @ y.t()).sparse_mask(x).to_dense(),
    "select": lambda x, _: x[1].to_dense(),
    "coalesce": lambda x, _: torch.cat([x, x], 1).coalesce().is_coalesced(),
    "indices": lambda x, _: x.coalesce().indices(),
    "bmm": lambda x, y: torch.bmm(torch.stack([x, x]), torch.stack([y, y])),
    "grows": lambda x, _: x.clone().add_((torch.eye(4, device=x.device) * 7).to_sparse()).to_dense(),
    "zero_": lambda x, _: x.clone().zero_().to_dense(),
    "copy_": lambda x, _: torch.zeros_like(x).copy_(x).to_dense(),
    "norm": lambda x, _: x.norm(),
    "out": lambda x, _: torch.sqrt(x, out=torch.empty(4, 4, layout=torch.sparse_coo, device=x.device)).to_dense(),
    "empty": lambda x, _: torch.empty(2, 3, layout=torch.sparse_coo, device=x.device)._nnz(),
    "unary": lambda x, _: (x.nan_to_num().to_dense(), x.isinf().to_dense(), x.floor().to_dense()),
}
CASES = [
    *[(layout, name, call) for layout in LAYOUTS for name, call in ALL.items()],
    *[(layout, name, call) for layout in ("coo", "csr") for name, call in COO_AND_CSR.items()],
    *[("coo", name, call) for name, call in COO.items()],
]


def same(found: Any, expected: Any) -> None:
    if isinstance(expected, torch.Tensor):
        assert found.is_cuda and found.dtype == expected.dtype
        torch.testing.assert_close(found.cpu(), expected)
    elif isinstance(expected, tuple) and isinstance(expected[0], torch.Tensor):
        for each in zip(found, expected, strict=True):
            same(*each)
    else:
        assert found == expected


@pytest.mark.parametrize(("layout", "name", "call"), CASES, ids=[f"{layout}-{name}" for layout, name, _ in CASES])
def test_what_is_computed(layout: str, name: str, call: Call) -> None:
    make: Any = LAYOUTS[layout]
    expected = call(make(DENSE), OTHER)
    same(call(make(DENSE).cuda(), OTHER.cuda()), expected)
    same(call(make(DENSE.cuda()), OTHER.cuda()), expected)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_print(layout: str) -> None:
    make: Any = LAYOUTS[layout]
    found, expected = (re.sub(r"\s+", " ", str(x)) for x in (make(DENSE.cuda()), make(DENSE)))
    assert re.sub(r" device='\w+:0',", "", found) == expected


def test_devices() -> None:
    x = DENSE.to_sparse()
    assert x.to("cuda:1").device == torch.device("cuda:1") == x.to("cuda:1").sqrt().device
    assert x.cuda().to("cuda:1").to_dense().device.index == 1 and x.cuda().cpu().device.type == "cpu"
    with pytest.raises(RuntimeError, match="same device"):
        x.cuda().add(x)
    for call in (torch.add, torch.sub, torch.mul):
        with pytest.raises(RuntimeError, match="same device"):
            call(x.cuda(), x.to("cuda:1"))
    with pytest.raises(RuntimeError, match=r"addmm: Argument #3 \(dense\): Expected dim 0 size 4, got 3"):
        x.cuda() @ OTHER.cuda().t()


def test_what_cannot_be_multiplied_or_added_is_refused_as_by_the_cpu() -> None:
    def told(compute: Any, device: str) -> str:
        with pytest.raises(RuntimeError) as raised:
            compute(DENSE.to(device).to_sparse(), DENSE.to(device))
        return str(raised.value)

    refused = (
        lambda sparse, dense: torch.addmm(dense.double(), sparse, dense),
        lambda sparse, dense: torch.addmm(torch.ones(3, 3, device=dense.device), sparse, dense, beta=0),
        lambda sparse, dense: dense.to_sparse(1) @ dense,
        lambda sparse, dense: torch.add(sparse.int(), sparse.int(), alpha=0.5),
        lambda sparse, dense: sparse.bool() - sparse.bool(),
    )
    for compute in refused:
        assert told(compute, "cuda") == told(compute, "cpu")


@pytest.mark.parametrize(("dtype", "name"), [(torch.int64, "Long"), (torch.uint8, "Byte"), (torch.bool, "Bool")])
@pytest.mark.parametrize(("layout", "kernel"), [("coo", "addmm_sparse_cuda"), ("csr", "spmm")])
def test_products_of_whole_numbers_are_refused_as_by_cudas_kernels(
    layout: str, kernel: str, dtype: torch.dtype, name: str
) -> None:
    dense = torch.eye(3, dtype=dtype, device="cuda")
    matrix: torch.Tensor = LAYOUTS[layout](dense)  # type: ignore[operator]
    calls = (
        lambda: torch.sparse.mm(matrix, dense),
        lambda: torch.sparse.addmm(dense, matrix, dense),
        lambda: matrix @ dense,
    )
    for call in calls:
        with pytest.raises(NotImplementedError, match=f"^\"{kernel}\" not implemented for '{name}'$"):
            call()


def test_products_of_batches_of_whole_numbers_are_refused_as_by_cudas_kernel(musa: Interpreter) -> None:
    """Where torch_musa has no kernel of its own."""
    code = """
        import torch
        dense = torch.ones(2, 3, 3, dtype=torch.int32, device="cuda")
        try:
            torch.bmm(dense.to_sparse(), dense)
        except NotImplementedError as error:
            assert str(error) == "\\"bmm_sparse_cuda\\" not implemented for 'Int'"
        else:
            raise SystemExit("computed")
    """
    musa.run(code, env={"MUSASIM_RELEASE": "2.7.1"}, forked=True)


@pytest.mark.parametrize("dtype", [torch.float16, torch.int32, torch.float64])
def test_sums_and_differences(dtype: torch.dtype) -> None:
    one, other = DENSE.to(dtype), DENSE.flip(0).to(dtype)
    here = one.cuda().to_sparse(), other.cuda().to_sparse()
    for call in (torch.add, torch.sub):
        found: Any = call(*here, alpha=2)
        assert not found.is_coalesced() and found._nnz() == 10 and found.dtype == dtype
        assert torch.equal(found.coalesce().to_dense().cpu(), call(one, other, alpha=2))
    assert torch.equal((here[0] + here[1].double()).to_dense().cpu(), one + other.double())
    here[0].add_(here[1]).sub_(here[1], alpha=3)
    assert here[0]._nnz() == 15 and torch.equal(here[0].to_dense().cpu(), one - 2 * other)
    for _ in range(5):
        here[0].add_(here[1])
    assert here[0]._nnz() <= 16


def test_views_share_their_values() -> None:
    matrix = DENSE.cuda().to_sparse()
    for view, wanted in ((matrix.unsqueeze(0), DENSE[None]), (matrix.permute(1, 0), DENSE.t())):
        assert view._values().data_ptr() == matrix._values().data_ptr()
        assert torch.equal(view.to_dense().cpu(), wanted)


@pytest.mark.skipif(
    not torch._C._dispatch_has_kernel_for_dispatch_key("aten::view_as_complex", "SparseCPU"),
    reason="this torch has complex views of dense tensors alone",
)
def test_complex_views_share_their_values() -> None:
    pairs = torch.stack([DENSE, DENSE], -1).to_sparse(2).cuda()
    numbers = torch.view_as_complex(pairs)
    assert numbers._values().data_ptr() == pairs._values().data_ptr() and numbers.dtype == torch.complex64
    assert torch.view_as_real(numbers)._values().data_ptr() == pairs._values().data_ptr()


def test_gradients() -> None:
    def gradients(device: str) -> list[torch.Tensor]:
        matrix = DENSE.to_sparse().to(device).requires_grad_()
        dense = OTHER.to(device).requires_grad_()
        torch.sparse.mm(matrix, dense).square().sum().backward()  # type: ignore[no-untyped-call]
        assert matrix.grad is not None and dense.grad is not None
        return [matrix.grad.to_dense().cpu(), dense.grad.cpu()]

    torch.testing.assert_close(gradients("cuda"), gradients("cpu"))


def test_an_embedding_with_sparse_gradients_learns() -> None:
    def weights(device: str) -> torch.Tensor:
        torch.manual_seed(0)
        table = torch.nn.Embedding(8, 3, sparse=True).to(device)
        optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.1)
        for _ in range(3):
            table(torch.tensor([1, 1, 5], device=device)).square().sum().backward()
            table(torch.tensor([5, 2], device=device)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        return table.weight.detach().cpu()

    torch.testing.assert_close(weights("cuda"), weights("cpu"))


def test_an_operator_that_the_cpu_lacks_too() -> None:
    with pytest.raises(NotImplementedError, match=r"aten::normal_"):
        torch.randn_like(DENSE.to_sparse().cuda())


@pytest.mark.parametrize("reduce", ["sum", "amax"])
def test_products_that_only_the_cpu_has_are_refused(reduce: str) -> None:
    """As on CUDA. Their gradients would read the CPU's indices of the maxima."""
    matrix, dense = torch.eye(3).to_sparse_csr().cuda(), torch.ones(3, 2, device="cuda")
    with pytest.raises(NotImplementedError, match="_sparse_mm_reduce_impl"):
        torch.sparse.mm(matrix.requires_grad_(), dense, reduce)
