"""torch.cuda on each release of torch_musa: what the release has is reached under CUDA's names, and gives what CUDA gives."""

from __future__ import annotations

import pytest

from support.interpreter import TORCH, Interpreter

pytestmark = pytest.mark.once

LATER = ["2.9.1", "2.11.0"]
RELEASES = ["2.7.1", *LATER]


def run(musa: Interpreter, release: str, code: str, **env: str) -> None:
    musa.run(f"RELEASE = {release!r}\n{code}", env={"MUSASIM_RELEASE": release, **env}, forked=True)


HOST = """
import torch
torch.cuda.init()
used, held = ("allocation", "segment") if RELEASE == "2.9.1" else ("active_requests", "allocations")
page = torch.ones(1 << 18).pin_memory()
stats = torch.cuda.host_memory_stats()
assert stats[f"{used}.current"] == stats[f"{held}.current"] == stats["num_host_alloc"] == stats["host_alloc_time.count"] == 1
assert torch.cuda.host_memory_stats_as_nested_dict()[used]["current"] == 1
del page
assert torch.cuda.host_memory_stats()[f"{used}.current"] == 0 and torch.cuda.host_memory_stats()[f"{held}.current"] == 1
assert torch.cuda.host_memory_stats()[f"{used}.peak"] == 1
torch.cuda.reset_peak_host_memory_stats()
torch.cuda.reset_accumulated_host_memory_stats()
stats = torch.cuda.host_memory_stats()
assert stats[f"{used}.peak"] == stats[f"{used}.allocated"] == stats["num_host_alloc"] == 0
torch._C._host_emptyCache()
assert torch.cuda.host_memory_stats()[f"{held}.current"] == 0
"""


@pytest.mark.parametrize("release", LATER)
def test_pinned_memory_is_counted(musa: Interpreter, release: str) -> None:
    run(musa, release, HOST)


FRACTION = """
import torch
assert torch.cuda.get_per_process_memory_fraction() == 1.0
torch.cuda.set_per_process_memory_fraction(0.25, 1)
assert torch.cuda.current_device() == 0
assert (torch.cuda.get_per_process_memory_fraction(0), torch.cuda.get_per_process_memory_fraction("cuda:1")) == (1.0, 0.25)
"""


@pytest.mark.parametrize("release", RELEASES)
def test_the_share_of_a_process_can_be_asked(musa: Interpreter, release: str) -> None:
    run(musa, release, FRACTION)


SWITCH = """
import torch
from torch.cuda import memory
torch.cuda.init()
def reserved_for(numbers):
    before = torch.cuda.memory_reserved()
    kept = torch.ones(numbers, device="cuda")
    return torch.cuda.memory_reserved() - before
assert reserved_for(1 << 20) > 0
torch.cuda.caching_allocator_enable(False)
assert reserved_for(1 << 23) == 0
torch.cuda.caching_allocator_enable(True)
assert reserved_for(1 << 23) > 0
if hasattr(memory, "caching_allocator_disabled"):
    with memory.caching_allocator_disabled():
        assert not torch._C._cuda_cudaCachingAllocator_is_enabled() and reserved_for(1 << 25) == 0
    assert torch._C._cuda_cudaCachingAllocator_is_enabled()
free, _ = torch.cuda.mem_get_info()
torch.cuda.caching_allocator_enable(False)
tensor = torch.ones(1 << 20, device="cuda")
assert torch.cuda.mem_get_info()[0] < free and tensor.sum().item() == 1 << 20
del tensor
assert torch.cuda.mem_get_info()[0] == free
"""


@pytest.mark.parametrize("release", LATER)
def test_the_cache_can_be_switched_off(musa: Interpreter, release: str) -> None:
    run(musa, release, SWITCH)


RAW = """
import torch
torch.cuda.init()
side = torch.cuda.Stream()
before = torch.cuda.memory_allocated()
addresses = [torch.cuda.caching_allocator_alloc(1000), torch.cuda.caching_allocator_alloc(100, 0, side),
             torch.cuda.caching_allocator_alloc(100, "cuda:0", side.cuda_stream)]
assert torch.cuda.memory_allocated() - before == 2048 and len(set(addresses)) == 3
streams = {block["address"]: segment["stream"] for segment in torch.cuda.memory_snapshot() for block in segment["blocks"]}
assert [streams[address] for address in addresses] == [0, side.cuda_stream, side.cuda_stream]
for address in addresses:
    torch.cuda.caching_allocator_delete(address)
assert torch.cuda.memory_allocated() == before
"""


