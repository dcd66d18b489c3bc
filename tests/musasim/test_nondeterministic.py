"""Which operators say that they are not deterministic: kernels that torch_musa 2.7.1 ports from CUDA, and three of its own."""

from __future__ import annotations

import json

import pytest

from support.fresh_process import run

pytestmark = pytest.mark.once

GIVEN = {
    "torch.histc(x[0])": "_histc_musa",
    "torch.bincount(i)": "_bincount_musa",
    "x.kthvalue(1)": "kthvalue CUDA",
    "x.median(0)": "median CUDA with indices output",
    "x.nanmedian(1)": "median CUDA with indices output",
    "x[0].index_reduce(0, i, x[1], 'mean')": "index_reduce_musa",
    "x[0].scatter_reduce(0, i, x[1], 'sum')": "scatter_reduce_cuda_sum_",
    "x[0].scatter_reduce_(0, i, x[1], 'prod')": "scatter_reduce_cuda_prod_",
    "x[0].scatter_reduce(0, i, x[1], 'mean')": "scatter_reduce_cuda_mean_",
    "x[0].scatter_(0, i, x[1], reduce='add')": "scatter_reduce_cuda_kernel",
    "back(F.avg_pool3d(v, 2))": "avg_pool3d_backward_cuda",
    "back(F.max_pool3d(v, 2))": "max_pool3d_with_indices_backward_cuda",
    "back(F.fractional_max_pool2d(v[0], 2, output_size=2))": "fractional_max_pool2d_backward_cuda",
    "back(F.fractional_max_pool3d(v, 2, output_size=2))": "fractional_max_pool3d_backward_cuda",
    "back(F.pad(v[0, 0], (1, 1), 'reflect'))": "reflection_pad1d_backward_out_cuda",
    "back(F.pad(v[0], (1, 1, 1, 1), 'reflect'))": "reflection_pad2d_backward_cuda",
    "back(F.pad(v, (1, 1, 1, 1, 1, 1), 'reflect'))": "reflection_pad3d_backward_out_cuda",
    "back(F.pad(v[0, 0], (1, 1), 'replicate'))": "replication_pad1d_backward_cuda",
    "back(F.pad(v[0], (1, 1, 1, 1), 'replicate'))": "replication_pad2d_backward_cuda",
    "back(F.pad(v, (1, 1, 1, 1, 1, 1), 'replicate'))": "replication_pad3d_backward_cuda",
    "F.nll_loss(v[0], labels)": "nll_loss2d_forward_out_cuda_template",
    "back(F.embedding_bag(i[None], v[0, 0, 0], mode='max'))": "embedding_bag_backward_cuda_max",
}
NOT_GIVEN = [
    "x.median()",
    "x[0].scatter_reduce(0, i, x[1], 'amax')",
    "x[0].scatter_(0, i, 1.0, reduce='add')",
    "x[0].scatter_add(0, i, x[1])",
    "x.cumsum(0)",
    "F.nll_loss(v[0], labels, reduction='none')",
    "back(F.embedding_bag(i[None], v[0, 0, 0], mode='sum'))",
    "back(F.adaptive_avg_pool3d(v, 2))",
    "back(F.interpolate(v[0], scale_factor=2.0, mode='bilinear'))",
    "back(F.grid_sample(v[0], torch.zeros(1, 1, 1, 2, device='musa')))",
]
PROGRAM = """
import json
import musasim
musasim.install()
import torch, torch_musa, torch.nn.functional as F
x, i = torch.rand(2, 2, device="musa"), torch.tensor([0, 1], device="musa")
v = torch.rand(1, 1, 4, 4, 4, device="musa", requires_grad=True)
labels = torch.zeros(1, 4, 4, dtype=torch.int64, device="musa")
back = lambda result: result.sum().backward()
torch.use_deterministic_algorithms(True)
found = {}
for call in CALLS:
    try:
        eval(call)
    except RuntimeError as error:
        found[call] = str(error).partition(" does not have a deterministic implementation")[0]
print(json.dumps(found))
"""


@pytest.mark.full
def test_alerts() -> None:
    assert json.loads(run(f"CALLS = {[*GIVEN, *NOT_GIVEN]}\n{PROGRAM}", forked=True)) == GIVEN
