"""libmusart.so: the MUSA runtime API, for the devices, memory and streams of torch.musa."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from musasim import build

pytestmark = pytest.mark.once

INVALID_VALUE, OUT_OF_MEMORY, NOT_INITIALIZED, BAD_DIRECTION, NO_DEVICE, BAD_DEVICE = 1, 2, 3, 21, 100, 101
BAD_CONTEXT, BAD_HANDLE, NOT_READY, PEER_ENABLED, PEER_NOT_ENABLED = 201, 400, 600, 704, 705
REGISTERED, NOT_REGISTERED, NOT_SUPPORTED, CAPTURING, CAPTURED_EVENT = 712, 713, 801, 900, 907
WOULD_CAPTURE_THE_DEFAULT_STREAM = 906
TO_DEVICE, TO_HOST, ON_DEVICE, DEFAULT = 1, 2, 3, 4
LIBRARY = "libmusart.so"
Pointer = ctypes.c_void_p


class Attributes(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_int),
        ("device", ctypes.c_int),
        ("devicePointer", Pointer),
        ("hostPointer", Pointer),
    ]


class IpcHandle(ctypes.Structure):
    _fields_ = [("reserved", ctypes.c_byte * 64)]


@pytest.fixture
def musart(torch_musa: Any) -> Iterator[Any]:
    """The library, loaded by its name as in a program that uses torch_musa. The current device is restored afterwards."""
    library = ctypes.CDLL(LIBRARY)
    library.musaGetErrorString.restype = library.musaGetErrorName.restype = ctypes.c_char_p
    for name in ("musaFree", "musaFreeHost", "musaStreamDestroy", "musaStreamQuery", "musaStreamSynchronize"):
        getattr(library, name).argtypes = [Pointer]
    for name in ("musaMemcpy", "musaMemcpyAsync"):
        getattr(library, name).argtypes = [Pointer, Pointer, ctypes.c_size_t, ctypes.c_int, Pointer][
            : 5 if "Async" in name else 4
        ]
    library.musaMemset.argtypes = [Pointer, ctypes.c_int, ctypes.c_size_t]
    library.musaMalloc.argtypes = [Pointer, ctypes.c_size_t]
    yield library
    torch.musa.set_device(0)
    library.musaGetLastError()


@pytest.fixture
def memory(musart: Any) -> Iterator[Callable[[int], int]]:
    """musaMalloc, whose memory is freed at the end."""
    taken: list[int] = []

    def allocate(size: int) -> int:
        pointer = Pointer()
        assert musart.musaMalloc(ctypes.byref(pointer), size) == 0 and pointer.value
        taken.append(pointer.value)
        return pointer.value

    yield allocate
    for pointer in taken:
        musart.musaFree(pointer)


def integer(function: Any, *arguments: Any) -> int:
    """The int that a function writes to its first argument."""
    result = ctypes.c_int(-1)
    assert function(ctypes.byref(result), *arguments) == 0
    return result.value


def handle_of(function: Any, *arguments: Any) -> int:
    result = Pointer()
    assert function(ctypes.byref(result), *arguments) == 0 and result.value
    return result.value


class TestDevices:
    def test_the_devices_are_those_of_torch(self, musart: Any) -> None:
        assert integer(musart.musaGetDeviceCount) == torch.musa.device_count()
        assert musart.musaSetDevice(1) == 0 and torch.musa.current_device() == 1
        torch.musa.set_device(0)
        assert integer(musart.musaGetDevice) == 0

    def test_an_index_out_of_range_is_refused(self, musart: Any) -> None:
        assert musart.musaSetDevice(99) == BAD_DEVICE and musart.musaSetDevice(-1) == BAD_DEVICE
        assert integer(musart.musaGetDevice) == 0

    def test_attributes(self, musart: Any) -> None:
        properties = torch.musa.get_device_properties(0)
        asked = [integer(musart.musaDeviceGetAttribute, number, 0) for number in (75, 76, 16)]
        assert asked == [properties.major, properties.minor, properties.multi_processor_count]
        value = ctypes.c_int()
        assert musart.musaDeviceGetAttribute(ctypes.byref(value), 9999, 0) == INVALID_VALUE
        assert musart.musaDeviceGetAttribute(ctypes.byref(value), 75, 7) == BAD_DEVICE

    def test_bus_ids_lead_back(self, musart: Any) -> None:
        text = ctypes.create_string_buffer(16)
        assert musart.musaDeviceGetPCIBusId(text, 16, 1) == 0
        assert integer(musart.musaDeviceGetByPCIBusId, text) == 1
        assert musart.musaDeviceGetPCIBusId(text, 4, 1) == INVALID_VALUE

    def test_peers(self, musart: Any) -> None:
        assert integer(musart.musaDeviceCanAccessPeer, 0, 1) == 1
        assert integer(musart.musaDeviceCanAccessPeer, 0, 0) == 0
        assert musart.musaDeviceEnablePeerAccess(1, 0) == 0
        assert musart.musaDeviceEnablePeerAccess(1, 0) == PEER_ENABLED
        assert musart.musaDeviceDisablePeerAccess(1) == 0
        assert musart.musaDeviceDisablePeerAccess(1) == PEER_NOT_ENABLED
        assert musart.musaDeviceEnablePeerAccess(0, 0) == BAD_DEVICE

    def test_links_between_devices(self, musart: Any) -> None:
        rank, *able = (integer(musart.musaDeviceGetP2PAttribute, attribute, 0, 1) for attribute in (1, 2, 3, 4))
        assert rank == 0 and able == [1, 1, 1]
        value = ctypes.c_int()
        for attribute, peer, code in (
            (0, 1, INVALID_VALUE),
            (5, 1, INVALID_VALUE),
            (2, 0, BAD_DEVICE),
            (2, 7, BAD_DEVICE),
        ):
            assert musart.musaDeviceGetP2PAttribute(ctypes.byref(value), attribute, 0, peer) == code
        assert musart.musaDeviceGetP2PAttribute(None, 2, 0, 1) == INVALID_VALUE

    def test_versions(self, musart: Any) -> None:
        assert str(integer(musart.musaRuntimeGetVersion)) == torch.version.musa
        assert integer(musart.musaDriverGetVersion) >= integer(musart.musaRuntimeGetVersion)

    def test_no_visible_device_is_an_error(self) -> None:
        assert standalone("print(lib.musaSetDevice(0), lib.musaGetLastError())", MUSASIM_DEVICE_COUNT="0") == "100 100"

    def test_profiler_calls_succeed(self, musart: Any) -> None:
        assert musart.musaProfilerStart() == 0 and musart.musaProfilerStop() == 0


class TestErrors:
    def test_the_last_error_is_kept_until_it_is_read(self, musart: Any) -> None:
        assert musart.musaSetDevice(99) == BAD_DEVICE
        assert musart.musaGetDevice(ctypes.byref(ctypes.c_int())) == 0
        assert musart.musaPeekAtLastError() == BAD_DEVICE
        assert musart.musaGetLastError() == BAD_DEVICE and musart.musaGetLastError() == 0

    def test_texts_and_names(self, musart: Any) -> None:
        assert musart.musaGetErrorString(0) == b"no error" and musart.musaGetErrorName(0) == b"musaSuccess"
        assert musart.musaGetErrorString(2) == b"out of memory"
        assert musart.musaGetErrorName(600) == b"musaErrorNotReady"
        assert musart.musaGetErrorString(123456) == b"unrecognized error code"
        assert torch.musa.musart().musaGetErrorString(101) == "invalid device ordinal"


class TestMemory:
    def test_memory_counts_with_that_of_torch(self, musart: Any, memory: Callable[[int], int]) -> None:
        before, total = torch.musa.mem_get_info()
        other = torch.musa.mem_get_info(1)
        memory(64 << 20)
        assert torch.musa.mem_get_info() == (before - (64 << 20), total)
        free, capacity = ctypes.c_size_t(), ctypes.c_size_t()
        assert musart.musaMemGetInfo(ctypes.byref(free), ctypes.byref(capacity)) == 0
        assert (free.value, capacity.value) == torch.musa.mem_get_info()
        assert torch.musa.mem_get_info(1) == other

    def test_freed_memory_is_free(self, musart: Any) -> None:
        before = torch.musa.mem_get_info()
        pointer = handle_of(musart.musaMalloc, 5000)
        assert musart.musaFree(pointer) == 0
        assert torch.musa.mem_get_info() == before
        assert musart.musaFree(pointer) == INVALID_VALUE

    def test_a_request_for_too_much_memory_is_refused(self, musart: Any) -> None:
        assert musart.musaMalloc(ctypes.byref(Pointer()), 1 << 50) == OUT_OF_MEMORY
        assert musart.musaGetErrorString(musart.musaGetLastError()) == b"out of memory"

    def test_memory_that_a_program_allocates_is_not_available_to_torch(self) -> None:
        done = in_torch(
            """
            pointer = ctypes.c_void_p()
            assert lib.musaMalloc(ctypes.byref(pointer), ctypes.c_size_t(200 << 20)) == 0
            try:
                torch.empty(100 << 20, dtype=torch.uint8, device="musa")
            except torch.OutOfMemoryError as error:
                print("of which 55.00 MiB is free" in str(error))
            lib.musaFree(pointer)
            print(torch.empty(100 << 20, dtype=torch.uint8, device="musa").numel() >> 20)
            """,
            MUSASIM_MEMORY_BYTES=str(256 << 20),
        )
        assert done.split() == ["True", "100"]

    def test_unknown_pointers_are_not_freed(self, musart: Any, memory: Callable[[int], int]) -> None:
        tensor = torch.zeros(16, device="musa")
        host = ctypes.create_string_buffer(8)
        for pointer in (ctypes.addressof(host), memory(16) + 8, tensor.data_ptr()):
            assert musart.musaFree(pointer) == INVALID_VALUE
        assert musart.musaFree(None) == 0 and musart.musaFreeHost(ctypes.addressof(host)) == INVALID_VALUE

    def test_an_allocation_of_zero_bytes_gives_a_null_pointer(self, musart: Any) -> None:
        pointer = Pointer(1)
        assert musart.musaMalloc(ctypes.byref(pointer), 0) == 0 and pointer.value is None
        assert musart.musaMalloc(None, 8) == INVALID_VALUE

    def test_attributes_of_a_pointer(self, musart: Any, memory: Callable[[int], int]) -> None:
        found = Attributes()
        musart.musaSetDevice(1)
        inside = memory(64) + 10
        musart.musaSetDevice(0)
        assert musart.musaPointerGetAttributes(ctypes.byref(found), Pointer(inside)) == 0
        assert (found.type, found.device, found.devicePointer) == (2, 1, inside)
        tensor = torch.zeros(4, device="musa")
        musart.musaPointerGetAttributes(ctypes.byref(found), Pointer(tensor.data_ptr()))
        assert (found.type, found.device) == (2, 0)
        pinned = torch.zeros(4).pin_memory("musa")
        musart.musaPointerGetAttributes(ctypes.byref(found), Pointer(pinned.data_ptr()))
        assert found.type == 1
        host = torch.zeros(4)
        musart.musaPointerGetAttributes(ctypes.byref(found), Pointer(host.data_ptr()))
        assert (found.type, found.device) == (0, -2)

    def test_reset_frees_what_the_program_took_and_leaves_tensors(self, musart: Any) -> None:
        tensor = torch.ones(8, device="musa")
        assert musart.musaDeviceReset() == 0  # what earlier tests took and kept
        before = torch.musa.mem_get_info()
        pointer = handle_of(musart.musaMalloc, 1 << 20)
        assert torch.musa.mem_get_info() != before
        assert musart.musaDeviceReset() == 0
        assert torch.musa.mem_get_info() == before and tensor.sum().item() == 8
        assert musart.musaFree(pointer) == INVALID_VALUE

    def test_pinned_memory(self, musart: Any) -> None:
        pointer = handle_of(musart.musaHostAlloc, ctypes.c_size_t(4096), 0)
        torch.zeros(1).pin_memory("musa")
        on_it = torch.frombuffer((ctypes.c_byte * 4096).from_address(pointer), dtype=torch.uint8)
        assert on_it.is_pinned("musa")
        assert musart.musaHostUnregister(Pointer(pointer)) == NOT_REGISTERED
        del on_it
        assert musart.musaFreeHost(pointer) == 0 and musart.musaFreeHost(pointer) == INVALID_VALUE

    def test_registering_pages(self, musart: Any) -> None:
        torch.zeros(1).pin_memory("musa")  # before this, torch does not ask any backend whether memory is pinned
        host = torch.zeros(8192, dtype=torch.uint8)
        pages = (Pointer(host.data_ptr()), ctypes.c_size_t(8192))
        assert musart.musaHostRegister(*pages, 0) == 0 and host.is_pinned("musa")
        assert musart.musaHostRegister(Pointer(host.data_ptr() + 100), ctypes.c_size_t(8), 0) == REGISTERED
        assert musart.musaHostUnregister(pages[0]) == 0 and not host.is_pinned("musa")
        assert musart.musaHostUnregister(pages[0]) == NOT_REGISTERED


class TestCopies:
    def test_round_trip(self, musart: Any, memory: Callable[[int], int]) -> None:
        first, second, back = memory(64), memory(64), ctypes.create_string_buffer(64)
        assert musart.musaMemcpy(first, b"from the host\0", 14, TO_DEVICE) == 0
        assert musart.musaMemcpy(second, first, 14, ON_DEVICE) == 0
        assert musart.musaMemcpy(back, second, 14, TO_HOST) == 0
        assert back.value == b"from the host"
        assert musart.musaMemset(second, ord("x"), 4) == 0
        assert musart.musaMemcpy(back, second, 14, DEFAULT) == 0 and back.value == b"xxxx the host"

    def test_the_direction_of_a_copy_must_fit_its_pointers(self, musart: Any, memory: Callable[[int], int]) -> None:
        device, host = memory(64), ctypes.create_string_buffer(64)
        assert musart.musaMemcpy(device, host, 8, 9) == BAD_DIRECTION
        assert musart.musaMemcpy(device, host, 8, TO_HOST) == INVALID_VALUE
        assert musart.musaMemcpy(host, host, 8, TO_DEVICE) == INVALID_VALUE
        assert musart.musaMemcpy(device, None, 8, TO_DEVICE) == INVALID_VALUE
        assert musart.musaMemcpy(device, host, 0, TO_DEVICE) == 0

    def test_a_copy_beyond_an_allocation_is_refused(self, musart: Any, memory: Callable[[int], int]) -> None:
        device, host = memory(64), ctypes.create_string_buffer(128)
        assert musart.musaMemcpy(device, host, 64, TO_DEVICE) == 0
        assert musart.musaMemcpy(device, host, 65, TO_DEVICE) == INVALID_VALUE
        assert musart.musaMemcpy(device + 32, host, 33, TO_DEVICE) == INVALID_VALUE
        assert musart.musaMemset(device, 0, 65) == INVALID_VALUE
        assert musart.musaMemset(ctypes.addressof(host), 0, 8) == INVALID_VALUE

    def test_a_copy_into_a_tensor_is_visible_to_torch(self, musart: Any) -> None:
        tensor = torch.zeros(4, device="musa")
        values = (ctypes.c_float * 4)(1, 2, 3, 4)
        assert musart.musaMemcpy(tensor.data_ptr(), values, 16, TO_DEVICE) == 0
        assert tensor.tolist() == [1, 2, 3, 4]

    def test_between_devices(self, musart: Any) -> None:
        source, target = torch.arange(4, device="musa:0"), torch.zeros(4, dtype=torch.int64, device="musa:1")
        to, origin, size = Pointer(target.data_ptr()), Pointer(source.data_ptr()), ctypes.c_size_t(32)
        assert musart.musaMemcpyPeer(to, 1, origin, 0, size) == 0
        assert target.tolist() == [0, 1, 2, 3]
        assert musart.musaMemcpyPeer(to, 0, origin, 0, size) == INVALID_VALUE
        assert musart.musaMemcpyPeer(to, 5, origin, 0, size) == BAD_DEVICE


class TestStreamsAndEvents:
    def test_streams_of_torch_and_the_runtime_are_the_same(self, musart: Any) -> None:
        handle = handle_of(musart.musaStreamCreate)
        stream = torch.musa.ExternalStream(handle)
        assert musart.musaStreamQuery(handle) == 0
        with torch.musa.stream(stream):
            torch.musa._sleep(200_000_000)
        assert musart.musaStreamQuery(handle) == NOT_READY and not stream.query()
        assert musart.musaStreamSynchronize(handle) == 0 and stream.query()
        assert musart.musaStreamDestroy(handle) == 0
        assert musart.musaStreamQuery(handle) == BAD_HANDLE and musart.musaStreamDestroy(handle) == BAD_HANDLE

    def test_the_device_waits_for_every_stream(self, musart: Any) -> None:
        stream = torch.musa.Stream()
        with torch.musa.stream(stream):
            torch.musa._sleep(100_000_000)
        assert musart.musaStreamQuery(stream.musa_stream) == NOT_READY
        assert musart.musaDeviceSynchronize() == 0 and stream.query()

    def test_priorities_and_flags(self, musart: Any) -> None:
        handle = handle_of(musart.musaStreamCreateWithPriority, 1, -5)
        priority, flags = ctypes.c_int(), ctypes.c_uint()
        assert musart.musaStreamGetPriority(Pointer(handle), ctypes.byref(priority)) == 0 and priority.value == -1
        assert musart.musaStreamGetFlags(Pointer(handle), ctypes.byref(flags)) == 0 and flags.value == 1
        assert musart.musaStreamCreateWithFlags(ctypes.byref(Pointer()), 7) == INVALID_VALUE
        musart.musaStreamDestroy(handle)

    def test_events_measure_time(self, musart: Any) -> None:
        begin, end = Pointer(handle_of(musart.musaEventCreate)), Pointer(handle_of(musart.musaEventCreate))
        elapsed = ctypes.c_float()
        assert musart.musaEventElapsedTime(ctypes.byref(elapsed), begin, end) == BAD_HANDLE  # not recorded
        assert musart.musaEventRecord(begin, None) == 0
        torch.musa._sleep(50_000_000)
        assert musart.musaEventRecord(end, None) == 0
        assert musart.musaEventQuery(end) == NOT_READY
        assert musart.musaEventSynchronize(end) == 0 and musart.musaEventQuery(end) == 0
        assert musart.musaEventElapsedTime(ctypes.byref(elapsed), begin, end) == 0
        assert elapsed.value > 49  # the milliseconds that it has slept, on the device's own clock
        assert musart.musaEventDestroy(begin) == 0 and musart.musaEventDestroy(begin) == BAD_HANDLE
        musart.musaEventDestroy(end)

    def test_an_event_without_timing(self, musart: Any) -> None:
        event, elapsed = Pointer(handle_of(musart.musaEventCreateWithFlags, 2)), ctypes.c_float()
        assert musart.musaEventRecord(event, None) == 0
        assert musart.musaEventElapsedTime(ctypes.byref(elapsed), event, event) == BAD_HANDLE
        assert musart.musaEventCreateWithFlags(ctypes.byref(Pointer()), 4) == INVALID_VALUE  # interprocess with timing
        musart.musaEventDestroy(event)

    def test_a_stream_waits_for_an_event_of_torch(self, musart: Any) -> None:
        busy, handle = torch.musa.Stream(), handle_of(musart.musaStreamCreate)
        event = torch.musa.Event()
        with torch.musa.stream(busy):
            torch.musa._sleep(100_000_000)
            event.record()
        assert musart.musaStreamWaitEvent(Pointer(handle), Pointer(event.musa_event), 0) == 0
        assert musart.musaStreamQuery(handle) == NOT_READY
        assert musart.musaStreamSynchronize(handle) == 0 and event.query()
        musart.musaStreamDestroy(handle)


class TestCapture:
    def test_a_copy_becomes_part_of_the_graph(self, musart: Any, memory: Callable[[int], int]) -> None:
        source, target = memory(4), torch.zeros(1, dtype=torch.int32, device="musa")
        graph = torch.musa.MUSAGraph()
        with torch.musa.graph(graph):
            stream = torch.musa.current_stream().musa_stream
            assert musart.musaMemcpyAsync(target.data_ptr(), source, 4, ON_DEVICE, stream) == 0
        assert musart.musaMemcpy(source, b"\x07\0\0\0", 4, TO_DEVICE) == 0
        assert target.item() == 0
        graph.replay()
        assert target.item() == 7

    def test_an_external_event_becomes_part_of_the_graph(self, musart: Any) -> None:
        before, event = torch.musa.Event(enable_timing=True), Pointer(handle_of(musart.musaEventCreate))
        elapsed, graph = ctypes.c_float(), torch.musa.MUSAGraph()
        with torch.musa.graph(graph):
            stream = torch.musa.current_stream().musa_stream
            torch.musa._sleep(20_000_000)
            assert musart.musaEventRecordWithFlags(event, Pointer(stream), 1) == 0
            assert musart.musaStreamWaitEvent(Pointer(stream), event, 1) == 0
            assert musart.musaEventQuery(event) == 0  # it is not the capture's
        before.record()
        graph.replay()
        assert musart.musaEventSynchronize(event) == 0
        assert musart.musaEventElapsedTime(ctypes.byref(elapsed), Pointer(before.musa_event), event) == 0
        assert elapsed.value > 1
        musart.musaEventDestroy(event)
        graph.replay()

    @pytest.mark.parametrize("unsafe", ["musaDeviceSynchronize", "musaMalloc", "musaStreamSynchronize"])
    def test_an_unsafe_call_breaks_the_capture(self, musart: Any, unsafe: str) -> None:
        graph = torch.musa.graph(torch.musa.MUSAGraph())
        with pytest.raises(RuntimeError, match="due to a previous error during capture"), graph:  # noqa: PT012
            stream = torch.musa.current_stream().musa_stream
            arguments = {"musaMalloc": (ctypes.byref(Pointer()), 8), "musaStreamSynchronize": (stream,)}.get(unsafe, ())
            assert getattr(musart, unsafe)(*arguments) == CAPTURING

    def test_the_default_stream_cannot_wait_for_it(self, musart: Any) -> None:
        musart.musaStreamWaitEvent.argtypes = [Pointer, Pointer, ctypes.c_uint]
        graph = torch.musa.graph(torch.musa.MUSAGraph())
        with pytest.raises(RuntimeError, match="due to a previous error during capture"), graph:  # noqa: PT012
            event = torch.musa.current_stream().record_event()
            assert musart.musaStreamWaitEvent(None, event.musa_event, 0) == WOULD_CAPTURE_THE_DEFAULT_STREAM


class TestProcesses:
    def test_a_forked_child_is_refused(self) -> None:
        code = """
            count = ctypes.c_int()
            assert lib.musaGetDeviceCount(ctypes.byref(count)) == 0
            import os
            child = os.fork()
            if child == 0:
                os._exit(lib.musaGetDeviceCount(ctypes.byref(count)))
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
        assert standalone(code) == str(NOT_INITIALIZED)

    def test_memory_of_another_process(self, musart: Any, memory: Callable[[int], int]) -> None:
        pointer, handle = memory(10000), IpcHandle()
        musart.musaMemcpy(pointer, b"before\0", 7, TO_DEVICE)
        assert musart.musaIpcGetMemHandle(ctypes.byref(handle), Pointer(pointer)) == 0
        code = f"""
            class Handle(ctypes.Structure):
                _fields_ = [("reserved", ctypes.c_byte * 64)]
            pointers = ctypes.c_void_p(), ctypes.c_void_p()
            for pointer in pointers:
                assert lib.musaIpcOpenMemHandle(ctypes.byref(pointer), Handle.from_buffer_copy({bytes(handle)!r}), 1) == 0
            assert pointers[0].value == pointers[1].value
            text = ctypes.create_string_buffer(16)
            lib.musaMemcpy(text, pointer, ctypes.c_size_t(7), 2)
            assert lib.musaMemcpy(pointer, b"after", ctypes.c_size_t(6), 1) == 0
            assert lib.musaFree(pointer) == 1
            assert [lib.musaIpcCloseMemHandle(pointer) for _ in range(3)] == [0, 0, 1]
            print(text.value.decode())
        """
        assert standalone(code) == "before"
        assert ctypes.string_at(pointer) == b"after"

    def test_invalid_ipc_handles_are_refused(self, musart: Any, memory: Callable[[int], int]) -> None:
        handle, opened = IpcHandle(), Pointer()
        assert musart.musaIpcGetMemHandle(ctypes.byref(handle), Pointer(12345)) == INVALID_VALUE
        assert musart.musaIpcOpenMemHandle(ctypes.byref(opened), handle, 1) == BAD_HANDLE
        musart.musaIpcGetMemHandle(ctypes.byref(handle), Pointer(memory(8)))
        assert musart.musaIpcOpenMemHandle(ctypes.byref(opened), handle, 1) == BAD_CONTEXT
        assert musart.musaIpcGetEventHandle(ctypes.byref(handle), None) == NOT_SUPPORTED

    def test_a_handle_of_freed_memory(self, musart: Any) -> None:
        pointer, handle = handle_of(musart.musaMalloc, 8), IpcHandle()
        musart.musaIpcGetMemHandle(ctypes.byref(handle), Pointer(pointer))
        musart.musaFree(pointer)
        code = f"""
            class Handle(ctypes.Structure):
                _fields_ = [("reserved", ctypes.c_byte * 64)]
            print(lib.musaIpcOpenMemHandle(ctypes.byref(ctypes.c_void_p()), Handle.from_buffer_copy({bytes(handle)!r}), 1))
        """
        assert standalone(code) == str(BAD_HANDLE)


