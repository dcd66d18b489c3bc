import pytest
import torch
from plain import standardised

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@needs_gpu
def test_on_the_gpu_as_on_the_cpu():
    rows = torch.randn(8, 32)
    torch.testing.assert_close(standardised(rows.cuda()).cpu(), standardised(rows))


@pytest.mark.requires_cuda(2)
def test_on_the_second_gpu():
    assert standardised(torch.randn(2, 4, device="cuda:1")).device == torch.device("cuda:1")
