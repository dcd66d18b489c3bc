"""torch._C._cuda_*: privates that downstream projects import."""

from __future__ import annotations

import pytest
import torch

PRIVATES = [
    "_cuda_getCurrentRawStream",
    "_cuda_getCurrentStream",
    "_cuda_getDefaultStream",
    "_cuda_getDevice",
    "_cuda_setDevice",
    "_cuda_exchangeDevice",
    "_cuda_maybeExchangeDevice",
    "_cuda_synchronize",
    "_cuda_emptyCache",
    "_cuda_memoryStats",
    "_cuda_getCurrentBlasHandle",
    "_cuda_clearCublasWorkspaces",
    "_cuda_ipc_collect",
    "_CudaDeviceProperties",
    "_CudaStreamBase",
    "_CudaEventBase",
    "_CUDAGraph",
    "_cuda_isCurrentStreamCapturing",
]


@pytest.mark.parametrize("name", PRIVATES)
def test_privates_of_torch_c(name: str) -> None:
    own = name.replace("Cublas", "Mublas").replace("cuda", "musa").replace("Cuda", "Musa").replace("CUDA", "MUSA")
    assert getattr(torch._C, name) is getattr(torch.musa._MUSAC, own)


def test_get_current_raw_stream_as_inductor_imports_it() -> None:
    from torch._C import _cuda_getCurrentRawStream as get_raw_stream

    stream = torch.cuda.Stream()
    assert get_raw_stream(0) == 0
    with torch.cuda.stream(stream):
        assert get_raw_stream(0) == stream.musa_stream != 0


def test_the_private_that_detects_cuda_counts_the_devices() -> None:
    assert torch._C._cuda_getDeviceCount() == torch.cuda.device_count()