@pytest.mark.parametrize("release", RELEASES)
def test_raw_memory_belongs_to_its_stream(musa: Interpreter, release: str) -> None:
    run(musa, release, RAW)


AGAIN = """
import gc, torch
pool, kept = torch.cuda.MemPool(), []
for _ in range(2):
    torch._C._cuda_beginAllocateCurrentThreadToPool(0, pool.id)  # as libraries do
    kept.append(torch.ones(1 << 20, device="cuda"))
    torch._C._cuda_endAllocateToPool(0, pool.id)
    torch._C._cuda_releasePool(0, pool.id)
assert len(pool.snapshot()) == 1 and kept[0].data_ptr() != kept[1].data_ptr()
left = pool.id
del pool, kept
gc.collect()
torch.cuda.empty_cache()
assert all(segment["segment_pool_id"] != left for segment in torch.cuda.memory_snapshot())
"""


@pytest.mark.skipif(TORCH < (2, 8), reason="torch 2.7 names the functions of a pool by the stream")
@pytest.mark.parametrize("release", RELEASES)
def test_a_pool_is_used_again_while_it_has_memory(musa: Interpreter, release: str) -> None:
    run(musa, release, AGAIN)


CAPTURES = """
import gc, torch
def capture(graph, pool=None):
    with torch.cuda.graph(graph, pool=pool):
        return torch.ones(1 << 20, device="cuda")
def lies_in(pool):
    torch.cuda.empty_cache()
    return any(segment["segment_pool_id"] == pool for segment in torch.cuda.memory_snapshot())
graphs = [torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()]
results = [capture(graphs[0])]
pool = graphs[0].pool()
results.append(capture(graphs[1], pool))
results.clear()
graphs.pop().reset()
assert lies_in(pool)  # the first graph uses it
graphs.clear()
gc.collect()
assert not lies_in(pool)
"""


@pytest.mark.parametrize("release", RELEASES)
def test_memory_of_graphs_is_given_back_with_the_last_one(musa: Interpreter, release: str) -> None:
    run(musa, release, CAPTURES)


POOL = """
import threading, torch
pool = torch.cuda.MemPool()
def lies_in(tensor):
    segments = [range(each["address"], each["address"] + each["total_size"]) for each in pool.snapshot()]
    return any(tensor.data_ptr() in segment for segment in segments)
assert pool.use_count() == 1 and pool.snapshot() == []
with torch.cuda.use_mem_pool(pool):
    assert pool.use_count() == 2
    own, others = torch.ones(1 << 20, device="cuda"), []
    with torch.cuda.stream(torch.cuda.Stream()):
        on_another_stream = torch.ones(1 << 20, device="cuda")
    thread = threading.Thread(target=lambda: others.append(torch.ones(1 << 20, device="cuda")))
    thread.start()
    thread.join()
after = torch.ones(1 << 20, device="cuda")
assert [lies_in(each) for each in (own, on_another_stream, others[0], after)] == [True, True, False, False]
assert pool.use_count() == 1 and pool.snapshot(include_traces=False) == pool.snapshot()
"""


@pytest.mark.parametrize("release", LATER)
def test_a_pool_serves_one_thread(musa: Interpreter, release: str) -> None:
    run(musa, release, POOL)


RESERVE = """
import torch
pool = torch.cuda.MemPool(use_on_oom=ALLOWED)
with torch.cuda.use_mem_pool(pool):
    torch.ones(3 << 20, device="cuda")
try:
    tensor = torch.ones(3 << 20, device="cuda")
except torch.OutOfMemoryError:
    assert not ALLOWED
else:
    assert ALLOWED and tensor.data_ptr() == pool.snapshot()[0]["address"]
"""


