import pytest
import torch
from saxpy import saxpy


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_saxpy():
    x, y = torch.arange(1000.0, device="cuda"), torch.ones(1000, device="cuda")
    saxpy(2.0, x, y)
    torch.testing.assert_close(y.cpu(), 2 * torch.arange(1000.0) + 1)
