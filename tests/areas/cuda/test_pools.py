"""Memory pools, pluggable allocators and snapshots under torch.cuda's names."""

from __future__ import annotations

import inspect
import pickle
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from support.interpreter import Interpreter

MIB = 1 << 20
SOURCE = r"""
#include <cstdio>
#include <cstdlib>
#include <sys/types.h>

static long calls[2] = {0, 0};
static long bytes = 0;

extern "C" void* counting_alloc(ssize_t size, int device, void* stream) {
  ++calls[0];
  bytes += size;
  return std::aligned_alloc(512, (size + 511) / 512 * 512);
}
extern "C" void counting_free(void* pointer, ssize_t size, int device, void* stream) {
  ++calls[1];
  bytes -= size;
  std::free(pointer);
}
extern "C" long count(int which) { return which < 2 ? calls[which] : bytes; }
extern "C" void* none(ssize_t size, int device, void* stream) { return nullptr; }
"""


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shared library with an allocator that counts."""
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    folder = tmp_path_factory.mktemp("allocator")
    (folder / "allocator.cpp").write_text(SOURCE)
    made = folder / "allocator.so"
    subprocess.run(["g++", "-shared", "-fPIC", "-o", str(made), str(folder / "allocator.cpp")], check=True)
    return made


@pytest.fixture(autouse=True)
def _no_history() -> Iterator[None]:
    yield
    torch.cuda.memory._record_memory_history(None)


def pool_of(tensor: torch.Tensor) -> tuple[int, int]:
    for segment in torch.cuda.memory_snapshot():
        if segment["address"] <= tensor.data_ptr() < segment["address"] + segment["total_size"]:
            return tuple(segment["segment_pool_id"])
    raise AssertionError("in no segment")


def test_row_mempool_use_mem_pool_graph_pool_handle() -> None:
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        inside = torch.ones(MIB, device="cuda")
    outside = torch.ones(MIB, device="cuda")
    assert pool_of(inside) == pool.id and pool_of(outside) == (0, 0) and pool.allocator is None
    assert torch.cuda.graph_pool_handle() != pool.id
    graph, x = torch.cuda.CUDAGraph(), torch.ones(4, device="cuda")
    with torch.cuda.graph(graph, pool=pool.id):
        y = x + 1
    assert pool_of(y) == pool.id == graph.pool()
    assert issubclass(torch.cuda.MemPool, torch._C._MemPool) and torch.cuda.memory.MemPool is torch.cuda.MemPool


# torch.compile does not know the functions that use_mem_pool of torch_musa 2.9.1 and newer calls, and breaks its graph there.
@pytest.mark.filterwarnings("ignore:Dynamo does not know how to trace the builtin:UserWarning")
def test_compiled_code_allocates_in_the_pool() -> None:
    pool = torch.cuda.MemPool()

    def inside(x: torch.Tensor) -> torch.Tensor:
        with torch.cuda.use_mem_pool(pool):
            return x + 1

    y = torch.compile(inside, backend="eager")(torch.ones(MIB, device="cuda"))
    assert pool_of(y) == pool.id and pool_of(torch.ones(MIB, device="cuda")) == (0, 0)


@pytest.mark.parametrize("owner", [torch._C, torch.cuda.memory], ids=["torch._C", "torch.cuda.memory"])
def test_libraries_switch_pools_themselves(owner: Any) -> None:
    if not hasattr(owner, "_cuda_beginAllocateCurrentThreadToPool"):
        pytest.skip("this torch names them otherwise")
    pool = torch.cuda.MemPool()
    owner._cuda_beginAllocateCurrentThreadToPool(0, pool.id)
    x = torch.ones(MIB, device="cuda:0")
    owner._cuda_endAllocateToPool(0, pool.id)
    owner._cuda_releasePool(0, pool.id)
    assert pool_of(x) == pool.id and pool_of(torch.ones(MIB, device="cuda:0")) == (0, 0)


def test_other_threads_do_not_allocate_in_the_pool_that_a_library_switches_on() -> None:
    """Inductor's graph trees do so for a graph's pool: replays would overwrite what another thread has allocated there."""
    if not hasattr(torch._C, "_cuda_beginAllocateCurrentThreadToPool"):
        pytest.skip("this torch names it otherwise")
    pool, others = torch.cuda.MemPool(), []
    thread = threading.Thread(target=lambda: others.append(torch.ones(MIB, device="cuda:0")))
    with torch.cuda.stream(torch.cuda.Stream()):
        torch._C._cuda_beginAllocateCurrentThreadToPool(0, pool.id)
        thread.start()
        thread.join()
        mine = torch.ones(MIB, device="cuda:0")
        torch._C._cuda_endAllocateToPool(0, pool.id)
        torch._C._cuda_releasePool(0, pool.id)
    assert pool_of(mine) == pool.id and pool_of(others[0]) == (0, 0)


@pytest.mark.parametrize("device", ["cuda:1", torch.device("cuda:1"), 1])
def test_a_pool_for_another_device(device: Any) -> None:
    with torch.cuda.device(1):
        pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool, device=device):
        here, there = torch.ones(MIB, device="cuda:0"), torch.ones(MIB, device="cuda:1")
    assert (pool_of(here), pool_of(there)) == ((0, 0), pool.id)


def test_pools_inside_pools() -> None:
    outer, inner = torch.cuda.MemPool(), torch.cuda.MemPool(allocator=None)
    with torch.cuda.use_mem_pool(outer):
        with torch.cuda.use_mem_pool(inner):
            second = torch.ones(MIB, device="cuda")
        third = torch.ones(MIB, device="cuda")
    assert (pool_of(second), pool_of(third)) == (inner.id, outer.id)


def test_the_context_of_a_pool_where_torch_has_it() -> None:
    if not hasattr(torch.cuda, "MemPoolContext") or not hasattr(torch.musa, "MemPoolContext"):
        pytest.skip("this torch or this torch_musa has no MemPoolContext")
    pool = torch.cuda.MemPool()
    context = torch.cuda.MemPoolContext(pool)
    assert torch.cuda.MemPoolContext.active_pool().id == pool.id
    del context
    assert torch.cuda.MemPoolContext.active_pool() is None


def test_pools_of_2_7_1_know_no_such_options_and_say_so(musa: Interpreter) -> None:
    code = """
    import warnings, torch, torchada
    for option in ("use_on_oom", "no_split"):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            pool = torch.cuda.MemPool(None, **{option: True})
            torch.cuda.MemPool(None, **{option: False})
        assert [f"MUSA pools do not support {option}" in str(warning.message) for warning in seen] == [True], seen
        with torch.cuda.use_mem_pool(pool):
            held = torch.ones(4, device="cuda")
        assert len(pool.snapshot()) == 1
        try:
            pool.use_count()
        except torchada.UnsupportedError as error:
            assert "MemPool.use_count" in str(error)
        else:
            raise SystemExit("the users of a pool are counted")
    """
    musa.run(code, env={"MUSASIM_RELEASE": "2.7.1", "TORCHADA_STRICT": "0"}, forked=True)


@pytest.mark.parametrize("allocator", ["x", 1, 1.5])
def test_a_pool_refuses_what_is_no_allocator(allocator: object) -> None:
    with pytest.raises(TypeError, match="incompatible constructor arguments"):
        torch.cuda.MemPool(allocator)


@pytest.mark.parametrize("device", ["cuda", torch.device("cuda"), 1.5])
def test_a_pool_is_used_on_a_device_with_an_index(of_cuda: None, device: Any) -> None:
    block = torch.cuda.use_mem_pool(torch.cuda.MemPool(), device)
    with pytest.raises(ValueError, match=r"specified index or an integer, but got:(cuda|1\.5)$"), block:
        pass


def test_a_pool_is_not_used_on_the_cpu(of_cuda: None) -> None:
    with (
        pytest.raises(ValueError, match=r"^Expected a cuda device, but got: cpu$"),
        torch.cuda.use_mem_pool(None, "cpu"),
    ):
        pass


def test_a_pool_shows_its_segments() -> None:
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        held = torch.ones(MIB, device="cuda")
    (segment,) = pool.snapshot()
    assert segment["address"] <= held.data_ptr() and tuple(segment["segment_pool_id"]) == pool.id
    assert pool.snapshot(include_traces=False) == [segment]


def test_a_subclass_of_the_pool() -> None:
    class Mine(torch.cuda.MemPool):
        def __init__(self) -> None:
            super().__init__(no_split=False)
            self.name = "mine"

    assert Mine().name == "mine" and isinstance(Mine(), torch.cuda.MemPool)


# Allocators of the program's own


def test_row_cudapluggableallocator_change_current_allocator(musa: Interpreter, library: Path) -> None:
    musa.run(
        f"""
        import ctypes, torch
        assert torch.cuda.memory.CUDAPluggableAllocator is torch.cuda.CUDAPluggableAllocator
        allocator = torch.cuda.memory.CUDAPluggableAllocator({str(library)!r}, "counting_alloc", "counting_free")
        torch.cuda.memory.change_current_allocator(allocator)
        assert torch.cuda.get_allocator_backend() == "pluggable"
        count = ctypes.CDLL({str(library)!r}).count
        count.restype = ctypes.c_long
        x = torch.zeros(1000, device="cuda")
        assert count(0) == 1 and count(2) == 4000, (count(0), count(2))
        y = (x + 1).to("cuda:1")
        assert y.sum().item() == 1000 and count(0) > 2
        grown = torch.empty(0, device="cuda").resize_(100)
        layer = torch.nn.Linear(8, 8).cuda()
        layer(torch.randn(4, 8, device="cuda")).sum().backward()
        del x, y, grown, layer
        import gc; gc.collect()
        assert count(0) == count(1) and count(2) == 0, (count(0), count(1), count(2))
        for call in (torch.cuda.memory_stats, lambda: torch.cuda.memory.change_current_allocator(allocator)):
            try:
                call()
            except RuntimeError as error:
                assert "does not yet support getDeviceStats" in str(error) or "already initialized" in str(error), error
            else:
                raise AssertionError(call)
        """,
        forked=True,
    )


def test_an_allocator_for_one_pool(library: Path) -> None:
    import ctypes

    count = ctypes.CDLL(str(library)).count
    count.restype = ctypes.c_long
    allocator = torch.cuda.CUDAPluggableAllocator(str(library), "counting_alloc", "counting_free")
    assert isinstance(allocator, torch.cuda.memory._CUDAAllocator)
    pool = torch.cuda.MemPool(allocator.allocator())
    before = count(0)
    with torch.cuda.use_mem_pool(pool):
        x = torch.arange(MIB, device="cuda")
    assert count(0) == before + 1 and pool_of(x) == pool.id
    torch.ones(MIB, device="cuda")
    assert count(0) == before + 1
    assert (x + 1)[-1].item() == MIB


def test_an_allocator_that_has_nothing(library: Path) -> None:
    allocator = torch.cuda.CUDAPluggableAllocator(str(library), "none", "counting_free")
    pool = torch.cuda.MemPool(allocator.allocator())
    with torch.cuda.use_mem_pool(pool), pytest.raises(torch.cuda.OutOfMemoryError):
        torch.ones(MIB, device="cuda")
    assert torch.ones(2, device="cuda").tolist() == [1, 1]


def test_allocators_that_do_not_exist(library: Path) -> None:
    with pytest.raises(OSError):
        torch.cuda.CUDAPluggableAllocator("/nowhere.so", "a", "b")
    with pytest.raises(AttributeError):
        torch.cuda.CUDAPluggableAllocator(str(library), "missing", "counting_free")
    torch.ones(1, device="cuda")
    with pytest.raises(RuntimeError, match="already initialized"):
        torch.cuda.memory.change_current_allocator(torch.cuda.memory._get_current_allocator())


# Snapshots


@pytest.mark.parametrize(
    "arguments",
    [
        ((), {}),
        (("all",), {"max_entries": 1000}),
        (("state", "alloc", "python", 500), {}),
        ((), {"enabled": "all", "context": "all", "stacks": "all", "device": 0}),
        ((True,), {}),
        ((), {"enabled": True, "trace_alloc_max_entries": 100000, "trace_alloc_record_context": True}),
    ],
)
def test_row_memory_snapshot_record_memory_history(arguments: Any, tmp_path: Path) -> None:
    positional, keywords = arguments
    torch.cuda.memory._record_memory_history(*positional, **keywords)
    held = torch.ones(3 * MIB, device="cuda")
    snapshot = torch.cuda.memory._snapshot()
    assert {"segments", "device_traces"} <= set(snapshot)
    assert any(
        entry["action"] == "alloc" and entry["addr"] == held.data_ptr() for entry in snapshot["device_traces"][0]
    )
    torch.cuda.memory._dump_snapshot(str(tmp_path / "snapshot.pickle"))
    assert set(pickle.loads((tmp_path / "snapshot.pickle").read_bytes())) == set(snapshot)
    torch.cuda.memory._record_memory_history(None)
    torch.ones(MIB, device="cuda")
    assert torch.cuda.memory._snapshot()["device_traces"][0] == []


def test_later_arguments_of_the_history() -> None:
    if "skip_actions" not in inspect.signature(torch.cuda.memory._record_memory_history).parameters:
        pytest.skip("this torch has no skip_actions")
    torch.cuda.memory._record_memory_history(max_entries=1000)
    torch.ones(MIB, device="cuda")
    torch.cuda.memory._record_memory_history(
        clear_history=True, compile_context=True, global_record_annotations=True, skip_actions=["free_requested"]
    )
    assert torch.cuda.memory._snapshot(device=0)["device_traces"][0] == []
    torch.ones(MIB, device="cuda")
    actions = {entry["action"] for entry in torch.cuda.memory._snapshot()["device_traces"][0]}
    assert {"alloc", "free_completed"} <= actions and "free_requested" not in actions


def test_the_segments_of_one_pool() -> None:
    parameters = inspect.signature(torch.cuda.memory_snapshot).parameters
    if "mempool_id" not in parameters:
        pytest.skip("this torch has no mempool_id")
    options = {"include_traces": False} if "include_traces" in parameters else {}  # torch 2.9 has no such argument
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        held = torch.ones(MIB, device="cuda")
    (found,) = torch.cuda.memory_snapshot(mempool_id=pool.id, **options)
    assert found["address"] <= held.data_ptr()
    assert len(torch.cuda.memory_snapshot()) > 1
    assert torch.cuda.memory_snapshot is torch.cuda.memory.memory_snapshot


def test_pictures_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torch.cuda import _memory_viz

    torch.cuda.memory._record_memory_history(max_entries=1000)
    held = torch.ones(3 * MIB, device="cuda")
    snapshot = torch.cuda.memory._snapshot()
    assert "TOTAL MEM" in _memory_viz.trace(snapshot)
    assert _memory_viz.segsum(snapshot) and "<html>" in _memory_viz.trace_plot(snapshot)
    assert "<html>" in _memory_viz.segment_plot(snapshot)
    assert held.numel() == 3 * MIB


def test_flame_graphs_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torch.cuda import _memory_viz

    if "~/.cache" not in inspect.getsource(_memory_viz.format_flamegraph):
        pytest.skip("this torch keeps the script that draws them elsewhere")
    # A script that torch would fetch draws them; this one shows what it is given.
    script = tmp_path / ".cache" / "flamegraph.pl"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\necho flames:\ncat\n")
    script.chmod(0o700)
    monkeypatch.setenv("HOME", str(tmp_path))
    held = torch.ones(3 * MIB, device="cuda")
    for save in (torch.cuda.memory._save_segment_usage, torch.cuda.memory._save_memory_usage):
        for arguments in ((), (torch.cuda.memory._snapshot(),)):
            save(str(tmp_path / "drawn"), *arguments)
            text = (tmp_path / "drawn").read_text()
            assert text.startswith("flames:") and str(held.numel() * 4) in text


def test_settings_of_the_allocator() -> None:
    torch.cuda.memory._set_allocator_settings("max_split_size_mb:128")
    assert "max_split_size_mb:128" in str(torch.cuda.memory._snapshot()["allocator_settings"])
    with pytest.raises(RuntimeError):
        torch.cuda.memory._set_allocator_settings("nonsense")
    torch.cuda.memory._set_allocator_settings("")


def test_functions_of_memory_without_counterpart_raise_unsupported_error(musa: Interpreter) -> None:
    code = """
    import torch, torchada
    torch.cuda.init()
    for name in ("_allocation_traceback", "_set_memory_metadata", "_get_memory_metadata", "_use_uvm"):
        function = getattr(torch.cuda.memory, name, None)
        try:
            if function is not None:
                function(*["x"] if name.startswith(("_allocation", "_set")) else [])
        except torchada.UnsupportedError as error:
            assert name in str(error), error
        else:
            assert function is None, name
    """
    musa.run(code, env={"MUSASIM_RELEASE": "2.7.1"}, forked=True)
