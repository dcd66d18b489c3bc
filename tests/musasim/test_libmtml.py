"""The simulated management library: what it says agrees with torch, and asking it changes nothing for the process."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from ctypes import POINTER, byref, c_uint, c_uint64, c_void_p, create_string_buffer

import pytest
import torch

pytestmark = pytest.mark.once
INVALID_ARGUMENT, NOT_SUPPORTED, INSUFFICIENT_SIZE, NOT_FOUND = 3, 4, 6, 7


class Library:
    """libmtml.so.2, opened as any program opens it: by its name."""

    def __init__(self) -> None:
        self.functions = ctypes.CDLL("libmtml.so.2")
        self.itself = c_void_p()
        self("mtmlLibraryInit", byref(self.itself))

    def __call__(self, name: str, *arguments: object) -> None:
        assert self.code(name, *arguments) == 0, name

    def code(self, name: str, *arguments: object) -> int:
        return int(getattr(self.functions, name)(*arguments))

    def device(self, index: int) -> c_void_p:
        device = c_void_p()
        self("mtmlLibraryInitDeviceByIndex", self.itself, index, byref(device))
        return device

    def part(self, kind: str, index: int) -> c_void_p:
        part = c_void_p()
        self(f"mtmlDeviceInit{kind}", self.device(index), byref(part))
        return part

    def text(self, name: str, index: int) -> str:
        buffer = create_string_buffer(64)
        self(name, self.device(index), buffer, 64)
        return buffer.value.decode()

    def figure(self, name: str, kind: str, index: int) -> int:
        value = c_uint64() if name.endswith(("Total", "Used")) else c_uint()
        self(name, self.part(kind, index), byref(value))
        return int(value.value)


@pytest.fixture
def mtml() -> Iterator[Library]:
    torch.zeros(1, device="musa")
    library = Library()
    yield library
    library("mtmlLibraryShutDown", library.itself)


def test_names_and_identities_are_those_of_torch(mtml: Library) -> None:
    for index in range(torch.musa.device_count()):
        properties = torch.musa.get_device_properties(index)
        assert mtml.text("mtmlDeviceGetName", index) == properties.name
        assert mtml.text("mtmlDeviceGetUUID", index) == f"00000000-0000-0000-0000-{index + 1:012x}"
        if hasattr(properties, "uuid"):
            assert mtml.text("mtmlDeviceGetUUID", index) == str(properties.uuid)


def test_clocks_are_those_of_torchs_properties(mtml: Library) -> None:
    properties = torch.cuda.get_device_properties(0)
    assert mtml.figure("mtmlGpuGetMaxClock", "Gpu", 0) * 1000 == properties.clock_rate
    assert mtml.figure("mtmlMemoryGetMaxClock", "Memory", 0) * 1000 == properties.memory_clock_rate
    assert mtml.figure("mtmlMemoryGetBusWidth", "Memory", 0) == properties.memory_bus_width


def test_memory_is_that_of_mem_get_info(mtml: Library) -> None:
    held = torch.empty(300 << 20, dtype=torch.uint8, device="musa:1")
    free, total = torch.musa.mem_get_info(1)
    assert mtml.figure("mtmlMemoryGetTotal", "Memory", 1) == total == torch.musa.get_device_properties(1).total_memory
    assert mtml.figure("mtmlMemoryGetUsed", "Memory", 1) == total - free >= held.nbytes
    assert mtml.figure("mtmlMemoryGetUtilization", "Memory", 1) == round(100 * (total - free) / total)


def test_a_device_is_busy_until_its_work_is_done(mtml: Library) -> None:
    torch.musa.synchronize(0)
    assert mtml.figure("mtmlGpuGetUtilization", "Gpu", 0) == 0
    stream = torch.musa.Stream(0)
    with torch.musa.stream(stream):
        torch.musa._sleep(20_000_000_000)
    assert mtml.figure("mtmlGpuGetUtilization", "Gpu", 0) == 100
    assert mtml.figure("mtmlGpuGetUtilization", "Gpu", 1) == 0


def test_two_devices_are_one_bridge_apart(mtml: Library) -> None:
    level, count, near = c_uint(), c_uint(), (c_void_p * 2)()
    one, other = mtml.device(0), mtml.device(1)
    mtml("mtmlDeviceGetTopologyLevel", one, one, byref(level))
    assert level.value == 0
    mtml("mtmlDeviceGetTopologyLevel", one, other, byref(level))
    assert level.value == 1
    mtml("mtmlDeviceCountDeviceByTopologyLevel", one, 1, byref(count))
    mtml("mtmlDeviceGetDeviceByTopologyLevel", one, 1, count.value, near)
    assert count.value == torch.musa.device_count() - 1 and near[0] == other.value
    assert mtml.code("mtmlDeviceGetDeviceByTopologyLevel", one, 1, 0, near) == INSUFFICIENT_SIZE


@pytest.mark.parametrize("name", ["mtmlDeviceGetPowerUsage", "mtmlDeviceGetSerialNumber", "mtmlDeviceGetMtLinkSpec"])
def test_what_a_simulated_device_lacks_is_not_supported(mtml: Library, name: str) -> None:
    assert mtml.code(name, mtml.device(0), byref(c_uint())) == NOT_SUPPORTED


def test_wrong_arguments_are_refused(mtml: Library) -> None:
    device, buffer = c_void_p(), create_string_buffer(8)
    assert mtml.code("mtmlLibraryInitDeviceByIndex", mtml.itself, 99, byref(device)) == NOT_FOUND
    assert mtml.code("mtmlLibraryInitDeviceByUuid", mtml.itself, b"nobody", byref(device)) == NOT_FOUND
    assert mtml.code("mtmlLibraryInitDeviceByIndex", None, 0, byref(device)) == INVALID_ARGUMENT
    assert mtml.code("mtmlDeviceGetName", None, buffer, 8) == INVALID_ARGUMENT
    assert mtml.code("mtmlDeviceGetName", mtml.device(0), buffer, 8) == INSUFFICIENT_SIZE
    assert (
        mtml.code("mtmlGpuGetUtilization", mtml.device(0), byref(c_uint())) == INVALID_ARGUMENT
    )  # not a handle of that kind
    assert mtml.code("mtmlLibraryCountDevice", mtml.itself, POINTER(c_uint)()) == INVALID_ARGUMENT


def test_hidden_devices_are_counted_and_devices_may_still_be_hidden_afterwards() -> None:
    code = """
        import ctypes, json, os
        from ctypes import byref, c_uint, c_uint64, c_void_p
        from musasim import management
        management.load()
        mtml, library, memory, device = ctypes.CDLL("libmtml.so.2"), c_void_p(), c_void_p(), c_void_p()
        count, before, after = c_uint(), c_uint64(), c_uint64()
        mtml.mtmlLibraryInit(byref(library))
        mtml.mtmlLibraryCountDevice(library, byref(count))
        mtml.mtmlLibraryInitDeviceByIndex(library, 2, byref(device))
        mtml.mtmlDeviceInitMemory(device, byref(memory))
        mtml.mtmlMemoryGetUsed(memory, byref(before))
        os.environ["MUSA_VISIBLE_DEVICES"] = "2"
        import musasim, torch
        musasim.install()
        import torch_musa
        held = torch.empty(1 << 30, dtype=torch.uint8, device="musa")
        mtml.mtmlMemoryGetUsed(memory, byref(after))
        print(json.dumps([count.value, torch.musa.device_count(), (after.value - before.value) >> 20]))
    """
    env = {**os.environ, "MUSASIM_DEVICE_COUNT": "3", "MUSA_VISIBLE_DEVICES": "0,1", "TORCHADA_DISABLE": "1"}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [3, 1, 1024]
