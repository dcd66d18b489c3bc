"""The driver's own management library, asked in C how many devices there are: where its Python module is not installed."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property

_LENGTH_OF_UUID = 64


class DriverLibrary:
    """The devices of the machine, visible or not. Each answer is kept: devices do not come and go while a program runs.

    Raises RuntimeError if there is no such library, or if it refuses to answer.
    """

    def __init__(self, names: Sequence[str], prefix: str) -> None:
        self._names, self._prefix = names, prefix

    @cached_property
    def count(self) -> int:
        """The number of devices."""
        with self._opened() as library:
            return self._count(library)

    @cached_property
    def uuids(self) -> list[str]:
        """The identities of the devices, as the library writes them."""
        with self._opened() as library:
            return [self._uuid(library, index) for index in range(self._count(library))]

    @contextmanager
    def _opened(self) -> Iterator[ctypes.c_void_p]:
        library = ctypes.c_void_p()
        self._call("LibraryInit", ctypes.byref(library))
        try:
            yield library
        finally:
            self._call("LibraryShutDown", library)

    def _count(self, library: ctypes.c_void_p) -> int:
        number = ctypes.c_uint()
        self._call("LibraryCountDevice", library, ctypes.byref(number))
        return int(number.value)

    def _uuid(self, library: ctypes.c_void_p, index: int) -> str:
        device, text = ctypes.c_void_p(), ctypes.create_string_buffer(_LENGTH_OF_UUID)
        self._call("LibraryInitDeviceByIndex", library, index, ctypes.byref(device))
        try:
            self._call("DeviceGetUUID", device, text, _LENGTH_OF_UUID)
        finally:
            self._call("LibraryFreeDevice", device)
        return text.value.decode()

    def _call(self, name: str, *arguments: object) -> None:
        try:
            code = getattr(self._functions, self._prefix + name)(*arguments)
        except AttributeError as missing:
            raise RuntimeError(f"the driver's library has no function {self._prefix}{name}") from missing
        if code != 0:
            raise RuntimeError(f"the driver's library answers {self._prefix}{name} with the error {code}")

    @cached_property
    def _functions(self) -> ctypes.CDLL:
        for name in self._names:
            try:
                return ctypes.CDLL(name)
            except OSError:
                continue
        raise RuntimeError(f"the driver's library cannot be loaded: {', '.join(self._names) or 'none is known'}")
