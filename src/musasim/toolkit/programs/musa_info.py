"""The simulated musaInfo: the devices as text. It asks libmusart.so, so it shows what programs see."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path


def main(arguments: list[str]) -> int:
    """Return the exit status: 0, or 1 if there is no device."""
    library = ctypes.CDLL(str(Path(sys.argv[0]).resolve().parent.parent / "lib" / "libmusart.so"))
    count = ctypes.c_int()
    error = library.musaGetDeviceCount(ctypes.byref(count))
    if error:
        library.musaGetErrorString.restype = ctypes.c_char_p
        print(f"musaInfo: {library.musaGetErrorString(error).decode()}", file=sys.stderr)
        return 1
    for device in range(count.value):
        print(_describe(library, device))
    return 0


def _describe(library: ctypes.CDLL, device: int) -> str:
    def attribute(number: int) -> int:
        value = ctypes.c_int()
        library.musaDeviceGetAttribute(ctypes.byref(value), number, device)
        return value.value

    library.musaSetDevice(device)
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    library.musaMemGetInfo(ctypes.byref(free), ctypes.byref(total))
    lines = {
        "Name": "MTT S5000 (simulated)",
        "pciBusID": f"0x{attribute(33):02x}",
        "multiProcessorCount": attribute(16),
        "maxThreadsPerMultiProcessor": attribute(39),
        "clockRate": f"{attribute(13) / 1000:.0f} Mhz",
        "memoryClockRate": f"{attribute(36) / 1000:.0f} Mhz",
        "memoryBusWidth": attribute(37),
        "totalGlobalMem": f"{total.value / 2**30:.2f} GB",
        "maxSharedMemoryPerMultiProcessor": f"{attribute(81) / 1024:.2f} KB",
        "totalConstMem": attribute(9),
        "sharedMemPerBlock": f"{attribute(8) / 1024:.2f} KB",
        "regsPerBlock": attribute(12),
        "warpSize": attribute(10),
        "l2CacheSize": attribute(38),
        "maxThreadsPerBlock": attribute(1),
        "maxThreadsDim.x": attribute(2),
        "maxThreadsDim.y": attribute(3),
        "maxThreadsDim.z": attribute(4),
        "maxGridSize.x": attribute(5),
        "maxGridSize.y": attribute(6),
        "maxGridSize.z": attribute(7),
        "major": attribute(75),
        "minor": attribute(76),
        "isIntegrated": attribute(18),
    }
    rule = "-" * 80
    body = "\n".join(f"{name + ':':34}{value}" for name, value in lines.items())
    return f"{rule}\ndevice#{device:>28}\n{body}"
