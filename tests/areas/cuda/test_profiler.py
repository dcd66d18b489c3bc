"""torch.profiler, torch.autograd.profiler and torch.cuda.profiler as CUDA code uses them."""

from __future__ import annotations

import contextlib
import copy
import json
import pickle
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.autograd import DeviceType
from torch.autograd.profiler import record_function
from torch.autograd.profiler_util import FunctionEvent, FunctionEventAvg
from torch.profiler import ProfilerAction, ProfilerActivity, profile, schedule, tensorboard_trace_handler

import torchada
from support.interpreter import Interpreter

BOTH = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
# Removed from torch again, or about to be: asking for them may warn, as on CUDA.
OLD_NAMES = [
    "cuda_time",
    "cuda_time_str",
    "cuda_time_total",
    "cuda_time_total_str",
    "self_cuda_time_total",
    "self_cuda_time_total_str",
    "cuda_memory_usage",
    "self_cuda_memory_usage",
]


def work() -> torch.Tensor:
    """A product of 64x64 matrices on the device, a sum, and a copy to the host."""
    a = torch.ones(64, 64, device="cuda")
    return (a @ a + 1).cpu()


@pytest.fixture(scope="module", autouse=True)
def _first_use() -> None:
    # torch 2.13 imports a module at the first record_function, and its own tracer with_stack=True then reads freed memory.
    with record_function("first"):
        torch.zeros(1, device="cuda")


@pytest.fixture(autouse=True)
def _known_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*(is deprecated|will be deprecated)", category=FutureWarning)
        yield


@pytest.fixture
def profiled() -> profile:
    everything = {"profile_memory": True, "record_shapes": True, "with_flops": True}
    with profile(activities=BOTH, **everything) as prof, record_function("mine"):
        work()
    return prof


def by_key(averages: Any) -> dict[str, Any]:
    """The row of the host, where a record_function has one of the device as well."""
    return {event.key: event for event in reversed(averages)}


def test_profiler_activities_cuda_to_device(profiled: profile) -> None:
    averages = by_key(profiled.key_averages())
    assert averages["aten::mm"].device_time_total > 0
    assert averages["mine"].device_time_total >= averages["aten::mm"].device_time_total
    assert averages["mine"].cpu_time_total > 0


def test_the_device_is_the_backends(profiled: profile) -> None:
    assert profiled.use_device == profiled.profiler.use_device == "musa"
    assert "Self MUSA" in profiled.key_averages().table()


@pytest.mark.parametrize("activities", [[ProfilerActivity.CUDA], {ProfilerActivity.CUDA}, (a for a in BOTH[1:])])
def test_activity_cuda_alone(activities: Any) -> None:
    prof = torch.profiler._KinetoProfile(activities=activities)
    assert prof.activities == {ProfilerActivity.PrivateUse1}


def test_activity_cuda_alone_records_the_device_and_its_runtime_alone() -> None:
    with profile(activities=[ProfilerActivity.CUDA]) as prof:
        work()
    on_host = {event.name for event in prof.events() if event.device_type != DeviceType.CUDA}
    assert "musaLaunchKernel" in on_host and all(name.startswith("musa") for name in on_host)
    assert sum(event.cuda_time_total for event in prof.events()) > 0


def test_activity_with_a_filter() -> None:
    if not hasattr(torch.profiler.profiler, "_parse_activities"):
        pytest.skip("this torch has no filters of activities")
    prof = profile(activities=[ProfilerActivity.CPU, {ProfilerActivity.CUDA: ["kernel"]}])
    if hasattr(prof, "activity_filters"):
        assert prof.activity_filters == {ProfilerActivity.PrivateUse1: {"kernel"}}
    else:  # from torch 2.15 on
        (config,) = prof.activity_configs.items()
        assert config[0] == ProfilerActivity.PrivateUse1 and list(config[1].activity_types) == ["kernel"]


def test_supported_activities_has_cuda() -> None:
    assert ProfilerActivity.CUDA in torch.profiler.supported_activities()
    assert ProfilerActivity.CUDA in torch.autograd._supported_activities()
    assert ProfilerActivity.CPU in torch.profiler.supported_activities()


@pytest.mark.parametrize("activities", [None, torch.profiler.supported_activities()], ids=["default", "supported"])
def test_all_activities(activities: Any) -> None:
    with profile(activities=activities) as prof:
        work()
    assert prof.activities == {ProfilerActivity.CPU, ProfilerActivity.PrivateUse1}
    assert by_key(prof.key_averages())["aten::mm"].device_time_total > 0


def test_cpu_alone() -> None:
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        work()
    assert prof.use_device is None
    assert {event.device_type for event in prof.events()} == {DeviceType.CPU}


SORT = [
    "cuda_time_total",
    "self_cuda_time_total",
    "cuda_time",
    "cuda_memory_usage",
    "self_cuda_memory_usage",
    "cpu_time_total",
    "self_cpu_memory_usage",
    "device_time_total",
    "self_device_memory_usage",
]


