"""Copies between host and device, and memory."""

from __future__ import annotations

import copy
import gc
import pickle

import torch

from torch_battery.check import expect
from torch_battery.inputs import Inputs
from torch_battery.table import Program

GROUP = "memory"
_TYPES = (
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
    torch.uint8, torch.bool, torch.complex64,
)  # fmt: skip


def _there_and_back() -> None:
    for dtype in _TYPES:
        host = torch.arange(24).reshape(4, 6).to(dtype)
        for shaped in (host, host.t(), host[::2, 1:], host[:0]):
            back = shaped.cuda().cpu()
            expect(torch.equal(back, shaped), f"a copy of {dtype} with strides {shaped.stride()} has lost data")


def _pinned() -> None:
    host = torch.arange(1 << 16).float().pin_memory()
    own = host.to("cuda", non_blocking=True)
    torch.cuda.synchronize()
    expect(torch.equal(own.cpu(), host), "a copy from pinned memory has lost data")
    back = torch.empty(1 << 16).pin_memory()
    back.copy_(own, non_blocking=True)
    torch.cuda.synchronize()
    expect(torch.equal(back, host), "a copy to pinned memory has lost data")


def _copy_between_types() -> None:
    host = Inputs(torch.float32, "copy")(6, 7)
    own = torch.empty(7, 6, dtype=torch.float16, device="cuda").t()
    own.copy_(host)
    expect(torch.equal(own.cpu(), host.half()), "copy_ to another type and other strides has lost data")


def _between_devices() -> None:
    host = Inputs(torch.float32, "devices")(50, 7)
    second = host.to("cuda:0").to("cuda:1")
    expect(second.device == torch.device("cuda:1"), f"a copy to cuda:1 is on {second.device}")
    expect(torch.equal(second.cpu(), host), "a copy between devices has lost data")
    with torch.cuda.device(1):
        expect(torch.zeros(1, device="cuda").device.index == 1, "with torch.cuda.device(1) does not switch")
    expect(torch.cuda.current_device() == 0, "torch.cuda.device(1) does not switch back")


def _copied() -> None:
    own = Inputs(torch.float32, "copied")(9).cuda()
    for how, again in (("pickle", pickle.loads(pickle.dumps(own))), ("copy.deepcopy", copy.deepcopy(own))):
        expect(again.is_cuda and torch.equal(again, own), f"{how} does not keep a tensor and its device")


def _figures() -> None:
    gc.collect()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    x = torch.empty(1 << 22, dtype=torch.uint8, device="cuda")
    expect(torch.cuda.memory_allocated() - before >= 1 << 22, "memory_allocated() does not count a tensor of 4 MiB")
    del x
    expect(torch.cuda.memory_allocated() == before, "memory_allocated() counts a tensor that is gone")
    expect(torch.cuda.max_memory_allocated() - before >= 1 << 22, "max_memory_allocated() has missed a tensor")
    free, total = torch.cuda.mem_get_info()
    expect(0 < free <= total, f"mem_get_info() is {(free, total)}")
    torch.cuda.empty_cache()


def _too_much() -> None:
    total = torch.cuda.mem_get_info()[1]
    try:
        torch.empty(4 * total, dtype=torch.uint8, device="cuda")
    except torch.cuda.OutOfMemoryError:
        expect(torch.ones(3, device="cuda").sum().item() == 3, "nothing can be computed after OutOfMemoryError")
        return
    expect(False, f"a tensor of {4 * total} bytes was made on a device with {total}")


def _bad_index() -> None:
    try:
        torch.zeros(1, device=f"cuda:{torch.cuda.device_count()}")
    except RuntimeError:
        return
    expect(False, f"a tensor was made on cuda:{torch.cuda.device_count()}, which is not there")


def _mixed() -> None:
    try:
        torch.ones(3, device="cuda") + torch.ones(3)
    except RuntimeError:
        return
    expect(False, "a sum of a tensor on the device and one on the CPU was accepted")


TABLE = [
    Program("copies", _there_and_back, "quick"),
    Program("pinned", _pinned),
    Program("copy_between_types", _copy_between_types),
    Program("between_devices", _between_devices, devices=2),
    Program("pickle", _copied),
    Program("figures", _figures),
    Program("out_of_memory", _too_much),
    Program("unknown_device", _bad_index),
    Program("mixed_devices", _mixed),
]
