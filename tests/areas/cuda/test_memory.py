"""torch.cuda's names around memory that torch_musa has not."""

from __future__ import annotations

import pytest
import torch

from support.interpreter import Interpreter


def test_caching_allocator_alloc_and_delete() -> None:
    before = torch.cuda.memory_allocated()
    address = torch.cuda.caching_allocator_alloc(1 << 20)
    assert address > 0 and torch.cuda.memory_allocated() - before >= 1 << 20
    torch.cuda.caching_allocator_delete(address)
    assert torch.cuda.memory_allocated() == before


def test_caching_allocator_takes_device_and_stream() -> None:
    stream = torch.cuda.Stream("cuda:1")
    before = torch.cuda.memory_allocated(1)
    addresses = [
        torch.cuda.caching_allocator_alloc(512, device="cuda:1"),
        torch.cuda.caching_allocator_alloc(512, 1, stream),
        torch.cuda.caching_allocator_alloc(512, torch.device("cuda", 1), 0),
    ]
    assert torch.cuda.memory_allocated(1) - before == 3 * 512
    for address in addresses:
        torch.cuda.memory.caching_allocator_delete(address)
    assert torch.cuda.memory_allocated(1) == before
    with pytest.raises(TypeError, match="stream"):
        torch.cuda.caching_allocator_alloc(1, stream="default")
    with pytest.raises((ValueError, RuntimeError), match=r"(Invalid memory size|invalid size of memory): -1024"):
        torch.cuda.caching_allocator_alloc(-1024)


def test_memory_that_was_not_allocated_cannot_be_deleted() -> None:
    with pytest.raises(RuntimeError):
        torch.cuda.caching_allocator_delete(12345)


REFUSED = """
import re, torch, torchada
torch.cuda.init()
def refused(text, call):
    try:
        call()
    except torchada.UnsupportedError as error:
        assert re.search(text, str(error)), error
    else:
        raise SystemExit(f"expected: {text}")
"""


def test_the_cache_cannot_be_switched_off_at_run_time_on_2_7_1(musa: Interpreter) -> None:
    code = """
torch.cuda.caching_allocator_enable(True)
refused("caching_allocator_enable.*PYTORCH_NO_MUSA_MEMORY_CACHING", lambda: torch.cuda.caching_allocator_enable(False))
"""
    musa.run(REFUSED + code, env={"MUSASIM_RELEASE": "2.7.1"}, forked=True)


@pytest.mark.skipif(not hasattr(torch.cuda, "caching_allocator_disabled"), reason="not in this torch")
def test_whether_the_allocator_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inductor asks before it captures."""
    ask = torch._C._cuda_cudaCachingAllocator_is_enabled
    assert ask()
    monkeypatch.setenv("PYTORCH_NO_MUSA_MEMORY_CACHING", "1")
    assert not ask()


def test_memory_fraction_reads_back() -> None:
    assert torch.cuda.get_per_process_memory_fraction(1) == 1.0
    torch.cuda.set_per_process_memory_fraction(0.25, "cuda:1")
    try:
        assert torch.cuda.get_per_process_memory_fraction("cuda:1") == 0.25
        assert torch.cuda.get_per_process_memory_fraction(0) == 1.0
        total = torch.cuda.get_device_properties(1).total_memory
        with pytest.raises(torch.cuda.OutOfMemoryError):
            torch.empty(total // 2, dtype=torch.uint8, device="cuda:1")
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0, 1)


@pytest.mark.parametrize("name", ["memory_cached", "max_memory_cached"])
def test_old_names_of_reserved_memory(name: str) -> None:
    with pytest.warns(FutureWarning, match="renamed"):
        value = getattr(torch.cuda, name)()
    assert value == getattr(torch.cuda, name.replace("cached", "reserved"))()


def test_host_memory_statistics_of_2_7_1_say_that_there_are_none(musa: Interpreter) -> None:
    code = """
for name in ("host_memory_stats", "reset_peak_host_memory_stats"):
    refused(f"torch.cuda.{name}.*pinned memory", getattr(torch.cuda, name))
"""
    musa.run(REFUSED + code, env={"MUSASIM_RELEASE": "2.7.1"}, forked=True)