@pytest.mark.parametrize("key", SORT)
def test_sort_by(profiled: profile, key: str) -> None:
    events = profiled.key_averages()
    largest = max(events, key=lambda event: getattr(event, key.replace("cuda", "device"))).key
    rows = [line.split()[0] for line in events.table(sort_by=key, row_limit=-1).splitlines() if "%" in line]
    assert rows[0] == "Name" and largest.startswith(rows[1][:20])


@pytest.mark.parametrize("metric", ["self_cuda_time_total", "self_cpu_time_total"])
def test_export_stacks(tmp_path: Path, metric: str) -> None:
    verbose = torch._C._profiler._ExperimentalConfig(verbose=True)  # without it, torch gives events no stacks
    with profile(activities=BOTH, with_stack=True, experimental_config=verbose) as prof:
        work()
    path = tmp_path / "stacks.txt"
    prof.export_stacks(str(path), metric=metric)
    ours = [line for line in path.read_text().splitlines() if "test_profiler.py" in line]
    assert ours and all(";" in line and int(line.rpartition(" ")[2]) > 0 for line in ours)


@pytest.mark.parametrize("name", OLD_NAMES)
def test_event_attributes_on_new_torch(profiled: profile, name: str) -> None:
    current = name.replace("cuda", "device")
    for events in (profiled.events(), profiled.key_averages()):
        event = next(e for e in events if e.key == "aten::mm")
        assert getattr(event, name) == getattr(event, current)
        assert getattr(event, name) not in (0, "0.000us")


def test_memory(profiled: profile) -> None:
    event = by_key(profiled.key_averages())["aten::mm"]
    assert event.cuda_memory_usage == 64 * 64 * 4


def test_grouping(profiled: profile) -> None:
    (event,) = (e for e in profiled.key_averages(group_by_input_shape=True) if e.key == "aten::mm")
    assert event.input_shapes == [[64, 64], [64, 64]] and event.cuda_time_total > 0
    assert event.flops == 2 * 64**3
    assert profiled.key_averages(group_by_stack_n=1)


def test_total_average(profiled: profile) -> None:
    total = profiled.profiler.total_average()
    assert isinstance(total, FunctionEventAvg) and total.self_cuda_time_total > 0


def test_events_of_the_device(profiled: profile) -> None:
    """Both what CUDA code compares with and what code for the backend compares with, from either side."""
    on_device = [event for event in profiled.events() if event.device_type == DeviceType.CUDA]
    assert [event.name for event in on_device if "mm" in event.name]
    for wanted in (DeviceType.CUDA, DeviceType.PrivateUse1):
        assert [e for e in profiled.events() if wanted == e.device_type] == on_device
        assert [e for e in profiled.events() if e.device_type in (wanted,)] == on_device
        assert [e for e in profiled.events() if e.device_type != wanted] == [
            e for e in profiled.events() if e.device_type == DeviceType.CPU
        ]
    assert all(type(e) is FunctionEvent and e.cuda_time_total > 0 for e in on_device)


def test_the_device_type_of_an_event_is_cudas_for_code_that_sees_cuda(profiled: profile) -> None:
    package = __name__.partition(".")[0]
    torchada.set_view(package, "cuda")
    events = [*profiled.events(), *profiled.key_averages()]
    counted = Counter(event.device_type for event in events)
    assert counted.keys() == {DeviceType.CPU, DeviceType.CUDA} and counted[DeviceType.CUDA] > 0
    assert all(pickle.loads(pickle.dumps(kind)) == kind and copy.deepcopy(kind) == kind for kind in counted)
    assert all(event.use_device in ("cuda", None) for event in profiled.events())
    torchada.set_view(package, None)


def test_code_that_knows_the_backend_gets_a_device_type_that_equals_both(profiled: profile) -> None:
    (kind,) = {event.device_type for event in profiled.events() if event.device_type != DeviceType.CPU}
    assert isinstance(kind, DeviceType) and int(kind) == int(DeviceType.PrivateUse1)
    assert kind.name == DeviceType.PrivateUse1.name and str(kind) == str(DeviceType.PrivateUse1)
    assert kind == DeviceType.CUDA and hash(kind) == hash(DeviceType.PrivateUse1)
    assert kind != DeviceType.CPU and kind != 20 and kind != "cuda"


def test_profile_stays_a_class() -> None:
    assert isinstance(torch.profiler.profile, type) and isinstance(torch.autograd.profiler.profile, type)
    with profile(activities=BOTH) as prof:
        work()
    assert type(prof) is torch.profiler.profile


def test_schedule_and_tensorboard(tmp_path: Path) -> None:
    actions = []

    class Watching(profile):
        def step(self) -> None:
            actions.append(self.current_action)
            super().step()

    with Watching(
        activities=BOTH,
        schedule=schedule(wait=1, warmup=1, active=2, repeat=1),
        on_trace_ready=tensorboard_trace_handler(str(tmp_path)),
    ) as prof:
        for _ in range(5):
            work()
            prof.step()
    assert isinstance(prof, profile) and actions[:4] == [
        ProfilerAction.NONE,
        ProfilerAction.WARMUP,
        ProfilerAction.RECORD,
        ProfilerAction.RECORD_AND_SAVE,
    ]
    (trace,) = tmp_path.glob("*.pt.trace.json")
    names = [event["name"] for event in json.loads(trace.read_text())["traceEvents"] if event.get("cat") == "kernel"]
    assert sum("mm" in name for name in names) == 2


