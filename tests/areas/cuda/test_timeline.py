"""What code that sees CUDA reads in a timeline of torch.profiler: calls of the runtime, the work that they started, copies.

The names and fields were read off an NVIDIA H100 with torch 2.11.0+cu130 (driver 580.159, CUDA 13.0), which ran `program` here.
"""

from __future__ import annotations

import gzip
import json
import os
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile, record_function, schedule, tensorboard_trace_handler

import torchada

PACKAGE = __name__.partition(".")[0]
BOTH = [ProfilerActivity.CPU, ProfilerActivity.CUDA]

RUNTIME = {
    "cudaDeviceSynchronize",
    "cudaEventRecordWithFlags",
    "cudaLaunchKernel",
    "cudaMemcpyAsync",
    "cudaStreamSynchronize",
    "cudaStreamWaitEvent",
}
COPIES = {"Memcpy DtoH (Device -> Pinned)", "Memcpy HtoD (Pinned -> Device)"}
FIELDS_OF_A_CALL = {"External id", "cbid", "correlation"}
FIELDS_OF_A_COPY = {
    "External id",
    "bytes",
    "context",
    "correlation",
    "device",
    "memory bandwidth (GB/s)",
    "stream",
}
DEVICE_PROPERTIES = {
    *("id", "name", "totalGlobalMem", "computeMajor", "computeMinor", "maxThreadsPerBlock", "regsPerBlock", "warpSize"),
    *("maxThreadsPerMultiprocessor", "sharedMemPerBlock", "numSms", "regsPerMultiprocessor", "sharedMemPerBlockOptin"),
    "sharedMemPerMultiprocessor",
}


def program(x: torch.Tensor, stream: torch.cuda.Stream, event: torch.cuda.Event) -> None:
    (x @ x).relu()
    event.record()
    with torch.cuda.stream(stream):
        event.wait()
        z = x + 1
        torch.ones(100).pin_memory().cuda(non_blocking=True)
    stream.synchronize()
    z.sum().item()
    torch.cuda.synchronize()


def profiled(**options: Any) -> profile:
    x = torch.ones(64, 64, device="cuda")
    with profile(**{"activities": BOTH, **options}) as prof:
        program(x, torch.cuda.Stream(), torch.cuda.Event())
    return prof


def exported(prof: profile, folder: Path, name: str = "trace.json") -> dict[str, Any]:
    path = folder / name
    prof.export_chrome_trace(str(path))
    assert os.listdir(folder) == [name]
    text = gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes()
    trace: dict[str, Any] = json.loads(text)
    return trace


@pytest.fixture(scope="module", autouse=True)
def _view_of_cuda() -> Iterator[None]:
    torchada.set_view(PACKAGE, "cuda")
    yield
    torchada.set_view(PACKAGE, None)


@pytest.fixture(scope="module")
def prof(_view_of_cuda: None) -> profile:
    return profiled()


