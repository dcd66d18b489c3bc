"""The driver's memory in the order of streams, and its pools: the runtime's, by the driver's names and numbers."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import pytest

from musasim import toolkit
from support.driver_structures import Access, Location

pytestmark = pytest.mark.once

MIB = 1 << 20
INVALID, INVALID_DEVICE, NOT_SUPPORTED = 1, 101, 801
RELAXED, UNSUPPORTED, INVALIDATED = 2, 900, 901
PINNED, ON_DEVICE, FILE_DESCRIPTOR, READ_WRITE = 1, 1, 1, 3
THRESHOLD, RESERVED, USED = 4, 5, 7
POOLS_SUPPORTED = 115
Pool = ctypes.c_void_p
Call = Callable[..., int]


class Properties(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", Location),
        ("security", ctypes.c_void_p),
        ("reserved", ctypes.c_ubyte * 64),
    )


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    found = ctypes.CDLL(str(toolkit.home() / "lib" / "libmusa.so"))
    assert found.muInit(0) == 0
    return found


@pytest.fixture
def pool(library: ctypes.CDLL) -> Pool:
    made = Pool()
    assert library.muMemPoolCreate(ctypes.byref(made), properties()) == 0
    return made


def properties(device: int = 0, handle_types: int = 0) -> object:
    return ctypes.byref(Properties(PINNED, handle_types, Location(ON_DEVICE, device), None, (ctypes.c_ubyte * 64)()))


def amount(library: ctypes.CDLL, pool: Pool, attribute: int) -> int:
    found = ctypes.c_uint64()
    assert library.muMemPoolGetAttribute(pool, attribute, ctypes.byref(found)) == 0
    return found.value


def allocated(library: ctypes.CDLL, bytes: int, pool: Pool | None = None) -> ctypes.c_ulonglong:
    pointer, size = ctypes.c_ulonglong(), ctypes.c_size_t(bytes)
    if pool is None:
        assert library.muMemAllocAsync(ctypes.byref(pointer), size, None) == 0
    else:
        assert library.muMemAllocFromPoolAsync(ctypes.byref(pointer), size, pool, None) == 0
    return pointer


def test_memory_comes_from_the_pool_that_is_named(library: ctypes.CDLL, pool: Pool) -> None:
    pointer = allocated(library, MIB, pool)
    assert amount(library, pool, USED) == MIB and amount(library, pool, RESERVED) == 2 * MIB
    value, found = ctypes.c_uint64(7), ctypes.c_uint64()
    assert library.muMemcpyHtoD(pointer, ctypes.byref(value), 8) == 0
    assert library.muMemcpyDtoH(ctypes.byref(found), pointer, 8) == 0 and found.value == 7
    assert library.muMemFreeAsync(pointer, None) == 0
    assert amount(library, pool, USED) == 0
    assert library.muMemcpyDtoH(ctypes.byref(found), pointer, 8) == INVALID
    assert library.muMemPoolDestroy(pool) == 0
    assert library.muMemPoolDestroy(pool) == INVALID


def test_a_pool_keeps_what_its_threshold_says(library: ctypes.CDLL, pool: Pool) -> None:
    threshold = ctypes.c_uint64(64 * MIB)
    assert library.muMemPoolSetAttribute(pool, THRESHOLD, ctypes.byref(threshold)) == 0
    assert amount(library, pool, THRESHOLD) == 64 * MIB
    assert library.muMemFreeAsync(allocated(library, 3 * MIB, pool), None) == 0
    assert library.muCtxSynchronize() == 0
    assert amount(library, pool, RESERVED) == 4 * MIB
    assert library.muMemPoolTrimTo(pool, ctypes.c_size_t(0)) == 0
    assert amount(library, pool, RESERVED) == 0
    assert library.muMemPoolDestroy(pool) == 0


def test_a_device_has_a_current_pool(library: ctypes.CDLL, pool: Pool) -> None:
    default, current = Pool(), Pool()
    assert library.muDeviceGetDefaultMemPool(ctypes.byref(default), 0) == 0
    assert library.muDeviceSetMemPool(0, pool) == 0
    assert library.muDeviceGetMemPool(ctypes.byref(current), 0) == 0 and current.value == pool.value != default.value
    pointer = allocated(library, MIB)
    assert amount(library, pool, USED) == MIB
    assert library.muMemFreeAsync(pointer, None) == 0
    assert library.muMemPoolDestroy(pool) == 0
    assert library.muDeviceGetMemPool(ctypes.byref(current), 0) == 0 and current.value == default.value


def test_the_device_of_a_pool_has_access(library: ctypes.CDLL, pool: Pool) -> None:
    flags = ctypes.c_int()
    assert library.muMemPoolGetAccess(ctypes.byref(flags), pool, ctypes.byref(Location(ON_DEVICE, 0))) == 0
    assert flags.value == READ_WRITE
    for wanted, answer in ((READ_WRITE, 0), (0, INVALID)):
        given = Access(Location(ON_DEVICE, 0), wanted)
        assert library.muMemPoolSetAccess(pool, ctypes.byref(given), ctypes.c_size_t(1)) == answer
    assert library.muMemPoolDestroy(pool) == 0


def test_pools_are_among_the_devices_attributes(library: ctypes.CDLL) -> None:
    found = ctypes.c_int()
    assert library.muDeviceGetAttribute(ctypes.byref(found), POOLS_SUPPORTED, 0) == 0 and found.value == 1


@pytest.mark.parametrize(
    ("refused", "answer"),
    [
        (lambda library, made: library.muMemPoolCreate(made, None), INVALID),
        (lambda library, made: library.muMemPoolCreate(made, properties(device=99)), INVALID),
        (lambda library, made: library.muMemPoolCreate(made, properties(handle_types=FILE_DESCRIPTOR)), NOT_SUPPORTED),
        (lambda library, made: library.muMemAllocAsync(made, ctypes.c_size_t(0), None), INVALID),
        (lambda library, made: library.muMemAllocAsync(None, ctypes.c_size_t(8), None), INVALID),
        (lambda library, made: library.muMemAllocFromPoolAsync(made, ctypes.c_size_t(8), None, None), INVALID),
        (lambda library, made: library.muMemPoolGetAttribute(None, USED, made), INVALID),
        (lambda library, made: library.muMemPoolGetAccess(None, None, None), INVALID),
        (lambda library, made: library.muDeviceGetDefaultMemPool(made, 99), INVALID_DEVICE),
        (lambda library, made: library.muMemFreeAsync(ctypes.c_ulonglong(64), None), INVALID),
    ],
)
def test_errors(library: ctypes.CDLL, refused: Call, answer: int) -> None:
    assert refused(library, ctypes.byref(Pool())) == answer


@pytest.mark.parametrize("call", ["muMemAllocAsync", "muMemFreeAsync"])
def test_a_stream_that_is_captured_refuses_both(library: ctypes.CDLL, call: str) -> None:
    """CUDA makes nodes of them, which the simulator does not have: a graph would write into memory that was given back."""
    stream, graph, pointer = ctypes.c_void_p(), ctypes.c_void_p(), allocated(library, 8)
    assert library.musaStreamCreate(ctypes.byref(stream)) == 0
    assert library.musaStreamBeginCapture(stream, RELAXED) == 0
    if call == "muMemAllocAsync":
        assert library.muMemAllocAsync(ctypes.byref(ctypes.c_ulonglong()), ctypes.c_size_t(8), stream) == UNSUPPORTED
    else:
        assert library.muMemFreeAsync(pointer, stream) == UNSUPPORTED
    assert library.musaStreamEndCapture(stream, ctypes.byref(graph)) == INVALIDATED
    assert library.musaStreamDestroy(stream) == 0
    assert library.muMemFreeAsync(pointer, None) == 0
