"""PyTorch's profiler on the simulated device: events around operators, Kineto's records of kernels, memory."""

# ruff: noqa: E402

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import musasim

musasim.install()

import torch
import torch_musa  # noqa: F401
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from support.fresh_process import run

pytestmark = pytest.mark.once

WITH_TOOLS = pytest.mark.skipif(
    find_spec("torch.profiler._pattern_matcher") is None, reason="torch 2.15 looks for no wasted time in a profile"
)
BOTH = [ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]


def on_device(prof: Any) -> list[Any]:
    return [event for event in prof.events() if event.device_type == DeviceType.PrivateUse1]


def by_key(prof: Any) -> dict[str, Any]:
    return {event.key: event for event in prof.key_averages()}


@pytest.fixture
def matrix() -> torch.Tensor:
    return torch.ones(64, 64, device="musa")


def test_kernels_belong_to_their_operators(matrix: torch.Tensor) -> None:
    with profile(activities=BOTH) as prof:
        matrix @ matrix
    (kernel,) = on_device(prof)
    (operator,) = (event for event in prof.events() if event.name == "aten::mm")
    assert kernel.name == "musasim::mm"
    assert [(k.name, k.device) for k in operator.kernels] == [("musasim::mm", 0)]
    assert operator.time_range.start <= kernel.time_range.start <= kernel.time_range.end <= operator.time_range.end
    assert operator.self_device_time_total == pytest.approx(kernel.device_time_total)


def test_work_of_another_thread_belongs_to_its_operators() -> None:
    x = torch.ones(8, 8, device="musa", requires_grad=True)
    with profile(activities=BOTH) as prof:
        (x @ x).sum().backward()
    (kernel,) = {e.name for e in on_device(prof)} & {"musasim::mm"}
    assert sum(e.name == kernel for e in on_device(prof)) == 3
    assert by_key(prof)["MmBackward0"].device_time_total > 0


def test_device_and_stream_of_a_kernel() -> None:
    stream = torch.musa.Stream(device=1)
    with profile(activities=BOTH) as prof, torch.musa.stream(stream):
        torch.ones(4, device="musa:1").exp()
    kernels = {event.name: event for event in on_device(prof)}
    assert kernels["musasim::exp"].device_index == 1
    assert kernels["musasim::exp"].device_resource_id == stream.stream_id


def test_copies(matrix: torch.Tensor) -> None:
    with profile(activities=BOTH) as prof:
        matrix.cpu().to("musa").to("musa:1")
    kinds = [event.name.partition(" ")[2] for event in on_device(prof)]
    assert kinds == ["DtoH (Device -> Pageable)", "HtoD (Pageable -> Device)", "DtoD (Device -> Device)"]


def test_work_waits_for_its_stream(matrix: torch.Tensor) -> None:
    with profile(activities=BOTH) as prof:
        torch.musa._sleep(20_000_000)
        matrix.exp()
    spin, kernel = on_device(prof)
    assert (spin.name, spin.device_time_total) == ("musasim::spin", pytest.approx(20_000))
    assert kernel.time_range.start >= spin.time_range.end - 1


def test_a_profile_of_the_host_alone_has_no_kernels(matrix: torch.Tensor) -> None:
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        matrix @ matrix
    assert on_device(prof) == [] and "aten::mm" in by_key(prof)


def test_a_profile_of_the_device_alone(matrix: torch.Tensor) -> None:
    with profile(activities=BOTH[1:]) as prof:
        matrix @ matrix
    names = [event.name for event in prof.events()]
    assert names == ["musaLaunchKernel", "musasim::mm", "musaDeviceSynchronize"], (
        "the profile waits for the device at its end"
    )


def test_nothing_is_left_from_one_profile_to_the_next(matrix: torch.Tensor) -> None:
    with profile(activities=BOTH) as first:
        matrix @ matrix
    matrix.exp()
    with profile(activities=BOTH) as second:
        matrix.log()
    assert [event.name for event in on_device(first)] == ["musasim::mm"]
    assert [event.name for event in on_device(second)] == ["musasim::log"]