@pytest.mark.parametrize("release", LATER)
@pytest.mark.parametrize("allowed", [True, False])
def test_a_pool_can_be_the_last_resort(musa: Interpreter, release: str, allowed: bool) -> None:
    run(musa, release, RESERVE.replace("ALLOWED", str(allowed)), MUSASIM_MEMORY_BYTES=str(20 << 20))


SEGMENTS = """
import warnings, torch
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    pool = torch.cuda.MemPool(no_split=True)
assert bool(seen) is (RELEASE != "2.11.0") and all("do not support no_split" in str(each.message) for each in seen)
with torch.cuda.use_mem_pool(pool):
    tensors = [torch.ones(1, device="cuda") for _ in range(3)]
assert len(pool.snapshot()) == (3 if RELEASE == "2.11.0" else 1)
"""


@pytest.mark.parametrize("release", LATER)
def test_a_pool_can_keep_its_segments_whole(musa: Interpreter, release: str) -> None:
    run(musa, release, SEGMENTS)


HISTORY = """
import torch
from torch.cuda import memory
torch.cuda.init()
memory._record_memory_history(skip_actions=["free_requested"])
memory._set_memory_metadata("the layer")
assert memory._get_memory_metadata() == "the layer"
torch.ones(4, device="cuda")
memory._set_memory_metadata("")
torch.ones(4, device="cuda")
entries = memory._snapshot()["device_traces"][0]
assert [each["user_metadata"] for each in entries if each["action"] == "alloc"] == ["the layer", ""]
assert {each["action"] for each in entries} == {"segment_alloc", "alloc", "free_completed"}
"""


def test_allocations_carry_the_programs_text(musa: Interpreter) -> None:
    run(musa, "2.11.0", HISTORY)


GRAPHS = """
import torch
def refuses(call):
    try:
        call()
    except RuntimeError:
        return True
    return False
numbers = torch.ones(4, device="cuda")
kept = torch.cuda.CUDAGraph(keep_graph=True)
assert refuses(kept.instantiate)
with torch.cuda.graph(kept):
    numbers.add_(1)
assert refuses(kept.raw_cuda_graph_exec) and kept.raw_cuda_graph() != 0
kept.instantiate()
first = kept.raw_cuda_graph_exec()
assert first != 0
kept.instantiate()
kept.replay()
assert numbers.tolist() == [2.0] * 4
late = torch.cuda.CUDAGraph(keep_graph=True)
with torch.cuda.graph(late):
    numbers.mul_(3)
late.replay()  # makes the executable
assert numbers.tolist() == [6.0] * 4
plain = torch.cuda.CUDAGraph()
with torch.cuda.graph(plain):
    numbers.add_(1)
assert refuses(plain.raw_cuda_graph) and refuses(plain.instantiate) and plain.raw_cuda_graph_exec() != 0
plain.reset()
assert refuses(plain.pool) and refuses(plain.replay)
"""


@pytest.mark.parametrize("release", LATER)
def test_a_graph_that_is_kept_is_instantiated_by_the_program(musa: Interpreter, release: str) -> None:
    run(musa, release, GRAPHS)


SHARED_POOL = """
import torch
pool = torch.cuda.graph_pool_handle()
double, add = torch.cuda.make_graphed_callables(
    (lambda x: x * 2, lambda x: x + 1), ((torch.zeros(4, device="cuda"),), (torch.zeros(4, device="cuda"),)), pool=pool
)
assert double(torch.full((4,), 3.0, device="cuda")).tolist() == [6.0] * 4
assert add(torch.full((4,), 3.0, device="cuda")).tolist() == [4.0] * 4
"""


EXTERNAL = """
import torch
begin, end, ready = (torch.cuda.Event(enable_timing=True, external=True) for _ in range(3))
before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
x = torch.ones(1, device="cuda")
timed, waiting = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
with torch.cuda.graph(timed):
    begin.record()
    torch.cuda._sleep(20_000_000)
    end.record()
with torch.cuda.graph(waiting):
    ready.wait()
    y = x + 1
for _ in range(2):
    before.record()
    timed.replay()
    end.synchronize()
    assert before.elapsed_time(begin) >= 0 and begin.elapsed_time(end) > 1
with torch.cuda.stream(torch.cuda.Stream()):
    torch.cuda._sleep(20_000_000)
    ready.record()
waiting.replay()
after.record()
after.synchronize()
assert ready.elapsed_time(after) >= 0 and y.item() == 2
del begin, end, ready
timed.replay(), waiting.replay()
"""