def test_start_and_stop(tmp_path: Path) -> None:
    prof = profile(activities=BOTH)
    prof.start()
    work()
    prof.stop()
    path = tmp_path / "trace.json.gz"
    prof.export_chrome_trace(str(path))
    assert path.stat().st_size > 0
    assert by_key(prof.key_averages())["aten::mm"].cuda_time_total > 0


@pytest.mark.parametrize("device", ["cuda:0", None])
def test_memory_timeline(tmp_path: Path, device: str | None) -> None:
    if not hasattr(profile, "export_memory_timeline"):
        pytest.skip("this torch has no memory timeline")
    with profile(activities=BOTH, profile_memory=True, record_shapes=True, with_stack=True) as prof:
        work()
    path = tmp_path / "timeline.json"
    prof.export_memory_timeline(str(path), device=device)
    times, sizes = json.loads(path.read_text())
    assert len(times) == len(sizes) and max(map(sum, sizes)) >= 2 * 64 * 64 * 4


@pytest.mark.parametrize("options", [{"use_cuda": True}, {"use_device": "cuda"}], ids=str)
def test_autograd_profiler(options: dict[str, Any]) -> None:
    with torch.autograd.profiler.profile(record_shapes=True, profile_memory=True, **options) as prof:
        work()
    event = by_key(prof.key_averages())["aten::mm"]
    assert event.cuda_time_total > 0 and event.cuda_memory_usage == 64 * 64 * 4
    assert prof.use_device == "musa"
    assert "Self MUSA" in prof.key_averages().table(sort_by="self_cuda_time_total")
    assert prof.use_cuda is ("use_cuda" in options)


def test_autograd_profiler_without_a_device() -> None:
    with torch.autograd.profiler.profile() as prof:
        work()
    assert prof.use_device is None and not prof.use_cuda
    with torch.autograd.profiler.profile(False, use_cuda=True) as nothing:
        work()
    assert nothing is None


def test_autograd_profiler_refuses_what_torch_refuses() -> None:
    with pytest.warns(UserWarning, match="tpu is not a valid device option"):
        assert torch.autograd.profiler.profile(use_device="tpu").use_device is None
    with pytest.raises(TypeError, match="use_gpu"):
        torch.autograd.profiler.profile(use_gpu=True)


def test_backward_is_on_the_device() -> None:
    x = torch.ones(8, 8, device="cuda", requires_grad=True)
    with profile(activities=BOTH) as prof:
        (x @ x).sum().backward()
    assert by_key(prof.key_averages())["MmBackward0"].cuda_time_total > 0


def test_profiler_start_stop() -> None:
    assert torch.cuda.profiler.start() is None and torch.cuda.profiler.stop() is None  # type: ignore[func-returns-value]
    with torch.cuda.profiler.profile():
        work()
    if hasattr(torch.cuda.profiler, "init"):
        with pytest.raises(NotImplementedError, match=r"torch\.cuda\.profiler\.init"):
            torch.cuda.profiler.init("out")


def test_compiled_record_function() -> None:
    def step(x: torch.Tensor) -> torch.Tensor:
        with record_function("step"):
            return x * 2

    x = torch.ones(2, device="cuda")
    compiled: Callable[..., Any] = torch.compile(step, backend="eager", fullgraph=True)
    with profile(activities=BOTH) as prof:
        assert compiled(x).tolist() == [2.0, 2.0]
    assert prof.events()
    torch._dynamo.reset()


def test_dynamic_toggle() -> None:
    with contextlib.ExitStack() as stack:
        prof = stack.enter_context(profile(activities=BOTH))
        if not hasattr(prof, "toggle_collection_dynamic"):
            pytest.skip("this torch cannot toggle")
        prof.toggle_collection_dynamic(False, [ProfilerActivity.CPU, ProfilerActivity.CUDA])
        torch.ones(2, device="cuda").exp()
        prof.toggle_collection_dynamic(True, [ProfilerActivity.CPU, ProfilerActivity.CUDA])
        work()
    names = by_key(prof.key_averages())
    assert "aten::mm" in names and "aten::exp" not in names


def test_undone(musa: Interpreter) -> None:
    found = musa.json(
        """
        import json, torch, torchada
        from torch.autograd.profiler_util import FunctionEventAvg
        from torch.profiler import ProfilerActivity, supported_activities
        before = [ProfilerActivity.CUDA in supported_activities(), hasattr(FunctionEventAvg, "cuda_memory_usage")]
        torchada.disable()
        after = [ProfilerActivity.CUDA in supported_activities(), hasattr(FunctionEventAvg, "cuda_memory_usage")]
        print(json.dumps([before, after]))
    """,
        forked=True,
    )
    assert found == [[True, True], [False, False]]