def test_an_operator_that_outlives_its_profile(matrix: torch.Tensor) -> None:
    """It ends outside of any: where it ends within another, PyTorch's own profiler reads freed memory, on the CPU as well."""
    outer = torch.autograd.profiler.record_function("outer")
    first = profile(activities=BOTH)
    first.start()
    outer.__enter__()
    first.stop()
    with profile(activities=BOTH) as second:
        matrix @ matrix
    outer.__exit__(None, None, None)
    (operator,) = (event for event in second.events() if event.name == "aten::mm")
    assert len(operator.kernels) == 1


def test_chrome_trace(tmp_path: Path, matrix: torch.Tensor) -> None:
    with profile(activities=BOTH) as prof:
        matrix @ matrix
    path = tmp_path / "trace.json"
    prof.export_chrome_trace(str(path))
    (kernel,) = (event for event in json.loads(path.read_text())["traceEvents"] if event.get("cat") == "kernel")
    assert kernel["name"] == "musasim::mm" and kernel["dur"] > 0
    assert (kernel["args"]["device"], kernel["args"]["stream"]) == (0, 0)


def test_memory(matrix: torch.Tensor) -> None:
    with profile(activities=BOTH, profile_memory=True) as prof:
        kept = matrix @ matrix
    assert by_key(prof)["aten::mm"].self_device_memory_usage == kept.nbytes
    with profile(activities=BOTH, profile_memory=True) as prof:
        del kept
    assert by_key(prof)["[memory]"].device_memory_usage == -matrix.nbytes


def test_allocations_that_fail_are_recorded(tmp_path: Path) -> None:
    size = 2**44
    with profile(activities=BOTH, profile_memory=True) as prof, pytest.raises(torch.OutOfMemoryError):
        torch.empty(size, dtype=torch.uint8, device="musa:1")
    path = tmp_path / "trace.json"
    prof.export_chrome_trace(str(path))
    events = json.loads(path.read_text())["traceEvents"]
    (failed,) = (event["args"] for event in events if event["name"] == "[OutOfMemory]")
    assert failed["Bytes"] == size and failed["Device Id"] == 1 and failed["Device Type"] == int(DeviceType.PrivateUse1)


def test_events_around_operators(matrix: torch.Tensor) -> None:
    """This is the mode without Kineto's records, where an operator's time is that between two events."""
    with torch.autograd.profiler.profile(use_device="musa") as prof:
        matrix @ matrix
    event = by_key(prof)["aten::mm"]
    assert event.is_legacy and 0 < event.device_time_total <= 1000 * 1000
    assert by_key(prof)["aten::matmul"].device_time_total >= event.device_time_total


def test_events_see_the_streams_clock() -> None:
    with torch.autograd.profiler.profile(use_device="musa") as prof, torch.autograd.profiler.record_function("spin"):
        torch.musa._sleep(500_000_000)
    assert by_key(prof)["spin"].device_time_total >= 500_000 > by_key(prof)["spin"].cpu_time_total


@pytest.mark.parametrize("make", [
    lambda: profile(activities=BOTH, profile_memory=True),
    lambda: torch.autograd.profiler.profile(use_device="musa", profile_memory=True),
], ids=["kineto", "events"])  # fmt: skip
def test_graphs(make: Callable[[], Any], matrix: torch.Tensor) -> None:
    graph = torch.musa.MUSAGraph()
    with make():
        with torch.musa.graph(graph):
            result = matrix @ matrix
        graph.replay()
    assert result[0, 0].item() == 64
    with make():
        graph.replay()
    graph.reset()


def test_work_counts_when_it_is_replayed_and_not_when_it_is_captured(matrix: torch.Tensor) -> None:
    graph = torch.musa.MUSAGraph()
    with profile(activities=BOTH) as prof:
        with torch.musa.graph(graph):
            result = matrix @ matrix
        captured = torch.musa.memory_allocated()
        graph.replay()
        graph.replay()
    assert sum(event.name == "musasim::mm" for event in on_device(prof)) == 2
    assert captured > 0 and result.shape == matrix.shape


def test_several_threads_are_profiled_at_once(matrix: torch.Tensor) -> None:
    def work() -> None:
        for _ in range(50):
            matrix @ matrix

    threads = [threading.Thread(target=work) for _ in range(4)]
    with profile(activities=BOTH) as prof:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sum(event.name == "musasim::mm" for event in on_device(prof)) == 200


