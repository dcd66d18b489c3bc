"""torch.musa's functions for memory."""

# ruff: noqa: E402

from __future__ import annotations

import ctypes
import gc
import json
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import musasim

musasim.install()

import torch
import torch_musa
from torch_musa.core import _memory_report

from musasim.base import release
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
    assert set(torch.musa.memory.memory_stats_all()) == expected_keys()


def test_statistics_of_no_device_are_refused() -> None:
    torch.musa.synchronize()
    native = torch_musa._MUSAC
    for ask in (native._musa_memoryStats, native._musa_resetPeakMemoryStats, native._musa_resetAccumulatedMemoryStats):
        for index in (-1, 99):
            with pytest.raises(RuntimeError, match=f"Invalid device argument {index}: did you call init"):
                ask(index)
    with pytest.raises(RuntimeError, match="Invalid device argument 99: did you call init"):
        native._musa_beginAllocateToPool(99, (0, 12345))


def test_peaks_cannot_be_reset_before_initialisation() -> None:
    error = run("import torch, torch_musa\ntorch.musa.reset_peak_memory_stats(0)", ok=False)
    assert "Invalid device argument 0: did you call init?" in error


FRACTION = """
import torch, torch_musa
torch.musa.init() if hasattr(torch.musa, "init") else torch.musa.synchronize()
torch.musa.set_per_process_memory_fraction(0.5, 1)
print(torch.musa.current_device())
"""


@pytest.mark.parametrize(("version", "device"), [("2.7.1", "1"), ("2.11.0", "0")])
def test_the_device_whose_share_is_set_becomes_the_current_one_in_2_7_1(version: str, device: str) -> None:
    assert run(FRACTION, MUSASIM_RELEASE=version).strip() == device


POOLS = """
import torch, torch_musa
pool = torch.musa.MemPool()
begin, end, release = (getattr(torch_musa._MUSAC, f"_musa_{name}") for name in NAMES)
def use():
    begin(0, pool.id)
    tensor = torch.ones(1 << 20, device="musa:0")
    end(0, pool.id)
    release(0, pool.id)
    return tensor
torch.musa.synchronize()
first = use()
try:
    use()
except RuntimeError as error:
    assert "use_count > 0" in str(error), error
    print("refused")
del first
torch.musa.empty_cache()
use()
begin(0, (0, 777))
try:
    begin(0, (0, 777))
except RuntimeError as error:
    assert "beginAllocateToPool: already recording to mempool_id" in str(error), error
    print("refused")
"""


@pytest.mark.parametrize(("version", "refused"), [("2.7.1", 2), ("2.11.0", 1)])
def test_a_pool_that_all_have_left_takes_nobody_in(version: str, refused: int) -> None:
    """A MemPool of 2.7.1 is only an id, and later ones are users of their pools."""
    names = ("beginAllocateToPool", "endAllocateCurrentStreamToPool", "releasePool")
    out = run(POOLS.replace("NAMES", repr(names)), MUSASIM_RELEASE=version)
    assert out.split() == ["refused"] * refused


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
    both = torch.musa.memory.memory_stats_all()
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
    """The module of torch_musa 2.7.1 does not import what they warn with."""
    torch.ones(MIB, device="musa")
    if not release.since("2.9.1"):
        with pytest.raises(NameError, match="name 'warnings' is not defined"):
            getattr(torch.musa, name)()
        return
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


def test_emptying_the_cache_waits_for_all_streams_and_is_counted() -> None:
    names = ("num_sync_all_streams", "num_device_alloc", "num_device_free")
    torch.empty(30 * MIB, dtype=torch.uint8, device="musa")
    before = torch.musa.memory_stats()
    torch.musa.empty_cache()
    after = torch.musa.memory_stats()
    assert after[names[0]] == before[names[0]] + 1 and after[names[2]] > before[names[2]]
    torch.musa.reset_accumulated_memory_stats()
    assert [torch.musa.memory_stats()[name] for name in names] == [0, 0, 0]


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
    assert "Torch MUSA memory summary, device ID 0" in text and "from small pool" in text
    assert "from small pool" not in torch.musa.memory_summary(1, abbreviated=True)
    top, title, *rest = map(len, text.splitlines())
    assert {top, *rest} == {77} and title == 75  # torch_musa's own title is shorter, too
    del tensor


