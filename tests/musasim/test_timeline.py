"""The timeline of the simulated device, as torch_musa's Kineto (MooreThreads/kineto) writes it from MUPTI's records."""

# ruff: noqa: E402

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from typing import Any

import pytest

import musasim

musasim.install()

import torch
import torch_musa  # noqa: F401
from torch.profiler import ProfilerActivity, profile

from musasim.base import release
from support.device_code import compile_kernels

pytestmark = pytest.mark.once

BOTH = [ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]
# The releases for 2.7.1 and for 2.9.1 name them so.
MEMCPY = release.of({"2.7.1": "Memcpy", "2.9.1": "Memcpy1"})


def trace_of(prof: profile, folder: Path) -> list[dict[str, Any]]:
    path = folder / "trace.json"
    prof.export_chrome_trace(str(path))
    events: list[dict[str, Any]] = json.loads(path.read_text())["traceEvents"]
    return events


def calls_of(events: list[dict[str, Any]]) -> dict[str, Any]:
    return {event["name"]: event["args"] for event in events if event.get("cat") == "privateuse1_runtime"}


def test_calls_have_the_names_and_numbers_of_mupti(tmp_path: Path) -> None:
    event, stream = torch.musa.Event(), torch.musa.Stream()
    torch.musa.empty_cache()
    with profile(activities=BOTH) as prof:
        kept = torch.empty(2**22, device="musa")
        event.record()
        stream.wait_event(event)
        event.query()
        event.synchronize()
        stream.query()
        stream.synchronize()
        kept.exp()
        kept[:1].cpu()
        torch.ones(2**20 + 1).pin_memory()
        torch.musa.synchronize()
        del kept
        torch.musa.empty_cache()
    numbers = {name: fields["cbid"] for name, fields in calls_of(trace_of(prof, tmp_path)).items()}
    assert numbers.pop("musaPointerGetAttributes", 151) == 151  # only once memory of the host may be pinned
    assert numbers.pop("musaHostAlloc", 27) == 27  # unless another test has left pinned memory of that size
    assert numbers == {
        "musaMalloc": 20,
        "musaFree": 22,
        "musaMemcpyAsync": 41,
        "musaStreamSynchronize": 131,
        "musaStreamQuery": 132,
        "musaEventRecord": 135,
        "musaEventSynchronize": 137,
        "musaEventQuery": 138,
        "musaStreamWaitEvent": 147,
        "musaDeviceSynchronize": 165,
        "musaLaunchKernel": 211,
    }


def test_copies_are_named_as_the_release_names_them(tmp_path: Path) -> None:
    with profile(activities=BOTH) as prof:
        torch.ones(8).to("musa").to("musa:1").cpu()
    copies = [event["name"] for event in trace_of(prof, tmp_path) if event.get("cat") == "gpu_memcpy"]
    assert copies == [
        f"{MEMCPY} HtoD (Pageable -> Device)",
        f"{MEMCPY} DtoD (Device -> Device)",
        f"{MEMCPY} DtoH (Device -> Pageable)",
    ]


def test_a_capture_launches_and_runs_nothing(tmp_path: Path) -> None:
    x, graph = torch.ones(4, device="musa"), torch.musa.MUSAGraph()
    with profile(activities=BOTH) as prof, torch.musa.graph(graph):
        x.exp()
    events = trace_of(prof, tmp_path)
    assert "musaLaunchKernel" in calls_of(events) and not [event for event in events if event.get("cat") == "kernel"]


def test_no_call_has_the_number_of_an_operator(tmp_path: Path) -> None:
    """PyTorch would add the operator's time on the device to the call as well."""
    x = torch.ones(4, device="musa")
    with profile(activities=BOTH) as prof:
        for _ in range(200):
            x.exp()
        torch.musa.synchronize()
    operators = {event.id for event in prof.events() if event.name.startswith("aten::")}
    calls = {event.id for event in prof.events() if event.name.startswith("musa")}
    assert len(calls) >= 201 and not operators & calls
    assert all(event.device_time_total == 0 for event in prof.key_averages() if event.key.startswith("musaDevice"))


@pytest.mark.full
def test_a_kernel_of_cuda_cpp_has_its_own_name_grid_and_block(tmp_path: Path) -> None:
    library = ctypes.CDLL(str(compile_kernels("memcheck.mu", tmp_path)))
    x = (ctypes.c_float * 64)(*range(64))
    with profile(activities=BOTH) as prof:
        library.run_ordered(x, x, ctypes.c_long(0))
    events = trace_of(prof, tmp_path)
    (kernel,) = (event for event in events if event.get("cat") == "kernel")
    fields = kernel["args"]
    assert kernel["name"] == "ordered" and (fields["grid"], fields["block"]) == ([1, 1, 1], [64, 1, 1])
    assert fields["shared memory"] == 264 and fields["warps per SM"] == pytest.approx(2 / 56, rel=1e-3)
    assert calls_of(events)["musaLaunchKernel"]["correlation"] == fields["correlation"]