@pytest.mark.full
def test_profiler_before_torch_musa() -> None:
    """Kineto has already started when the device is registered."""
    run("""
        import musasim, torch
        from torch.profiler import profile, ProfilerActivity
        with profile(activities=[ProfilerActivity.CPU]):
            torch.ones(2).exp()
        musasim.install()
        import torch_musa
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as prof:
            torch.ones(2, device="musa").exp()
        assert "musasim::exp" in {event.name for event in prof.events()}
    """)


class Recorded:
    """A record of the driver, as the profiler hands it out."""

    def __init__(self, name: str, kind: DeviceType, start: int, link: int) -> None:
        self.name, self._kind, self._start, self._link = name, kind, start, link

    def device_type(self) -> DeviceType:
        return self._kind

    def start_ns(self) -> int:
        return self._start

    def duration_ns(self) -> int:
        return 10

    def linked_correlation_id(self) -> int:
        return self._link


@WITH_TOOLS
def test_the_queue_is_as_deep_as_launches_are_ahead_of_kernels() -> None:
    launch, kernel = ("musaLaunchKernel", DeviceType.CPU), ("gemm", DeviceType.PrivateUse1)
    other = [Recorded("cudaLaunchKernel", DeviceType.CPU, 5, 9), Recorded("memcpy", DeviceType.PrivateUse1, 6, 9)]
    records = [Recorded(*launch, 10 * i, i) for i in (1, 2, 3)] + [Recorded(*kernel, 100 * i, i) for i in (1, 2, 3)]
    kineto = SimpleNamespace(events=lambda: other + records, experimental_event_tree=list)
    found: Any = torch.profiler._utils.BasicEvaluation(SimpleNamespace(kineto_results=kineto))  # type: ignore[arg-type]
    assert type(found).__module__ == "torch_musa.profiler._utils"
    assert [depth.queue_depth for depth in found.queue_depth_list] == [1, 2, 3, 2, 1, 0]
    assert found.musa_events == records and not hasattr(found, "cuda_events")


def findings(work: Callable[[], object], **options: bool) -> list[str]:
    from torch.profiler import _pattern_matcher as patterns

    with profile(activities=[ProfilerActivity.CPU], with_stack=True, record_shapes=True) as recorded:
        work()
    found = [getattr(patterns, name)(recorded, **options) for name in MATCHERS]
    assert {type(each).__module__ for each in found} == {"torch_musa.profiler._pattern_matcher"}
    return [each.summary(events) for each in found if (events := each.matched_events())]


# Tensor.orig_to is PyTorch's own Tensor.to. torch_musa's is a function in Python, which hides what comes before it, there as here.
MATCHERS = ("ExtraMUSACopyPattern", "FP32MatMulPattern", "MatMulDimInFP16Pattern")


@WITH_TOOLS
def test_wasted_time_is_found() -> None:
    halves = torch.ones(3, 3, device="musa", dtype=torch.float16)
    assert findings(lambda: torch.zeros(4, 4).orig_to("musa")) == ["Extra MUSA Copy Pattern: 1 events matched."]
    assert findings(lambda: torch.zeros(4, 4, device="musa")) == []
    (found,) = [each for each in findings(lambda: torch.mm(halves, halves)) if "Aligned" in each]
    assert found == "Matrix Multiplication Dimension Not Aligned Pattern: 1 events matched."


@WITH_TOOLS
def test_wasted_time_is_measured_on_the_device() -> None:
    (found,) = findings(lambda: torch.zeros(4, 4).orig_to("musa"), should_benchmark=True)
    assert "Total Estimated Speedup" in found


@WITH_TOOLS
def test_the_report_names_this_device(tmp_path: Path) -> None:
    from torch.profiler import _pattern_matcher as patterns

    with profile(activities=[ProfilerActivity.CPU], with_stack=True, record_shapes=True) as recorded:
        torch.zeros(4, 4).orig_to("musa")
    patterns.report_all_anti_patterns(recorded, print_enable=False, json_report_dir=str(tmp_path))
    report = json.loads((tmp_path / "torchtidy_report.json").read_text())
    assert [entry["name"] for entries in report.values() for entry in entries] == ["Extra MUSA Copy Pattern"]
