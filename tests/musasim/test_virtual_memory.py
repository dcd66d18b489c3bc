"""The driver's virtual memory: addresses that a program reserves, and memory that it maps to them."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Iterator

import pytest

from musasim import toolkit
from support.driver_structures import Access, Location
from support.fresh_process import run

MIB = 1 << 20
GRANULARITY = 2 * MIB
INVALID, FULL, NOT_SUPPORTED = 1, 2, 801
FABRIC, FABRIC_SUPPORTED = 8, 128
NONE, READ, WRITE = 0, 1, 3
pytestmark = pytest.mark.once


class Properties(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", Location),
        ("meta", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    )


class Driver:
    """Calls with plain numbers: an address, a handle, a size."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(str(toolkit.home() / "lib" / "libmusa.so"))
        self.u64 = ctypes.c_ulonglong
        assert self.library.muInit(0) == 0

    def call(self, name: str, *args: object) -> int:
        numbers = (self.u64(each) if isinstance(each, int) else each for each in args)
        found: int = getattr(self.library, name)(*numbers)
        return found

    def made(self, name: str, *args: object) -> int:
        """The number that a call writes to its first argument."""
        number = self.u64()
        assert self.call(name, ctypes.byref(number), *args) == 0
        return number.value

    def properties(self, device: int = 0, *, exportable: bool = False) -> object:
        return ctypes.byref(Properties(1, int(exportable), Location(1, device), None, (ctypes.c_ubyte * 8)()))

    def reserve(self, size: int) -> int:
        return self.made("muMemAddressReserve", size, 0, 0, 0)

    def create(self, size: int, device: int = 0, *, exportable: bool = False) -> int:
        return self.made("muMemCreate", size, self.properties(device, exportable=exportable), 0)

    def permit(self, address: int, size: int, flags: int = WRITE, device: int = 0) -> int:
        return self.call("muMemSetAccess", address, size, ctypes.byref(Access(Location(1, device), flags)), 1)

    def write(self, address: int, value: int) -> int:
        return self.call("muMemcpyHtoD", address, ctypes.byref(self.u64(value)), 8)

    def read(self, address: int) -> int:
        value = self.u64()
        assert self.call("muMemcpyDtoH", ctypes.byref(value), address, 8) == 0
        return value.value

    def used(self) -> int:
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        assert self.call("muMemGetInfo", ctypes.byref(free), ctypes.byref(total)) == 0
        return total.value - free.value


@pytest.fixture(scope="module")
def driver() -> Driver:
    return Driver()


@pytest.fixture
def space(driver: Driver) -> Iterator[int]:
    """The addresses of four pieces."""
    begin = driver.reserve(4 * GRANULARITY)
    yield begin
    driver.call("muMemUnmap", begin, 2 * GRANULARITY)
    assert driver.call("muMemAddressFree", begin, 4 * GRANULARITY) == 0


def test_memory_is_counted_while_a_handle_or_a_mapping_has_it(driver: Driver, space: int) -> None:
    before = driver.used()
    handle = driver.create(2 * GRANULARITY)
    assert driver.used() == before + 2 * GRANULARITY
    assert driver.call("muMemMap", space, 2 * GRANULARITY, 0, handle, 0) == 0
    assert driver.call("muMemRelease", handle) == 0
    assert driver.used() == before + 2 * GRANULARITY
    assert driver.call("muMemRelease", handle) == INVALID
    assert driver.call("muMemUnmap", space, 2 * GRANULARITY) == 0
    assert driver.used() == before


def test_mapped_memory_is_of_the_device_once_access_is_given(driver: Driver, space: int) -> None:
    handle = driver.create(2 * GRANULARITY)
    assert driver.call("muMemMap", space, 2 * GRANULARITY, 0, handle, 0) == 0
    assert driver.write(space, 7) == INVALID
    assert driver.permit(space, 2 * GRANULARITY) == 0
    assert driver.write(space + 8, 7) == 0 and driver.read(space + 8) == 7
    base, size = ctypes.c_ulonglong(), ctypes.c_size_t()
    assert driver.call("muMemGetAddressRange", ctypes.byref(base), ctypes.byref(size), space + 8) == 0
    assert (base.value, size.value) == (space, 2 * GRANULARITY)
    location = ctypes.byref(Location(1, 0))
    assert driver.made("muMemGetAccess", location, space) == WRITE
    assert driver.permit(space, 2 * GRANULARITY, NONE) == 0
    assert driver.made("muMemGetAccess", location, space) == NONE and driver.write(space, 7) == INVALID
    assert driver.call("muMemRelease", handle) == 0