def test_summary_has_one_unit_for_the_rows_of_a_metric() -> None:
    """As torch.cuda's: numbers below 768 Ki stay bytes, and both pools have the unit of their sum."""
    metrics = ("current", "peak", "allocated", "freed")
    stats = dict.fromkeys(expected_keys(), 0)
    stats |= {f"allocated_bytes.all.{metric}": 5 * MIB for metric in metrics}
    stats |= {f"allocated_bytes.small_pool.{metric}": 2048 for metric in metrics}
    stats |= {f"active_bytes.all.{metric}": 2048 for metric in metrics}
    stats |= {f"allocation.all.{metric}": 900_000 for metric in metrics}
    text = _memory_report.table(0, stats, abbreviated=False)
    assert text.splitlines()[5] == "|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |"
    rows = [line.split("|")[1:3] for line in text.splitlines() if line.count("|") == 6]
    cells = [(label.strip(), value.strip()) for label, value in rows]
    assert ("Allocated memory", "5120 KiB") in cells and ("from small pool", "2 KiB") in cells
    assert ("Active memory", "2048 B") in cells and ("Allocations", "900 K") in cells


def test_summary_of_a_device_that_is_not_initialised() -> None:
    assert "KeyError: 'allocated_bytes.all.current'" in run(
        "import torch, torch_musa; torch.musa.memory_summary(0)", ok=False
    )


def test_sum_over_devices_has_zeros_for_other_keys() -> None:
    assert torch.musa.memory.memory_stats_all()["no such key"] == 0


def test_a_limit_needs_an_index() -> None:
    """As in torch.cuda, and the device is looked at first."""
    for fraction in (0.5, 1):
        with pytest.raises(ValueError, match="specified index or an integer"):
            torch.musa.set_per_process_memory_fraction(fraction, torch.device("musa"))


@pytest.mark.parametrize("index", [-1, 100])
def test_a_limit_is_for_a_device_that_is_there(index: int) -> None:
    with pytest.raises(RuntimeError, match=f"Allocator not initialized for device {index}: did you call init"):
        torch.musa.set_per_process_memory_fraction(0.5, index)


@pytest.mark.parametrize("allocator", ["x", 1, 1.5, object()])
def test_the_allocator_of_a_pool_is_one_or_none(allocator: object) -> None:
    with pytest.raises(TypeError, match="incompatible constructor arguments"):
        torch.musa.MemPool(allocator)
    assert torch.musa.MemPool(None).allocator is None


def test_snapshot(tmp_path: Path) -> None:
    tensor = torch.ones(3 * MIB, dtype=torch.uint8, device="musa")
    snapshot = torch.musa.memory._snapshot()
    assert set(snapshot) == {"segments", "device_traces", "allocator_settings", "external_annotations"}
    blocks = [block for segment in torch.musa.memory_snapshot() for block in segment["blocks"]]
    assert any(block["state"] == "active_allocated" and block["size"] >= 3 * MIB for block in blocks)
    if not release.since("2.11.0"):
        file = tmp_path / "snapshot.pickle"
        torch.musa.memory._dump_snapshot(str(file))
        assert set(pickle.loads(file.read_bytes())) == set(snapshot)
    json.dumps(snapshot["allocator_settings"])
    del tensor


def test_history() -> None:
    for arguments in (("all",), (True,)):
        torch.musa.memory._record_memory_history(*arguments)
        held = torch.ones(5, device="musa")  # the older way keeps one entry, unless it is told otherwise
        traces = torch.musa.memory._snapshot()["device_traces"]
        assert any(entry["action"] == "alloc" for trace in traces for entry in trace)
        torch.musa.memory._record_memory_history(None if arguments == ("all",) else False)
        del held


def _allocate_and_free() -> None:
    torch.empty(5, device="musa")


@pytest.mark.parametrize(
    ("context", "actions"),
    [
        ("all", {"alloc", "free_requested", "free_completed"}),
        ("alloc", {"alloc", "free_requested", "free_completed"}),
        ("state", set()),
        (None, set()),
    ],
)
def test_a_history_says_where_in_the_program_memory_was_taken(context: str | None, actions: set[str]) -> None:
    """Frees have frames of their own with "all"; with "alloc" they have those of the allocation."""
    torch.musa.memory._record_memory_history(context=context, stacks="python")
    _allocate_and_free()
    (trace, *_) = torch.musa.memory._snapshot()["device_traces"]
    torch.musa.memory._record_memory_history(None)
    frames = {entry["action"]: entry["frames"] for entry in trace if "frames" in entry}
    assert set(frames) - {"segment_alloc"} == actions
    for found in frames.values():
        assert (found[0]["name"], found[0]["filename"]) == ("_allocate_and_free", __file__)
        assert _allocate_and_free.__code__.co_firstlineno < found[0]["line"]


