"""Host tensors in memory that the device can use too, by the setting and in the block."""

from __future__ import annotations

import io
from typing import Any

import pytest
import torch

from support.fresh_process import run

pytestmark = pytest.mark.once

LOAD = """
import io, torch, torch_musa
state = io.BytesIO()
torch.save({"weight": torch.arange(4096.0)}, state)
state.seek(0)
loaded = torch.load(state, map_location="musa:1")["weight"]
print(loaded.device, torch.musa.max_memory_allocated(1), float(loaded.sum()))
"""


@pytest.mark.full
@pytest.mark.parametrize(
    ("setting", "allocated"),
    [("", 16384), ("cpu:unified", 0), ("max_split_size_mb:64,cpu:unified", 0), ("cpu:unified2", 16384)],
)
def test_a_loaded_tensor_needs_no_memory_of_the_device(setting: str, allocated: int) -> None:
    assert run(LOAD, PYTORCH_MUSA_ALLOC_CONF=setting).split() == ["musa:1", str(allocated), "8386560.0"]


def test_a_storage_of_the_block_becomes_the_devices_where_it_lies(torch_musa: Any) -> None:
    with torch_musa.use_unified_cpu_allocator():
        tensor = torch.arange(6.0)
        storage, address = tensor.untyped_storage(), tensor.data_ptr()
        assert storage.to(device=torch.device("musa", 1)) is storage and storage.data_ptr() == address
    assert storage.device == torch.device("musa", 1)
    there = torch.tensor([], device="musa:1").set_(storage, 0, (6,))  # type: ignore[call-overload]
    assert (there + 1).sum().item() == 21.0 and there.cpu().tolist() == list(range(6))
    storage.edit_device("cpu")  # type: ignore[attr-defined]
    assert storage.device.type == "cpu" and torch.tensor([]).set_(storage, 0, (6,)).tolist() == list(range(6))  # type: ignore[call-overload]


def test_after_the_block_storages_are_copied_again(torch_musa: Any) -> None:
    with torch_musa.use_unified_cpu_allocator():
        inside = torch.ones(3)
        empty = torch.empty(0)
    outside = torch.ones(3)
    assert outside.untyped_storage().to(device=torch.device("musa")).data_ptr() != outside.data_ptr()
    assert torch.equal(inside.to("musa").cpu(), outside) and empty.to("musa").numel() == 0


def test_memory_of_the_host_alone_stays_there(torch_musa: Any) -> None:
    with pytest.raises(RuntimeError, match="only a storage in unified memory"):
        torch.ones(2).untyped_storage().edit_device(torch.device("musa"))  # type: ignore[attr-defined]


def test_saving_from_unified_memory(torch_musa: Any) -> None:
    saved = io.BytesIO()
    with torch_musa.use_unified_cpu_allocator():
        torch.save(torch.arange(5), saved)
    saved.seek(0)
    assert torch.load(saved).tolist() == [0, 1, 2, 3, 4]
