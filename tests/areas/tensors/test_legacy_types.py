"""torch.cuda.FloatTensor and its sisters."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator

import pytest
import torch

TYPES = {
    "FloatTensor": torch.float32,
    "DoubleTensor": torch.float64,
    "HalfTensor": torch.float16,
    "ByteTensor": torch.uint8,
    "CharTensor": torch.int8,
    "ShortTensor": torch.int16,
    "IntTensor": torch.int32,
    "LongTensor": torch.int64,
    "BoolTensor": torch.bool,
    "BFloat16Tensor": torch.bfloat16,
}


@pytest.mark.parametrize(("name", "dtype"), TYPES.items())
def test_constructors(name: str, dtype: torch.dtype) -> None:
    made = getattr(torch.cuda, name)([1, 0, 1])
    assert made.is_cuda
    assert made.dtype is dtype
    assert made.tolist() == [1, 0, 1]
    assert getattr(torch.cuda, name)(2, 3).shape == (2, 3)
    assert made.type() == f"torch.cuda.{name}"


def test_isinstance() -> None:
    x = torch.zeros(2, device="cuda")
    assert isinstance(x, torch.cuda.FloatTensor)
    assert not isinstance(x, torch.cuda.LongTensor)
    assert not isinstance(torch.zeros(2), torch.cuda.FloatTensor)


@pytest.mark.filterwarnings("ignore:torch.set_default_tensor_type")
@pytest.mark.parametrize("spell", ["torch.cuda.DoubleTensor", None])
def test_default_tensor_type(spell: str | None) -> None:
    torch.set_default_tensor_type(spell or torch.cuda.DoubleTensor)
    made = torch.zeros(2)
    assert made.is_cuda
    assert made.dtype is torch.float64
    torch.set_default_tensor_type("torch.FloatTensor")
    assert "torch.musa" not in sys.modules
    assert vars(torch)["musa"] is sys.modules["torch_musa"]
    made = torch.zeros(2)
    assert not made.is_cuda
    assert made.dtype is torch.float32


class _MakesTensors(torch.autograd.Function):
    """Its backward is called in the thread that autograd has for the device."""

    made: list[torch.Tensor] = []

    @staticmethod
    def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: object, gradient: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        _MakesTensors.made.append(torch.zeros(2))
        return gradient * 2


def _in_a_thread() -> list[torch.Tensor]:
    made: list[torch.Tensor] = []
    thread = threading.Thread(
        target=lambda: made.extend([torch.zeros(2), torch.nn.Linear(2, 2).weight, torch.tensor(1.0)])
    )
    thread.start()
    thread.join()
    return made


@pytest.fixture
def on_the_device() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.set_default_tensor_type(torch.cuda.HalfTensor)
        yield
        torch.set_default_tensor_type(torch.FloatTensor)


@pytest.mark.usefixtures("on_the_device")
def test_the_default_tensor_type_holds_in_every_thread() -> None:
    _MakesTensors.apply(torch.ones(2, requires_grad=True)).sum().backward()
    for made in (*_in_a_thread(), *_MakesTensors.made):
        assert made.is_cuda


@pytest.mark.usefixtures("on_the_device")
def test_the_class_of_tensors_makes_tensors_of_the_default_type() -> None:
    for made in (torch.Tensor([1.0, 2.0]), torch.Tensor(2, 3), torch.Tensor(), torch.Tensor(torch.Size([2]))):
        assert made.is_cuda and made.dtype is torch.float16
    assert not torch.FloatTensor([1.0]).is_cuda and not torch.zeros(1, device="cpu").is_cuda
    with torch.device("cpu"):
        assert not torch.zeros(1).is_cuda


def test_a_default_type_of_the_cpu_is_set_again() -> None:
    for made in (*_in_a_thread(), torch.Tensor(2)):
        assert not made.is_cuda and made.dtype is torch.float32


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64, torch.complex128, torch.float8_e4m3fn, torch.uint16])
def test_the_type_of_a_tensor_has_the_name_that_it_has_on_cuda(dtype: torch.dtype) -> None:
    of_the_cpu = torch.zeros(1, dtype=dtype)
    assert of_the_cpu.cuda().type() == of_the_cpu.type().replace("torch.", "torch.cuda.")


def test_the_type_of_a_sparse_tensor_has_the_name_that_it_has_on_cuda() -> None:
    assert torch.eye(2, device="cuda").to_sparse().type() == "torch.cuda.sparse.FloatTensor"


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("name", ["FloatStorage", "LongStorage", "ComplexFloatStorage", "ComplexDoubleStorage"])
def test_storage_types(name: str) -> None:
    of_the_device, of_the_cpu = getattr(torch.cuda, name), getattr(torch, name)
    x = torch.zeros(2, device="cuda", dtype=of_the_device.dtype)
    assert x.storage_type() is of_the_device and of_the_device.dtype is of_the_cpu.dtype
    assert isinstance(x.storage(), of_the_device) and not isinstance(x.cpu().storage(), of_the_device)
    assert not isinstance(x.storage(), of_the_cpu) and not isinstance(x.storage(), torch.cuda.IntStorage)
    made = of_the_device(wrap_storage=x.untyped_storage())
    assert made.is_cuda and made.dtype is x.dtype and made.data_ptr() == x.data_ptr()
    assert of_the_device([1, 2]).tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="Not available"):
        of_the_device.from_buffer(b"")
