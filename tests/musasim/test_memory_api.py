"""torch.musa's functions for memory."""

# ruff: noqa: E402

from __future__ import annotations

import ctypes
import gc
import json
import pickle
from pathlib import Path

import pytest

import musasim

musasim.install()

import torch
import torch_musa

from support.fresh_process import run
from support.plain_torch import plain_torch  # noqa: F401

pytestmark = pytest.mark.once

MIB = 1 << 20


@pytest.fixture(autouse=True)
def clean_slate():
    torch.musa.set_device(0)
    gc.collect()
    torch.musa.empty_cache()


def expected_keys() -> set[str]:
    metrics = ("current", "peak", "allocated", "freed")
    pooled = ("allocation", "segment", "active", "inactive_split", "allocated_bytes", "reserved_bytes")
    pooled += ("active_bytes", "inactive_split_bytes", "requested_bytes")
    keys = {"num_alloc_retries", "num_ooms", "max_split_size", "num_sync_all_streams"}
    keys |= {"num_device_alloc", "num_device_free"}
    keys |= {f"{k}.{pool}.{m}" for k in pooled for pool in ("all", "small_pool", "large_pool") for m in metrics}
    return keys | {f"{k}.{m}" for k in ("oversize_allocations", "oversize_segments") for m in metrics}


def test_statistics_have_torchs_keys() -> None:
    torch.musa.synchronize()
    stats = torch.musa.memory_stats()
    assert set(stats) == expected_keys() and list(stats) == sorted(stats)
    nested = torch.musa.memory_stats_as_nested_dict(1)
    assert nested["allocated_bytes"]["all"]["peak"] == torch.musa.memory_stats(1)["allocated_bytes.all.peak"]
    assert set(torch.musa.memory_stats_all()) == expected_keys()


def test_statistics_are_empty_before_initialisation() -> None:
    run("""
        import torch, torch_musa
        assert torch.musa.memory_stats() == {} and torch.musa.memory_allocated() == 0
        assert torch.musa.max_memory_reserved() == 0
        torch.musa.empty_cache()
    """)


def test_counting_bytes() -> None:
    before = torch.musa.memory_allocated(), torch.musa.memory_allocated(1)
    torch.musa.reset_peak_memory_stats()
    tensor = torch.empty(3 * MIB, dtype=torch.uint8, device="musa")
    assert torch.musa.memory_allocated() - before[0] == 3 * MIB
    assert torch.musa.memory_reserved() >= 3 * MIB
    assert torch.musa.memory_allocated(1) == before[1]
    del tensor
    assert torch.musa.memory_allocated() == before[0]
    assert torch.musa.max_memory_allocated() == before[0] + 3 * MIB <= torch.musa.max_memory_reserved()
    torch.musa.reset_peak_memory_stats()
    assert torch.musa.max_memory_allocated() == before[0]


def test_sum_over_devices() -> None:
    tensors = [torch.ones(MIB, device=index) for index in ("musa:0", "musa:1")]
    each = [torch.musa.memory_stats(index) for index in (0, 1)]
    both = torch.musa.memory_stats_all()
    assert both["allocated_bytes.all.current"] == sum(stats["allocated_bytes.all.current"] for stats in each)
    assert both["allocated_bytes.all.peak"] == max(stats["allocated_bytes.all.peak"] for stats in each)
    del tensors


def test_accumulated_counters() -> None:
    torch.ones(2, device="musa")
    assert torch.musa.memory_stats()["allocation.all.allocated"] > 0
    torch.musa.reset_accumulated_memory_stats()
    assert torch.musa.memory_stats()["allocation.all.allocated"] == 0


@pytest.mark.parametrize("name", ["reset_max_memory_allocated", "reset_max_memory_cached"])
def test_old_names_reset_the_peaks(name: str) -> None:
    """They raise NameError in torch_musa 2.7.1. Here they work as they do from 2.9 on."""
    torch.ones(MIB, device="musa")
    with pytest.warns(FutureWarning, match=f"torch.musa.{name} now calls"):
        getattr(torch.musa, name)()
    assert torch.musa.max_memory_allocated() == torch.musa.memory_allocated()


def test_empty_cache_returns_memory_to_the_driver() -> None:
    tensor = torch.ones(30 * MIB, dtype=torch.uint8, device="musa")
    free = torch.musa.mem_get_info()[0]
    del tensor
    torch.musa.empty_cache()
    assert torch.musa.mem_get_info()[0] >= free + 30 * MIB
    assert torch.musa.mem_get_info(1)[1] == torch.musa.get_device_properties(1).total_memory


def test_out_of_memory_and_limits() -> None:
    with pytest.raises(torch.OutOfMemoryError, match=r"^MUSA out of memory. Tried to allocate"):
        torch.empty(1 << 50, dtype=torch.uint8, device="musa")
    total = torch.musa.mem_get_info()[1]
    torch.musa.set_per_process_memory_fraction(8 * MIB / total)
    try:
        with pytest.raises(torch.musa.OutOfMemoryError):
            torch.empty(64 * MIB, dtype=torch.uint8, device="musa")
        torch.empty(64 * MIB, dtype=torch.uint8, device="musa:1")
    finally:
        torch.musa.set_per_process_memory_fraction(1.0)
    for fraction, error in ((1, TypeError), (1.5, ValueError), (-0.5, ValueError)):
        with pytest.raises(error):
            torch.musa.set_per_process_memory_fraction(fraction)


