"""Utilization, temperature, power and clock: torch's functions over Moore Threads' management library."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
import torch

from support.interpreter import STAND_INS


@pytest.fixture
def management(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The library's Python module, in which device n is one more of everything than device 0."""
    monkeypatch.syspath_prepend(STAND_INS)
    monkeypatch.delitem(sys.modules, "pymtml", raising=False)
    torch.cuda._device_count_nvml()
    yield
    sys.modules.pop("pymtml", None)


@pytest.mark.usefixtures("management")
@pytest.mark.parametrize(
    ("name", "value"),
    [("utilization", 40), ("memory_usage", 20), ("temperature", 50), ("power_draw", 120_000), ("clock_rate", 1700)],
)
def test_telemetry(name: str, value: int) -> None:
    measure = getattr(torch.cuda, name)
    assert measure() == measure("cuda:0") == value
    assert measure(torch.device("cuda", 1)) == measure(1) == value + 1


@pytest.mark.usefixtures("management")
def test_device_count_nvml_and_uuids() -> None:
    assert torch.cuda._device_count_nvml() == 2
    assert str(torch.cuda.get_device_properties(1).uuid).endswith("0002")
    assert [uuid[-4:] for uuid in torch.cuda._raw_device_uuid_nvml()] == ["0001", "0002"]


def test_without_the_library_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from torchada.areas.cuda._management import Management
    from torchada.hooks.state import STATE

    monkeypatch.setitem(sys.modules, "pymtml", None)
    assert STATE.context is not None
    with pytest.raises(ModuleNotFoundError, match="pip install mthreads-ml-py"):
        Management(STATE.context).handle(0)


def test_device_memory_used_needs_no_library() -> None:
    before = torch.cuda.device_memory_used()
    held = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
    free, total = torch.cuda.mem_get_info()
    assert torch.cuda.device_memory_used("cuda") == total - free >= before
    del held


def test_list_gpu_processes_names_this_process_and_says_what_it_cannot_see() -> None:
    import os

    text = torch.cuda.list_gpu_processes("cuda:1")
    assert text.startswith("GPU:1") and str(os.getpid()) in text and "cannot be listed" in text