@pytest.mark.parametrize("release", LATER)
def test_external_events_are_nodes_of_a_graph(musa: Interpreter, release: str) -> None:
    """2.7.1 does not know them: torchada refuses them in a capture."""
    run(musa, release, EXTERNAL)


@pytest.mark.parametrize("release", RELEASES)
def test_callables_become_graphs_in_a_pool(musa: Interpreter, release: str) -> None:
    run(musa, release, SHARED_POOL)


ROTATION = """
import gc, torch
torch.cuda.init()
numbers = torch.zeros(1, device="cuda")
graphs = []
for step in range(6):
    graphs.append(torch.cuda.CUDAGraph())
    with torch.cuda.graph(graphs[-1]):
        numbers.add_(10**step)
for graph in (*graphs, *reversed(graphs)):
    graph.replay()
assert numbers.item() == 222222 and len({graph.pool() for graph in graphs}) == 6
for graph in graphs:
    graph.reset()
"""


@pytest.mark.parametrize("release", RELEASES)
def test_executables_are_given_up_in_the_layout_of_the_release(musa: Interpreter, release: str) -> None:
    """The driver allows three, so a program with six graphs fails without that; a wrong flag would have graphs refused."""
    run(musa, release, ROTATION, TORCHADA_GRAPH_EXEC_CAP="3", MUSASIM_GRAPH_EXECUTABLES="4")


PROPERTIES = """
import torch, uuid
numbers = ("max_threads_per_multi_processor", "max_threads_per_block", "warp_size", "shared_memory_per_block",
           "shared_memory_per_multiprocessor", "shared_memory_per_block_optin", "regs_per_multiprocessor", "clock_rate",
           "memory_clock_rate", "memory_bus_width", "L2_cache_size", "pci_bus_id", "pci_device_id", "pci_domain_id")
here = torch.cuda.get_device_properties()
assert [getattr(here, name) for name in numbers] == [
    2048, 1024, 32, 48 << 10, 192 << 10, 192 << 10, 64 << 10, 1750000, 2000000, 1024, 32 << 20, 1, 0, 0]
assert here.gcnArchName == here.name and torch.cuda.get_device_properties(1).pci_bus_id == 2
assert torch.cuda.get_gencode_flags() == "--offload-arch=mp_22 --offload-arch=mp_31"
stream = torch.cuda.Stream()
assert torch.cuda.get_stream_from_external(stream.cuda_stream) == stream
assert torch.cuda.get_stream_from_external(0) == torch.cuda.default_stream()
assert torch.cuda.Event(external=True).record() is None
assert not hasattr(torch, "AcceleratorError") or torch.cuda.AcceleratorError is torch.AcceleratorError
assert torch.cuda.list_gpu_processes().startswith("GPU:0")
torch.cuda.set_sync_debug_mode("error")
try:
    torch.ones(1, device="cuda").item()
except RuntimeError as error:
    assert "called a synchronizing CUDA operation" in str(error)
else:
    raise SystemExit("a wait was not noticed")
assert torch.cuda.get_sync_debug_mode() == 2
"""


@pytest.mark.full
@pytest.mark.parametrize("release", RELEASES)
def test_devices_tell_the_same_on_every_release(musa: Interpreter, release: str) -> None:
    run(musa, release, PROPERTIES)


UUID = """
import torch, uuid
first, second = (str(torch.cuda.get_device_properties(index).uuid) for index in range(2))
assert uuid.UUID(first) != uuid.UUID(second)
assert bytes(torch.cuda.get_device_properties(1).uuid.bytes) == uuid.UUID(second).bytes
"""


@pytest.mark.parametrize("release", RELEASES)
def test_devices_have_an_identity(musa: Interpreter, release: str) -> None:
    """Releases that do not tell it leave the question to the driver's management library."""
    run(musa, release, UUID)