class TestLibrary:
    def test_the_library_needs_no_torch(self) -> None:
        needed = subprocess.run(["readelf", "-d", runtime_path()], capture_output=True, text=True, check=True).stdout
        assert f"soname: [{LIBRARY}]" in needed and "torch" not in needed and "libc10" not in needed

    def test_every_declared_function_exists(self, musart: Any) -> None:
        names = [word.split("(")[0] for word in header().read_text().split() if "(" in word and word.startswith("musa")]
        assert len(names) >= 60
        assert [name for name in names if not hasattr(musart, name)] == []

    @pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
    def test_a_c_program_can_use_the_library(self, tmp_path: Path) -> None:
        source = tmp_path / "program.c"
        source.write_text(
            """
            #include <stdio.h>
            #include "musa_runtime_api.h"
            int main(void) {
              int count = 0;
              double in[2] = {1.5, 2.5}, out[2] = {0, 0};
              void* memory = NULL;
              if (musaGetDeviceCount(&count) != musaSuccess || musaMalloc(&memory, sizeof(in)) != musaSuccess) return 1;
              if (musaMemcpy(memory, in, sizeof(in), musaMemcpyHostToDevice) != musaSuccess) return 2;
              if (musaMemcpy(out, memory, sizeof(in), musaMemcpyDeviceToHost) != musaSuccess) return 3;
              printf("%d %.1f %.1f %s\\n", count, out[0], out[1], musaGetErrorName(musaFree(memory)));
              return 0;
            }
            """
        )
        folder = runtime_path().parent
        command = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{header().parent}", str(source)]
        subprocess.run([*command, f"-L{folder}", "-lmusart", f"-Wl,-rpath,{folder}", "-o", tmp_path / "a"], check=True)
        done = subprocess.run([tmp_path / "a"], capture_output=True, text=True, check=True)
        assert done.stdout == "2 1.5 2.5 musaSuccess\n"


def runtime_path() -> Path:
    return build.build().with_name(LIBRARY)


def header() -> Path:
    return Path(build.__file__).parent / "musart" / "include" / "musa_runtime_api.h"


def standalone(code: str, **env: str) -> str:
    """The output of a process that loads only the library, as `lib`, without PyTorch."""
    return _run(f"import ctypes; lib = ctypes.CDLL({str(runtime_path())!r})", code, env)


def in_torch(code: str, **env: str) -> str:
    """The output of a process that imports torch_musa and loads the library by its name."""
    return _run(
        f"import musasim; musasim.install(); import ctypes, torch, torch_musa; lib = ctypes.CDLL({LIBRARY!r})",
        code,
        env,
    )


def _run(prologue: str, code: str, env: dict[str, str]) -> str:
    import os

    clean = {name: value for name, value in os.environ.items() if not name.startswith("TORCHADA_")}
    done = subprocess.run(
        [sys.executable, "-c", f"{prologue}\n{textwrap.dedent(code)}"],
        env={**clean, "TORCHADA_DISABLE": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", **env},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
