"""Operators that no torch_musa registers, or none before 2.9.1, are refused, although PyTorch has kernels for the CPU."""

from __future__ import annotations

import json

import pytest

from support.fresh_process import run

pytestmark = pytest.mark.once

CALLS = {
    "_int_mm": "torch._int_mm(x.char(), x.char())",
    "_logcumsumexp": "torch.logcumsumexp(x, 0)",
    "linalg_matrix_exp": "torch.linalg.matrix_exp(x)",
    "nonzero_static": "torch.nonzero_static(x, size=2)",
    "segment_reduce": "torch.segment_reduce(x, 'sum', lengths=torch.tensor([1, 2], device='musa'))",
    "special_hermite_polynomial_h.out": "torch.special.hermite_polynomial_h(x, 2)",
    "special_modified_bessel_i0.out": "torch.special.modified_bessel_i0(x)",
    "_to_sparse_csr": "x.to_sparse_csr()",
}
# By no release that was read.
NEVER = {
    "histogram.bin_ct": "torch.histogram(x)",
    "slow_conv_dilated2d": "torch.ops.aten.slow_conv_dilated2d(x[None, None], x[None, None], [3, 3])",
}
PROGRAM = """
import json
import musasim
musasim.install()
import torch, torch_musa
x, found = torch.ones(3, 3, device="musa"), {}
for name, call in CALLS.items():
    try:
        found[name] = str(eval(call))
    except NotImplementedError as error:
        found[name] = str(error).split("\\n")[0]
print(json.dumps(found))
"""


@pytest.mark.parametrize("release", ["2.7.1", "2.11.0"])
def test_they_are_refused_by_name(release: str) -> None:
    calls = {**CALLS, **NEVER} if release == "2.7.1" else NEVER
    found = json.loads(run(f"CALLS = {calls}\n{PROGRAM}", MUSASIM_RELEASE=release))
    for name, error in found.items():
        assert error.startswith(f"Could not run 'aten::{name}' with arguments from the 'PrivateUse1' backend"), error
    assert found.keys() == calls.keys()
