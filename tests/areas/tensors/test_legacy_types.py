"""torch.cuda.FloatTensor and its sisters."""

from __future__ import annotations

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
    made = torch.zeros(2)
    assert not made.is_cuda
    assert made.dtype is torch.float32


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
