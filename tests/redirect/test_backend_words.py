"""Texts in which the backend's device is named are renamed for code that sees CUDA; its libraries and paths keep their names."""

from __future__ import annotations

import pytest

from torchada.backends.musa import MUSA
from torchada.redirect.backend_words import as_cuda

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("own", "cuda"),
    [
        ("cannot pin 'musaFloatType' only dense", "cannot pin 'torch.cuda.FloatTensor' only dense"),
        ("two devices, musa:0 and cpu!", "two devices, cuda:0 and cpu!"),
        ("MUSA out of memory. Tried", "CUDA out of memory. Tried"),
        ("passing MUSA_LAUNCH_BLOCKING=1", "passing CUDA_LAUNCH_BLOCKING=1"),
        ("set PYTORCH_MUSA_ALLOC_CONF=", "set PYTORCH_CUDA_ALLOC_CONF="),
        ("MUSA reports that you have 2 available devices", "CUDA reports that you have 2 available devices"),
        ("torch_musa.core.musa.FloatStorage", "torch.cuda.FloatStorage"),
        ("_MusaDeviceProperties(name=", "_CudaDeviceProperties(name="),
        ("musaMalloc retries", "cudaMalloc retries"),
        ("torch_musa has no kernel", "torch_musa has no kernel"),
        ("libmusart.so in /usr/local/musa/lib", "libmusart.so in /usr/local/musa/lib"),
        ("muBLAS, musart, setNumThreads(mthreads)", "muBLAS, musart, setNumThreads(mthreads)"),
    ],
)
def test_a_text_is_renamed_where_it_names_the_device(own: str, cuda: str) -> None:
    assert as_cuda(MUSA)(own) == cuda