def test_contents_stay_with_the_memory_and_not_with_the_addresses(driver: Driver, space: int) -> None:
    handle, other = driver.create(GRANULARITY), driver.create(GRANULARITY)
    for each, value in ((handle, 7), (other, 0)):
        assert driver.call("muMemMap", space, GRANULARITY, 0, each, 0) == 0
        assert driver.permit(space, GRANULARITY) == 0
        assert driver.read(space) == 0 and driver.write(space, value) == 0
        assert driver.call("muMemUnmap", space, GRANULARITY) == 0
    for place in (space, space + GRANULARITY):  # one memory at two addresses
        assert driver.call("muMemMap", place, GRANULARITY, 0, handle, 0) == 0
    assert driver.permit(space, 2 * GRANULARITY) == 0
    assert driver.write(space, 8) == 0 and driver.read(space + GRANULARITY) == 8
    assert driver.made("muMemRetainAllocationHandle", ctypes.c_void_p(space + 16)) == handle
    for each in (handle, handle, other):
        assert driver.call("muMemRelease", each) == 0


def test_what_is_not_whole_or_not_free_is_refused(driver: Driver, space: int) -> None:
    handle = driver.create(GRANULARITY)
    number = ctypes.byref(ctypes.c_ulonglong())
    assert driver.call("muMemCreate", number, MIB, driver.properties(), 0) == INVALID
    assert driver.call("muMemCreate", number, GRANULARITY, driver.properties(99), 0) == 101
    assert driver.call("muMemCreate", number, 1 << 50, driver.properties(), 0) == FULL
    assert driver.call("muMemAddressReserve", number, MIB, 0, 0, 0) == INVALID
    for place, size, offset in ((space + MIB, GRANULARITY, 0), (space, 2 * GRANULARITY, 0), (space, GRANULARITY, MIB)):
        assert driver.call("muMemMap", place, size, offset, handle, 0) == INVALID
    assert driver.call("muMemMap", space + 4 * GRANULARITY, GRANULARITY, 0, handle, 0) == INVALID
    assert driver.call("muMemMap", space, GRANULARITY, 0, handle, 0) == 0
    assert driver.call("muMemMap", space, GRANULARITY, 0, handle, 0) == INVALID
    assert driver.permit(space, 2 * GRANULARITY) == INVALID
    assert driver.call("muMemAddressFree", space, 4 * GRANULARITY) == INVALID
    assert driver.call("muMemUnmap", space, 2 * GRANULARITY) == INVALID
    assert driver.call("muMemUnmap", space, GRANULARITY) == 0
    assert driver.call("muMemRelease", handle) == 0


def test_handles_for_other_machines_are_denied(driver: Driver) -> None:
    """As CUDA answers where the GPUs of several machines are not linked: programs ask, and take a file in their place."""
    supported, handle = ctypes.c_int(-1), ctypes.byref(ctypes.c_ulonglong())
    assert driver.call("muDeviceGetAttribute", ctypes.byref(supported), FABRIC_SUPPORTED, 0) == 0
    assert supported.value == 0
    wanted = Properties(1, FABRIC, Location(1, 0), None, (ctypes.c_ubyte * 8)())
    assert driver.call("muMemCreate", handle, GRANULARITY, ctypes.byref(wanted), 0) == NOT_SUPPORTED


def test_a_file_hands_memory_on(driver: Driver, space: int) -> None:
    private, handle = driver.create(GRANULARITY), driver.create(GRANULARITY, 1, exportable=True)
    file = ctypes.c_int(-1)
    assert driver.call("muMemExportToShareableHandle", ctypes.byref(file), private, 1, 0) == INVALID
    assert driver.call("muMemExportToShareableHandle", ctypes.byref(file), handle, 1, 0) == 0
    before = driver.used()
    imported = driver.made("muMemImportFromShareableHandle", ctypes.c_void_p(file.value), 1)
    assert driver.used() == before
    found = Properties()
    assert driver.call("muMemGetAllocationPropertiesFromHandle", ctypes.byref(found), imported) == 0
    assert (found.type, found.handle_types, found.location.id) == (1, 1, 1)
    for place, each in ((space, handle), (space + GRANULARITY, imported)):
        assert driver.call("muMemMap", place, GRANULARITY, 0, each, 0) == 0
    assert driver.permit(space, 2 * GRANULARITY, device=1) == 0
    assert driver.write(space, 9) == 0 and driver.read(space + GRANULARITY) == 9
    os.close(file.value)
    with open(os.devnull) as other:
        number = ctypes.byref(ctypes.c_ulonglong())
        assert driver.call("muMemImportFromShareableHandle", number, ctypes.c_void_p(other.fileno()), 1) == INVALID
    for each in (private, handle, imported):
        assert driver.call("muMemRelease", each) == 0


def test_touching_what_is_not_mapped_ends_the_process() -> None:
    code = """
        import ctypes, os
        from musasim import toolkit
        library, begin, zero = ctypes.CDLL(str(toolkit.home() / "lib" / "libmusa.so")), ctypes.c_ulonglong(), ctypes.c_size_t()
        assert library.muMemAddressReserve(ctypes.byref(begin), ctypes.c_size_t(2 << 20), zero, zero, zero) == 0
        child = os.fork()
        if child == 0:
            ctypes.c_int.from_address(begin.value).value
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    assert int(run(code, install=False)) == -signal.SIGSEGV
