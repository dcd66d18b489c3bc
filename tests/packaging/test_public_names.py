"""The names that users of earlier torchada releases import from it, and what they answer."""

from __future__ import annotations

import pytest
import torch

import torchada
from support.interpreter import Interpreter


def test_every_public_name_resolves() -> None:
    for name in torchada.__all__:
        assert getattr(torchada, name) is not None
    assert set(torchada.__all__) <= set(dir(torchada))
    with pytest.raises(AttributeError, match="nonsense"):
        torchada.nonsense  # noqa: B018


@pytest.mark.parametrize(
    ("function", "given", "expected"),
    [
        ("cuda_to_musa_name", "cudaMalloc", "musaMalloc"),
        ("cuda_to_musa_name", "malloc", "malloc"),
        ("nccl_to_mccl_name", "ncclAllReduce", "mcclAllReduce"),
        ("cublas_to_mublas_name", "cublasCreate", "mublasCreate"),
        ("curand_to_murand_name", "curand_init", "murand_init"),
    ],
)
def test_names_of_libraries(function: str, given: str, expected: str) -> None:
    assert getattr(torchada, function)(given) == expected


@pytest.mark.musa
def test_on_musa() -> None:
    assert torchada.detect_platform() is torchada.get_platform() is torchada.Platform.MUSA
    assert torchada.is_musa_platform()
    assert not torchada.is_cuda_platform()
    assert not torchada.is_cpu_platform()
    assert torchada.get_device_name() == "musa"
    assert torchada.get_backend() is torch.musa
    assert torchada.is_patched()
    assert torchada.get_version() == torchada.__version__


@pytest.mark.musa
@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ("cuda", True),
        ("cuda:1", True),
        ("musa:0", True),
        ("cpu", False),
        (torch.device("cpu"), False),
        (None, False),
        (3, False),
    ],
)
def test_is_gpu_device(device: object, expected: bool) -> None:
    assert torchada.is_gpu_device(device) is expected


@pytest.mark.musa
def test_is_gpu_device_of_tensors() -> None:
    assert torchada.is_gpu_device(torch.zeros(1, device="cuda"))
    assert torchada.is_gpu_device(torch.device("cuda"))
    assert not torchada.is_gpu_device(torch.zeros(1))


def test_on_a_machine_without_accelerator(plain: Interpreter) -> None:
    plain.run(
        """
        import torchada
        assert torchada.is_cpu_platform() and not torchada.is_patched()
        assert torchada.get_device_name() == "cpu"
        try:
            torchada.get_backend()
        except RuntimeError as error:
            assert "CPU" in str(error)
        else:
            raise AssertionError
        """
    )


def test_the_platform_variable_decides_without_torch(plain: Interpreter) -> None:
    code = "import sys, torchada; print(torchada.detect_platform().value, 'torch' in sys.modules)"
    assert plain.run(code, env={"TORCHADA_PLATFORM": "cuda"}).stdout.split() == ["cuda", "False"]