def test_a_snapshot_may_end_the_life_of_an_entry_that_it_shows() -> None:
    """The history of one entry gets a new one, for the snapshot itself, while the frames of the old one are read."""
    torch.musa.memory._record_memory_history("state", context="alloc", stacks="python")
    for _ in range(50):
        _allocate_and_free()
        (entry,) = torch.musa.memory._snapshot()["device_traces"][0]
        assert entry["frames"][0]["name"] == "_allocate_and_free"
    torch.musa.memory._record_memory_history(None)


def test_stacks_of_all_languages_include_cpp() -> None:
    torch.musa.memory._record_memory_history(stacks="all")
    _allocate_and_free()
    (trace, *_) = torch.musa.memory._snapshot()["device_traces"]
    torch.musa.memory._record_memory_history(None)
    names = [frame["name"] for frame in trace[-1]["frames"]]
    assert any("CapturedTraceback" in name for name in names) and "_allocate_and_free" in names


def test_a_block_in_use_knows_where_it_was_taken() -> None:
    torch.musa.memory._record_memory_history("state", context="state", stacks="python")
    held = torch.ones(MIB, device="musa")
    snapshot = torch.musa.memory._snapshot()
    torch.musa.memory._record_memory_history(None)
    blocks = {block["address"]: block for segment in snapshot["segments"] for block in segment["blocks"]}
    assert next(frame["filename"] for frame in blocks[held.data_ptr()]["frames"]) == __file__
    assert len(snapshot["device_traces"][0]) <= 1  # "state" keeps no history
    lines = torch.cuda._memory_viz.segments(snapshot, format_flamegraph=str)  # PyTorch's viewer, without its download
    assert "test_a_block_in_use_knows_where_it_was_taken" in lines


def test_named_regions_and_snapshots_are_part_of_a_history() -> None:
    torch.musa.memory._record_memory_history()
    with torch.profiler.record_function("here"):
        _allocate_and_free()
    torch.musa.memory._snapshot()
    snapshot = torch.musa.memory._snapshot()
    torch.musa.memory._record_memory_history(None)
    assert [(each["name"], each["stage"]) for each in snapshot["external_annotations"]] == [
        ("here", "START"),
        ("here", "END"),
    ]
    assert snapshot["device_traces"][0][-1]["action"] == "snapshot"


@pytest.mark.parametrize("arguments", [("some",), ("all", "some"), ("all", "all", "some")])
def test_a_history_of_something_else_is_refused(arguments: tuple[str, ...]) -> None:
    with pytest.raises(RuntimeError, match=r"expected (state|context|stacks)"):
        torch.musa.memory._record_memory_history(*arguments)


@pytest.fixture
def settings() -> Iterator[Callable[[str], None]]:
    yield torch.musa.memory._set_allocator_settings
    torch.musa.memory._set_allocator_settings("")