def test_summary() -> None:
    tensor = torch.ones(3 * MIB, dtype=torch.uint8, device="musa")
    text = torch.musa.memory_summary()
    assert "PyTorch MUSA memory summary, device ID 0" in text and "from small pool" in text
    assert "from small pool" not in torch.musa.memory_summary(1, abbreviated=True)
    assert len({len(line) for line in text.splitlines()}) == 1
    del tensor


def test_snapshot(tmp_path: Path) -> None:
    tensor = torch.ones(3 * MIB, dtype=torch.uint8, device="musa")
    snapshot = torch.musa.memory._snapshot()
    assert set(snapshot) == {"segments", "device_traces", "allocator_settings", "external_annotations"}
    blocks = [block for segment in torch.musa.memory_snapshot() for block in segment["blocks"]]
    assert any(block["state"] == "active_allocated" and block["size"] >= 3 * MIB for block in blocks)
    file = tmp_path / "snapshot.pickle"
    torch.musa._dump_snapshot(str(file))
    assert set(pickle.loads(file.read_bytes())) == set(snapshot)
    json.dumps(snapshot["allocator_settings"])
    del tensor


def test_history() -> None:
    for arguments in (("all",), (True,)):
        torch.musa._record_memory_history(*arguments)
        torch.ones(5, device="musa")
        traces = torch.musa.memory._snapshot()["device_traces"]
        assert any(entry["action"] == "alloc" for trace in traces for entry in trace)
        torch.musa._record_memory_history(None if arguments == ("all",) else False)


def test_malformed_allocator_settings_are_refused() -> None:
    assert torch.musa.get_allocator_backend() == "native"
    torch.musa._set_allocator_settings("max_split_size_mb:64")
    with pytest.raises((RuntimeError, ValueError)):
        torch.musa._set_allocator_settings("neither key nor value")


def pool_of(tensor: torch.Tensor) -> tuple[int, int]:
    """The id of the pool whose segment contains `tensor`."""
    for segment in torch.musa.memory_snapshot():
        if 0 <= tensor.data_ptr() - segment["address"] < segment["total_size"]:
            return segment["segment_pool_id"]
    raise AssertionError("in no segment")


def test_pools() -> None:
    pool = torch.musa.MemPool()
    assert len(pool.id) == 2 and pool.allocator is None
    assert torch.musa.MemPoolContext.active_pool() is None
    with torch.musa.use_mem_pool(pool):
        assert torch.musa.MemPoolContext.active_pool().id == pool.id
        inside = torch.ones(4, device="musa")
    assert torch.musa.MemPoolContext.active_pool() is None
    outside = torch.ones(4, device="musa")
    assert (pool_of(inside), pool_of(outside)) == (pool.id, (0, 0))
    assert inside.tolist() == [1] * 4 and torch.musa.MemPool().id != pool.id


def test_the_allocator_cannot_be_replaced_once_it_is_used() -> None:
    torch.ones(1, device="musa")
    with pytest.raises(RuntimeError, match="already initialized"):
        torch.musa.change_current_allocator(torch_musa.core.memory._get_current_allocator())


def test_a_pluggable_allocator_provides_a_pools_memory() -> None:
    """They provide a pool's segments, and get them back when the pool is destroyed and the cache is emptied."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]
    taken: dict[int, int] = {}

    @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)
    def take(size: int, device: int, stream: int) -> int:
        address = int(libc.malloc(size))
        taken[address] = size
        return address

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)
    def give(address: int, size: int, device: int, stream: int) -> None:
        assert taken.pop(address) == size
        libc.free(address)

    addresses = (ctypes.cast(each, ctypes.c_void_p).value for each in (take, give))
    pool = torch.musa.MemPool(torch_musa._MUSAC._musa_customAllocator(*addresses))
    with torch.musa.use_mem_pool(pool):
        held = torch.ones(3 * MIB, device="musa")
    assert list(taken.values()) == [12 * MIB] and held.data_ptr() in taken
    # use_mem_pool of 2.7.1 does not release the pool.
    torch_musa._MUSAC._musa_releasePool(torch.musa.current_device(), pool.id)
    del held, pool
    torch.musa.empty_cache()
    assert taken == {}


def test_a_history_is_forgotten_when_it_is_switched_off() -> None:
    torch.musa._record_memory_history(max_entries=100)
    held = torch.ones(MIB, device="musa")
    assert any(
        entry["action"] == "alloc" for entry in torch.musa.memory._snapshot()["device_traces"][held.get_device()]
    )
    torch.musa._record_memory_history(None)
    assert torch.musa.memory._snapshot()["device_traces"][0] == []


def test_accelerator_statistics() -> None:
    if not hasattr(torch.accelerator, "memory_allocated"):
        pytest.skip("torch.accelerator has no memory functions before torch 2.9")
    tensor = torch.ones(MIB, device="musa")
    assert torch.accelerator.memory_allocated() == torch.musa.memory_allocated()
    assert torch.accelerator.max_memory_reserved() == torch.musa.max_memory_reserved()
    torch.accelerator.empty_cache()
    del tensor
