"""torch.cuda is the real module, and its names are torch.musa's own objects."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from typing import Any

import pytest
import torch

from support.interpreter import Interpreter

SAME = [
    "current_device",
    "current_stream",
    "default_stream",
    "empty_cache",
    "Event",
    "get_device_capability",
    "get_device_name",
    "get_rng_state",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_peak_memory_stats",
    "set_device",
    "set_rng_state",
    "set_stream",
    "Stream",
    "stream",
    "synchronize",
    "_lazy_init",
    "_lazy_call",
]


@pytest.mark.parametrize("name", SAME)
def test_the_very_object(name: str) -> None:
    assert vars(torch.cuda)[name] is getattr(torch.musa, name)


def test_the_module_is_the_real_one() -> None:
    assert type(torch.cuda) is type(sys)
    assert sys.modules["torch.cuda"] is torch.cuda
    assert "__getattr__" not in vars(torch.cuda) or torch.cuda.__getattr__.__module__ == "torch.cuda"
    assert set(torch.cuda.__all__) <= set(dir(torch.cuda))


def test_find_spec_of_torch_cuda() -> None:
    spec = importlib.util.find_spec("torch.cuda")
    assert spec is torch.cuda.__spec__ and spec is not None and spec.name == "torch.cuda"
    assert list(torch.cuda.__path__) == spec.submodule_search_locations
    assert importlib.util.find_spec("torch.cuda.comm") is not None
    assert importlib.util.find_spec("torch.cuda.nonsense") is None


# Importing the sanitizer has PyTorch report everything that happens on a device, for the rest of the process.
SANITIZER = "torch.cuda._sanitizer"


@pytest.mark.parametrize(
    "name", sorted({found.name for found in pkgutil.walk_packages(torch.cuda.__path__, "torch.cuda.")} - {SANITIZER})
)
def test_submodules_import(name: str) -> None:
    assert importlib.import_module(name).__name__ == name


def test_the_sanitizer_is_imported(musa: Interpreter) -> None:
    musa.run(f"import {SANITIZER}, torch; torch.zeros(1, device='cuda')", forked=True)


def test_names_of_submodules_follow() -> None:
    from torch.cuda import memory, random, streams

    assert memory.empty_cache is torch.musa.empty_cache
    assert random.manual_seed is torch.musa.manual_seed
    assert streams.Stream is torch.musa.Stream


def test_honest_detection() -> None:
    assert torch.cuda.is_available() is False
    assert torch.version.cuda is None or isinstance(torch.version.cuda, str)


def test_device_count_current_device_set_device_and_contexts() -> None:
    assert torch.cuda.device_count() == torch.musa.device_count() >= 1
    torch.cuda.set_device("cuda:0")
    assert torch.cuda.current_device() == 0
    with torch.cuda.device(torch.device("cuda", 1)):
        assert torch.cuda.current_device() == 1
    with torch.cuda.device_of(torch.zeros(1, device="cuda:1")):
        assert torch.cuda.current_device() == 1
    assert torch.cuda.current_device() == 0
    assert torch.cuda.get_device_name() == torch.cuda.get_device_name("cuda:0")
    assert len(torch.cuda.get_device_capability(0)) == 2


def test_properties_of_the_current_device_by_default() -> None:
    properties = torch.cuda.get_device_properties()
    assert properties.name == torch.cuda.get_device_properties("cuda:0").name
    assert properties.total_memory > 0


def test_what_is_called_for_its_effect_has_no_result() -> None:
    calls = (torch.cuda.ipc_collect, torch.cuda.empty_cache, torch.cuda.synchronize, torch.cuda.init)
    assert [call() for call in calls] == [None] * 4
    with pytest.raises(TypeError):
        torch.cuda.ipc_collect(0)  # type: ignore[call-arg]


def test_memory_follows_allocations() -> None:
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    x = torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
    assert torch.cuda.memory_allocated("cuda:0") - before >= 1 << 20
    assert torch.cuda.max_memory_allocated(torch.device("cuda")) >= torch.cuda.memory_allocated()
    del x
    assert torch.cuda.memory_allocated() == before
    free, total = torch.cuda.mem_get_info()
    assert 0 < free <= total
    assert "allocated_bytes.all.current" in torch.cuda.memory_stats()


def test_streams_and_events() -> None:
    stream = torch.cuda.Stream()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() == stream
        start.record()
        torch.ones(1000, device="cuda").sum()
        end.record()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    assert start.elapsed_time(end) >= 0
    assert isinstance(stream, torch.cuda.Stream)
    assert torch.cuda.current_stream() == torch.cuda.default_stream()


def test_init_is_initialized_lazy_init_and_lazy_call() -> None:
    torch.cuda.init()
    torch.cuda._lazy_init()
    torch.zeros(1, device="cuda")
    assert torch.cuda.is_initialized()
    called = []
    torch.cuda._lazy_call(lambda: called.append(1))
    assert called == [1]


@pytest.mark.parametrize(
    ("device", "options", "expected"),
    [
        (1, {}, 1),
        ("cuda:1", {}, 1),
        (torch.device("cuda", 1), {}, 1),
        (None, {"optional": True}, 0),
        ("cpu", {"allow_cpu": True}, -1),
        (1.5, {"optional": True}, 0),
        (torch.ones(1), {"optional": True}, 0),
    ],
)
def test_device_index(device: Any, options: dict[str, bool], expected: int) -> None:
    assert torch.cuda._get_device_index(device, **options) == expected


@pytest.mark.parametrize("device", ["cpu", None, "meta", 1.5])
def test_device_index_refuses(device: Any) -> None:
    with pytest.raises(ValueError):
        torch.cuda._get_device_index(device)


def test_out_of_memory() -> None:
    with pytest.raises(torch.cuda.OutOfMemoryError, match="out of memory"):
        torch.empty(1 << 60, dtype=torch.uint8, device="cuda")


def test_setting_an_attribute_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 7)
    from torch.cuda import device_count

    assert device_count() == 7


@pytest.mark.parametrize("name", ["reset_max_memory_allocated", "reset_max_memory_cached"])
def test_old_names_reset_the_peaks(name: str) -> None:
    """torch.cuda's own functions do so: those of torch_musa 2.7.1 raise NameError."""
    torch.ones(1 << 20, device="cuda")
    assert torch.cuda.max_memory_allocated() > torch.cuda.memory_allocated()
    with pytest.warns(FutureWarning, match=f"torch.cuda.{name} now calls torch.cuda.reset_peak_memory_stats"):
        getattr(torch.cuda, name)()
    assert torch.cuda.max_memory_allocated() == torch.cuda.memory_allocated()
