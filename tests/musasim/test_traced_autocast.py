"""torch.musa.amp.autocast in code that torch.compile traces."""

# ruff: noqa: E402

from __future__ import annotations

import pytest

import musasim

musasim.install()

import torch
import torch_musa  # noqa: F401
from torch._dynamo.testing import CompileCounter

from support.plain_torch import plain_torch  # noqa: F401

pytestmark = pytest.mark.once


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("enabled", [True, False])
def test_it_becomes_part_of_the_graph(dtype: torch.dtype, enabled: bool) -> None:
    def multiplied(x: torch.Tensor) -> torch.Tensor:
        with torch.musa.amp.autocast(enabled, dtype=dtype):
            return x @ x

    torch._dynamo.reset()
    counter, x = CompileCounter(), torch.randn(4, 4, device="musa")
    found = torch.compile(multiplied, backend=counter, fullgraph=True)(x)
    assert found.dtype == (dtype if enabled else torch.float32) and torch.equal(found, multiplied(x))
    assert (counter.frame_count, counter.op_count) == (1, 3)  # it is entered, used and left
    assert not torch.is_autocast_enabled("musa")
