"""The `musa` names of torch.Tensor, storages and the legacy types."""

# ruff: noqa: E402

from __future__ import annotations

import pytest

import musasim

musasim.install()

import torch
import torch_musa  # noqa: F401

from support.plain_torch import plain_torch  # noqa: F401

pytestmark = pytest.mark.once

LEGACY = ["Bool", "Byte", "Char", "Double", "Float", "Int", "Long", "Short", "Half", "BFloat16"]


# --- tensors --------------------------------------------------------------------------------------------------------


def test_tensor_musa() -> None:
    tensor = torch.ones(2, 3)
    assert tensor.musa().device == torch.device("musa:0") and not tensor.is_musa and tensor.musa().is_musa
    for device in (1, "musa:1", torch.device("musa:1")):
        assert tensor.musa(device).device == torch.device("musa:1")
    assert tensor.musa(device=1, non_blocking=True).device.index == 1
    moved = torch.ones(1, 2, 3, 4).musa(memory_format=torch.channels_last)
    assert moved.is_contiguous(memory_format=torch.channels_last)
    on_device = tensor.musa()
    assert on_device.musa() is on_device
    for other in ("cpu", "cuda"):
        with pytest.raises((RuntimeError, ValueError)):
            tensor.musa(other)


def test_is_musa_is_a_property_of_the_class() -> None:
    assert isinstance(torch.Tensor.is_musa, property)
    assert torch.nn.Parameter(torch.ones(1, device="musa")).is_musa
    with pytest.raises(AttributeError):
        torch.ones(1).is_musa = True
    assert not torch.ones(1, device="musa").is_cuda and not torch.ones(1, device="musa").is_cpu


def test_to_takes_an_index() -> None:
    tensor = torch.ones(2)
    assert tensor.to(1).device == tensor.to(device=1).device == torch.device("musa:1")
    assert tensor.to(1, torch.float64).dtype == torch.float64
    assert tensor.to(torch.float16).dtype == torch.float16 and tensor.to("musa").to("cpu").device.type == "cpu"
    assert tensor.orig_to("musa").is_musa


def test_devices_do_not_mix() -> None:
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.ones(2, device="musa:0") + torch.ones(2, device="musa:1")
    with pytest.raises(RuntimeError, match="same device"):
        torch.ones(2, device="musa") @ torch.ones(2)
    with pytest.raises(TypeError, match="musa"):
        torch.ones(2, device="musa").numpy()


def test_tensor_type_strings() -> None:
    tensor = torch.ones(2, device="musa:1")
    assert tensor.type() == "torch.musa.FloatTensor" and tensor.half().type() == "torch.musa.HalfTensor"
    assert torch.typename(tensor) == "torch.musa.FloatTensor"
    assert torch.ones(2).type("torch.musa.DoubleTensor").dtype == torch.float64
    assert torch.ones(2).type(torch.musa.IntTensor).type() == "torch.musa.IntTensor"
    assert tensor.type_as(torch.ones(1)).device.type == "cpu"


# --- legacy tensor types --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LEGACY)
def test_legacy_type(name: str) -> None:
    kind = getattr(torch.musa, f"{name}Tensor")
    dtype = getattr(torch, f"{name}Tensor").dtype
    assert kind.dtype == dtype and kind in torch.musa._tensor_classes
    assert kind.__name__ == f"{name}Tensor" and kind.__module__ == "torch.musa"
    assert kind(2, 3).shape == (2, 3) and kind(2, 3).is_musa and kind(2, 3).dtype == dtype
    assert isinstance(kind([1, 0]), kind) and kind([1, 0]).tolist() == [1, 0]
    assert kind().shape == (0,) and kind(torch.Size([2])).shape == (2,)
    assert not isinstance(torch.ones(1, dtype=dtype), kind)
    assert not isinstance(torch.ones(1, device="musa", dtype=torch.complex64), kind)


def test_legacy_types_follow_the_current_device() -> None:
    with torch.musa.device(1):
        assert torch.musa.FloatTensor([1.0]).device == torch.device("musa:1")
    assert torch.musa.FloatTensor(2, device="musa:1").device == torch.device("musa:1")
    assert torch.musa.FloatTensor(torch.musa.FloatTensor([3.0])).tolist() == [3]
    with pytest.raises(TypeError):
        torch.musa.FloatTensor("text")


# --- storages -------------------------------------------------------------------------------------------------------


def test_untyped_storage() -> None:
    storage = torch.arange(4, device="musa:1").untyped_storage()
    assert storage.is_musa and storage.is_cuda and storage.is_shared() and storage.get_device() == 1
    on_cpu = storage.cpu()
    assert not on_cpu.is_musa and not on_cpu.is_cuda and not on_cpu.is_shared()
    assert on_cpu.musa(0).device == torch.device("musa:0") and on_cpu.musa("musa:1").device == torch.device("musa:1")
    assert on_cpu.musa(1).tolist() == storage.tolist()


def test_a_storage_is_copied_to_where_it_is_not() -> None:
    """Where it is goes by the index alone, and the device of a storage of the host has to be named."""
    storage = torch.arange(4, device="musa:1").untyped_storage()
    assert storage.musa(1) is storage and storage.musa().device == torch.device("musa:0")
    for device in ("musa:1", torch.device("musa", 1)):
        copy = storage.musa(device)
        assert copy.tolist() == storage.tolist() and copy.data_ptr() != storage.data_ptr()
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        storage.cpu().musa()
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        storage.musa(0, unknown=True)


def test_storages_do_not_change_their_device() -> None:
    with pytest.raises(RuntimeError, match="only a storage in unified memory"):
        torch.ones(2, device="musa").untyped_storage().edit_device("cpu")


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("name", LEGACY)
def test_storage_class(name: str) -> None:
    kind = getattr(torch.musa, f"{name}Storage")
    storage = kind(3)
    assert len(storage) == 3 and storage.device == torch.device("musa:0")
    assert storage.dtype == kind.dtype == getattr(torch, f"{name}Tensor").dtype
    assert isinstance(storage, kind) and not isinstance(storage, torch.FloatStorage)
    with pytest.raises(RuntimeError, match="Not available for MUSA storage"):
        kind.from_buffer(b"123")
    with pytest.raises(RuntimeError, match="Not available for MUSA storage"):
        kind._new_shared_filename(None, None, 3)


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_storage_type_strings() -> None:
    """The classes are not in torch.musa, and their names show their real module."""
    assert torch.ones(2, device="musa").storage().type() == "torch_musa.core.musa.FloatStorage"
