"""Return of a graph's pool to an earlier state of its blocks, as torch.compile's graph trees need it."""

from __future__ import annotations

import gc
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch")

pytestmark = [pytest.mark.musa, pytest.mark.once]


@pytest.fixture
def musa(torch_musa: Any) -> Any:
    gc.collect()
    return torch_musa


@pytest.fixture
def graphs() -> list[Any]:
    """Keeps the graphs of a test, which own their pool."""
    return []


def record(musa: Any, graphs: list[Any], body: Any, pool: Any = None) -> list[Any]:
    """The results of `body` in a graph, on a stream of its own."""
    graph = musa.MUSAGraph()
    graphs.append(graph)
    with musa.graph(graph, pool=pool):
        return list(body())


def blocks(musa: Any, pool: tuple[int, int]) -> list[tuple[int, list[tuple[int, str]]]]:
    """Each segment of the pool: its address, and the sizes and states of its blocks."""
    return [
        (segment["address"], [(block["size"], block["state"]) for block in segment["blocks"]])
        for segment in musa.memory_snapshot()
        if tuple(segment["segment_pool_id"]) == pool
    ]


def live(musa: Any, pool: tuple[int, int]) -> int:
    return sum(state == "active_allocated" for _, found in blocks(musa, pool) for _, state in found)


def one(bytes: int) -> Any:
    return torch.ones(bytes, dtype=torch.uint8, device="musa")


def storage(tensor: Any) -> int:
    return int(tensor.untyped_storage()._cdata)


def over(address: int, like: Any) -> Any:
    """A tensor over memory that no tensor has, as graph trees make them of a recorded result."""
    nbytes = like["nbytes"]
    bare = torch._C._construct_storage_from_data_pointer(address, like["device"], nbytes)
    metadata = {"dtype": like["dtype"], "storage_offset": 0, "size": like["size"], "stride": like["stride"]}
    return torch_c()._construct_MUSA_Tensor_From_Storage_And_Metadata(metadata, bare)


def torch_c() -> Any:
    import torch_musa

    return torch_musa._MUSAC


def described(tensor: Any) -> dict[str, Any]:
    return {
        "nbytes": tensor.untyped_storage().nbytes(),
        "device": tensor.device,
        "dtype": tensor.dtype,
        "size": tuple(tensor.size()),
        "stride": tensor.stride(),
    }


@pytest.mark.full
@pytest.mark.parametrize("sizes", [[512] * 11, [1 << 20, 1 << 10, 21 << 20, 8], [3 << 20]])
def test_a_state_fits_what_it_was_taken_of(musa: Any, graphs: list[Any], sizes: list[int]) -> None:
    kept = record(musa, graphs, lambda: [one(size) for size in sizes][::2])
    pool = graphs[0].pool()
    before = blocks(musa, pool)
    allocated = musa.memory_allocated()
    torch_c()._musa_setCheckpointPoolState(0, torch_c()._musa_getCheckpointState(0, pool), [], [])
    assert blocks(musa, pool) == before and live(musa, pool) == len(kept)
    assert musa.memory_allocated() == allocated


def test_a_stale_tensor_must_be_named(musa: Any, graphs: list[Any]) -> None:
    kept = record(musa, graphs, lambda: [one(512)])
    pool = graphs[0].pool()
    state = torch_c()._musa_getCheckpointState(0, pool)
    later = record(musa, graphs, lambda: [one(512)], pool=pool)
    assert live(musa, pool) == len(kept + later)
    with pytest.raises(RuntimeError, match="must be passed to set checkpoint"):
        torch_c()._musa_setCheckpointPoolState(0, state, [], [])


def test_a_stale_tensor_does_not_free_its_memory_again(musa: Any, graphs: list[Any]) -> None:
    kept = record(musa, graphs, lambda: [one(512)])
    pool = graphs[0].pool()
    state, before = torch_c()._musa_getCheckpointState(0, pool), blocks(musa, pool)
    later = record(musa, graphs, lambda: [one(512)], pool=pool)
    torch_c()._musa_setCheckpointPoolState(0, state, [storage(later[0])], [])
    assert blocks(musa, pool) == before
    del later
    assert blocks(musa, pool) == before
    del kept
    assert live(musa, pool) == 0


def test_memory_without_a_tensor_is_freed_by_its_address(musa: Any, graphs: list[Any]) -> None:
    results = record(musa, graphs, lambda: [one(512), one(512)])
    pool = graphs[0].pool()
    state = torch_c()._musa_getCheckpointState(0, pool)
    addresses = [tensor.data_ptr() for tensor in results]
    del results
    assert live(musa, pool) == 0
    torch_c()._musa_setCheckpointPoolState(0, state, [], [])
    for left, address in zip((1, 0), addresses):
        torch_c()._musa_musaCachingAllocator_raw_delete(address)
        assert live(musa, pool) == left
    with pytest.raises(RuntimeError, match="invalid device pointer"):
        torch_c()._musa_musaCachingAllocator_raw_delete(addresses[0])


def test_a_tensor_over_the_memory_gets_it(musa: Any, graphs: list[Any]) -> None:
    value = torch.tensor([1], dtype=torch.uint8, device="musa")
    results = record(musa, graphs, lambda: [one(512) + value, one(2 << 20) + value])
    pool = graphs[0].pool()
    graphs[0].replay()
    state = torch_c()._musa_getCheckpointState(0, pool)
    places = [(tensor.data_ptr(), described(tensor)) for tensor in results]
    del results
    first, second = (over(*place) for place in places)
    value += 1
    graphs[0].replay()
    assert first.unique().tolist() == [3] and second.unique().tolist() == [3]
    torch_c()._musa_setCheckpointPoolState(0, state, [], [storage(first)])
    assert live(musa, pool) == 2
    del first
    assert live(musa, pool) == 1
    del second  # it was not named, so it has not got the memory
    assert live(musa, pool) == 1
    torch_c()._musa_musaCachingAllocator_raw_delete(places[1][0])
    assert live(musa, pool) == 0


def test_which_addresses_are_in_use(musa: Any, graphs: list[Any]) -> None:
    (result,) = record(musa, graphs, lambda: [torch.ones(4, device="musa")])
    pool, alive = graphs[0].pool(), torch_c()._musa_checkPoolLiveAllocations
    assert alive(0, pool, {result.data_ptr()})
    assert not alive(0, pool, {result.data_ptr(), 0}) and not alive(0, pool, set())
    del result
    assert alive(0, pool, set())
    with pytest.raises(RuntimeError, match="Could not find pool"):
        alive(0, (99999, 0), set())


def test_memory_leaves_its_storage(musa: Any, graphs: list[Any]) -> None:
    (result,) = record(musa, graphs, lambda: [torch.ones(4, device="musa")])
    pool = graphs[0].pool()
    assert torch_c()._has_Standard_Deleter(storage(result))
    torch_c()._free_And_Remove_DeleterFn(storage(result))
    assert live(musa, pool) == 0 and not torch_c()._has_Standard_Deleter(storage(result))
    with pytest.raises(RuntimeError, match="Expected standard deleter"):
        torch_c()._free_And_Remove_DeleterFn(storage(result))