@pytest.mark.full
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("neither key nor value", "Unrecognized CachingAllocator option: neitherkeynorvalue"),
        ("max_split_size_mb:2", "max_split_size_mb too small, must be > 20"),
        ("garbage_collection_threshold:1.2", "garbage_collect_threshold too big"),
        ("roundup_power2_divisions:3", "has to be power of 2"),
        ("roundup_power2_divisions:[256:3]", "has to be power of 2 or 0"),
        ("expandable_segments:yes", "Expected a single True/False argument"),
        ("pinned_num_register_threads:256", "less than or equal to 128"),
        ("backend:musaMallocAsync", "not supported for MUSA yet"),
        ("max_split_size_mb", "expected :"),
    ],
)
def test_bad_allocator_settings_are_refused(settings: Callable[[str], None], text: str, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        settings(text)


def test_allocator_settings_are_in_the_snapshot(settings: Callable[[str], None]) -> None:
    text = "max_split_size_mb:64,roundup_power2_divisions:[4:2,16:4,>:8]"
    settings(text)
    shown = torch.musa.memory._snapshot()["allocator_settings"]
    assert (shown["PYTORCH_MUSA_ALLOC_CONF"], shown["max_split_size"]) == (text, 64 * MIB)
    # ">" begins with the last size that is named.
    assert [shown["roundup_power2_divisions"][str(each)] for each in (1, 4, 8, 16, 32, 1024)] == [2, 2, 0, 8, 8, 8]


@pytest.mark.full
@pytest.mark.parametrize(
    ("text", "size", "taken"),
    [
        ("", 600, 1024),
        ("roundup_power2_divisions:4", 9 * MIB, 10 * MIB),
        ("roundup_power2_divisions:4", 8 * MIB, 8 * MIB),
        ("roundup_power2_divisions:[1:1,>:8]", 9 * MIB, 9 * MIB),
        ("roundup_power2_divisions:[1:1,16:2]", 17 * MIB, 24 * MIB),
    ],
)
def test_sizes_are_rounded_to_divisions_of_powers_of_two(
    settings: Callable[[str], None], text: str, size: int, taken: int
) -> None:
    settings(text)
    before = torch.musa.memory_allocated()
    held = torch.empty(size, dtype=torch.uint8, device="musa")
    assert torch.musa.memory_allocated() - before == taken
    del held


def test_blocks_of_the_largest_size_are_not_split(settings: Callable[[str], None]) -> None:
    torch.musa.empty_cache()
    settings("max_split_size_mb:21")
    held = torch.empty(30 * MIB, dtype=torch.uint8, device="musa")
    assert torch.musa.memory_stats()["oversize_allocations.current"] == 1
    del held
    assert torch.musa.memory_stats()["oversize_allocations.current"] == 0
    before = torch.musa.memory_reserved()
    small = torch.empty(12 * MIB, dtype=torch.uint8, device="musa")  # it does not get a part of the block
    assert torch.musa.memory_reserved() == before + 12 * MIB
    large = torch.empty(25 * MIB, dtype=torch.uint8, device="musa")  # it gets all of it
    assert torch.musa.memory_reserved() == before + 12 * MIB
    del small, large


@pytest.mark.full
def test_long_unused_segments_are_given_back_above_the_threshold() -> None:
    # In a process of its own: what other tests still hold counts as reserved.
    found = run("""
        import torch, torch_musa
        mib = 1 << 20
        total = torch.musa.get_device_properties(0).total_memory
        torch.musa.set_per_process_memory_fraction(800 * mib / total)
        torch.musa.memory._set_allocator_settings("garbage_collection_threshold:0.5")
        for size in (250, 260, 270):  # each larger than what is cached
            held = torch.empty(size * mib, dtype=torch.uint8, device="musa")
            print(torch.musa.memory_reserved() // mib)
            del held
    """)
    # More than 400 were reserved at the third request, so the older segment went.
    assert [int(line) for line in found.split()] == [250, 250 + 260, 260 + 270]


def pool_of(tensor: torch.Tensor) -> tuple[int, int]:
    """The id of the pool whose segment contains `tensor`."""
    for segment in torch.musa.memory_snapshot():
        if 0 <= tensor.data_ptr() - segment["address"] < segment["total_size"]:
            return segment["segment_pool_id"]
    raise AssertionError("in no segment")


def test_pools() -> None:
    pool = torch.musa.MemPool()
    assert len(pool.id) == 2
    with torch.musa.use_mem_pool(pool):
        inside = torch.ones(4, device="musa")
    outside = torch.ones(4, device="musa")
    assert (pool_of(inside), pool_of(outside)) == (pool.id, (0, 0))
    assert inside.tolist() == [1] * 4 and torch.musa.MemPool().id != pool.id


def test_a_pool_needs_an_index() -> None:
    with (
        pytest.raises(ValueError, match="specified index or an integer"),
        torch.musa.use_mem_pool(torch.musa.MemPool(), torch.device("musa")),
    ):
        pass


def test_a_context_tells_the_pool_of_2_7_1() -> None:
    code = """
        import torch, torch_musa
        pool = torch.musa.MemPool()
        assert pool.allocator is None and torch.musa.MemPoolContext.active_pool() is None
        assert torch.musa.memory._MemPoolContext.activate_pool() is None  # what torch_musa's Python calls it by
        with torch.musa.use_mem_pool(pool):
            assert torch.musa.MemPoolContext.active_pool().id == pool.id
        assert torch.musa.MemPoolContext.active_pool() is None
        """
    run(code, MUSASIM_RELEASE="2.7.1", forked=True)


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
    if not release.since("2.9.1"):  # use_mem_pool of 2.7.1 does not release the pool
        torch_musa._MUSAC._musa_releasePool(torch.musa.current_device(), pool.id)
    del held, pool
    torch.musa.empty_cache()
    assert taken == {}


def test_a_history_is_forgotten_when_it_is_switched_off() -> None:
    torch.musa.memory._record_memory_history(max_entries=100)
    held = torch.ones(MIB, device="musa")
    assert any(
        entry["action"] == "alloc" for entry in torch.musa.memory._snapshot()["device_traces"][held.get_device()]
    )
    torch.musa.memory._record_memory_history(None)
    assert torch.musa.memory._snapshot()["device_traces"][0] == []


def test_accelerator_statistics() -> None:
    if not hasattr(torch.accelerator, "memory_allocated"):
        pytest.skip("torch.accelerator has no memory functions before torch 2.9")
    tensor = torch.ones(MIB, device="musa")
    assert torch.accelerator.memory_allocated() == torch.musa.memory_allocated()
    assert torch.accelerator.max_memory_reserved() == torch.musa.max_memory_reserved()
    torch.accelerator.empty_cache()
    del tensor