@pytest.fixture(scope="module")
def trace(prof: profile, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return exported(prof, tmp_path_factory.mktemp("trace"))


def of_category(trace: dict[str, Any], *categories: str) -> list[dict[str, Any]]:
    return [event for event in trace["traceEvents"] if event.get("cat") in categories]


def test_calls_of_the_runtime_have_cudas_names_and_category(trace: dict[str, Any]) -> None:
    calls = of_category(trace, "cuda_runtime")
    assert {call["name"] for call in calls} >= RUNTIME
    assert not of_category(trace, "privateuse1_runtime")
    fields = [call["args"].keys() for call in calls]
    assert all({"cbid", "correlation"} <= named <= FIELDS_OF_A_CALL for named in fields)
    assert {(call["pid"], call["tid"]) for call in calls} == {(os.getpid(), threading.get_native_id())}


def test_copies_say_where_host_memory_lies_and_how_much_is_copied(trace: dict[str, Any]) -> None:
    copies = {copy["name"]: copy["args"] for copy in of_category(trace, "gpu_memcpy")}
    assert copies.keys() == COPIES
    assert all(fields.keys() == FIELDS_OF_A_COPY for fields in copies.values())
    assert {name: fields["bytes"] for name, fields in copies.items()} == {
        "Memcpy DtoH (Device -> Pinned)": 4,
        "Memcpy HtoD (Pinned -> Device)": 400,
    }


def test_memory_that_is_not_pinned_is_pageable(tmp_path: Path) -> None:
    with profile(activities=BOTH) as prof:
        torch.ones(8).cuda().cpu()
    names = [copy["name"] for copy in of_category(exported(prof, tmp_path), "gpu_memcpy")]
    assert names == ["Memcpy HtoD (Pageable -> Device)", "Memcpy DtoH (Device -> Pageable)"]


def test_each_piece_of_work_follows_the_call_that_started_it(trace: dict[str, Any]) -> None:
    calls = {call["args"]["correlation"]: call for call in of_category(trace, "cuda_runtime")}
    work = of_category(trace, "kernel", "gpu_memcpy")
    assert len(work) == 6  # mm, relu, add, sum, two copies
    for piece in work:
        call = calls[piece["args"]["correlation"]]
        assert call["name"] == ("cudaMemcpyAsync" if piece["cat"] == "gpu_memcpy" else "cudaLaunchKernel")
        assert call["args"]["External id"] == piece["args"]["External id"]
        assert call["ts"] + call["dur"] <= piece["ts"] + 0.001


def test_arrows_lead_from_calls_to_the_work(trace: dict[str, Any]) -> None:
    arrows = of_category(trace, "ac2g")
    assert {arrow["name"] for arrow in arrows} == {"ac2g"}
    kept = 1 << 30  # the Kineto of torch 2.7.1 keeps thirty bits of an arrow's number
    ends = {phase: sorted(arrow["id"] % kept for arrow in arrows if arrow["ph"] == phase) for phase in "sf"}
    work = [piece["args"]["correlation"] % kept for piece in of_category(trace, "kernel", "gpu_memcpy")]
    assert ends["s"] == ends["f"] == sorted(work)


def test_the_timeline_names_devices_and_streams(trace: dict[str, Any]) -> None:
    assert [device.keys() for device in trace["deviceProperties"]] == [DEVICE_PROPERTIES] * torch.cuda.device_count()
    named = {(event["pid"], event["name"]) for event in trace["traceEvents"] if event["ph"] == "M"}
    labels = [event["args"] for event in trace["traceEvents"] if event["name"] == "process_labels"]
    assert (0, "process_name") in named and (0, "thread_name") in named and {"labels": "GPU 0"} in labels


def test_averages_have_rows_of_calls_without_the_devices_time(prof: profile) -> None:
    averages = prof.key_averages()
    rows = {event.key: event for event in averages}
    launches = rows["cudaLaunchKernel"]
    assert launches.count == 4 and launches.cpu_time_total > 0 and launches.device_time_total == 0
    assert launches.device_type == DeviceType.CPU
    work = [event for event in prof.events() if event.device_type == DeviceType.CUDA]
    total = sum(event.self_device_time_total for event in averages if event.device_type == DeviceType.CPU)
    assert total == pytest.approx(sum(event.time_range.elapsed_us() for event in work))


def test_tables_name_calls_and_the_device(prof: profile) -> None:
    averages = prof.key_averages()
    for table in (averages.table(), str(averages)):
        assert "Self CUDA" in table and "MUSA" not in table
        assert " cudaLaunchKernel  " in table and "cudaEventRecordWithFlags  " in table and "musaLaunch" not in table


def test_code_that_knows_the_backend_reads_its_names(tmp_path: Path) -> None:
    prof = profiled()  # a timeline can be exported once
    torchada.set_view(PACKAGE, "musa")
    try:
        names = {event.name for event in prof.events()} | {event.key for event in prof.key_averages()}
        trace = exported(prof, tmp_path)
    finally:
        torchada.set_view(PACKAGE, "cuda")
    assert "musaLaunchKernel" in names and "cudaLaunchKernel" not in names
    assert of_category(trace, "privateuse1_runtime") and not of_category(trace, "cuda_runtime")


def test_activity_cuda_alone_has_calls_and_work(tmp_path: Path) -> None:
    prof = profiled(activities=[ProfilerActivity.CUDA])
    counts = Counter(event["cat"] for event in exported(prof, tmp_path)["traceEvents"] if "cat" in event)
    assert counts["kernel"] == 4 and counts["gpu_memcpy"] == 2 and counts["cuda_runtime"] > 6 and counts["cpu_op"] == 0
    assert {event.name for event in prof.events() if event.device_type == DeviceType.CPU} >= RUNTIME


def test_a_record_function_lies_over_its_work_on_the_device(tmp_path: Path) -> None:
    x = torch.ones(8, 8, device="cuda")
    with profile(activities=BOTH) as prof:
        with record_function("mine"):
            x @ x
            x + x
        x * x
    trace = exported(prof, tmp_path)
    (mine,) = of_category(trace, "gpu_user_annotation")
    first, second, outside = sorted(of_category(trace, "kernel"), key=lambda kernel: kernel["ts"])
    assert mine["name"] == "mine" and (mine["pid"], mine["tid"]) == (first["pid"], first["tid"])
    assert mine["ts"] <= first["ts"] and mine["ts"] + mine["dur"] < outside["ts"]
    assert mine["ts"] + mine["dur"] >= second["ts"] + second["dur"] - 0.001


def test_replayed_kernels_belong_to_the_launch_of_their_graph(tmp_path: Path) -> None:
    x = torch.ones(8, 8, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        (x @ x).relu()
    with profile(activities=BOTH) as prof:
        graph.replay()
    trace = exported(prof, tmp_path)
    (launch,) = [call for call in of_category(trace, "cuda_runtime") if call["name"] == "cudaGraphLaunch"]
    assert [kernel["args"]["correlation"] for kernel in of_category(trace, "kernel")] == [
        launch["args"]["correlation"]
    ] * 2
    assert not [call for call in of_category(trace, "cuda_runtime") if call["name"] == "cudaLaunchKernel"]


def test_compressed_and_scheduled_timelines(tmp_path: Path) -> None:
    folder, handled = tmp_path / "one", tmp_path / "handled"
    folder.mkdir()
    assert of_category(exported(profiled(), folder, "trace.json.gz"), "cuda_runtime")
    x = torch.ones(8, 8, device="cuda")
    steps = schedule(wait=1, warmup=1, active=2, repeat=1)
    with profile(activities=BOTH, schedule=steps, on_trace_ready=tensorboard_trace_handler(str(handled))) as prof:
        for _ in range(5):
            x @ x
            prof.step()
    (path,) = handled.glob("*.json")
    launches = [call for call in of_category(json.loads(path.read_text()), "cuda_runtime") if "Launch" in call["name"]]
    assert len(launches) == 2


def test_kinds_of_records_are_asked_for_by_cudas_names(tmp_path: Path) -> None:
    if not hasattr(torch.profiler.profiler, "_parse_activities"):
        pytest.skip("this torch has no filters of activities")
    prof = profiled(activities=[ProfilerActivity.CPU, {ProfilerActivity.CUDA: ["CUDA_RUNTIME"]}])
    trace = exported(prof, tmp_path)
    assert of_category(trace, "cuda_runtime") and not of_category(trace, "kernel", "gpu_memcpy")
