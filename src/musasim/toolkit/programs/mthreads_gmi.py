"""The simulated mthreads-gmi: what management tools ask of a driver. It asks libmusart.so, and sees all devices, hidden ones too.

What a simulated device does not have (temperature, power, utilization) is N/A. Processes are not listed.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

_PCI_BUS = 33
_NONE = "N/A"
Tree = dict[str, Any]


def main(arguments: list[str]) -> int:
    """Return the exit status: 0, or 1 if there is no device, or not the one that is asked for."""
    if arguments[:1] == ["topo"]:
        return _topology(arguments[1:])
    parser = ArgumentParser("mthreads-gmi", description="Show the simulated devices.")
    parser.add_argument("-q", "--query", action="store_true", help="everything that is known, device by device")
    parser.add_argument("-i", "--id", type=int, metavar="INDEX", help="of one device alone")
    parser.add_argument("--json", action="store_true", help="as JSON, with -q")
    given = parser.parse_args(arguments)
    devices = _devices()
    if given.id is not None:
        devices = devices[given.id : given.id + 1] if given.id >= 0 else []
    if not devices:
        print("mthreads-gmi: no such device", file=sys.stderr)
        return 1
    if not given.query:
        print(_overview(devices))
    elif given.json:
        print(json.dumps(_report(devices), indent=4))
    else:
        print(_text(_report(devices)))
    return 0


def _topology(arguments: list[str]) -> int:
    parser = ArgumentParser("mthreads-gmi topo", description="Show how the simulated devices are connected.")
    parser.add_argument("-m", "--matrix", action="store_true", required=True, help="all pairs")
    parser.parse_args(arguments)
    names = [f"GPU{index}" for index in range(len(_devices()))]
    print("\t" + "\t".join(names))
    for name in names:
        print("\t".join([name, *("X" if other == name else "PIX" for other in names)]))
    print("\nX = the device itself\nPIX = one PCIe bridge at the most")
    return 0 if names else 1


def _runtime() -> ctypes.CDLL:
    # The driver's tool is not concerned by what a program may see.
    os.environ.pop("MUSA_VISIBLE_DEVICES", None)
    return ctypes.CDLL(str(Path(sys.argv[0]).resolve().parent.parent / "lib" / "libmusart.so"))


def _driver() -> str:
    version = ctypes.c_int()
    _runtime().musaDriverGetVersion(ctypes.byref(version))
    return f"{version.value // 10000}.{version.value // 100 % 100}.{version.value % 100}-musasim"


def _devices() -> list[Tree]:
    library, count = _runtime(), ctypes.c_int()
    if library.musaGetDeviceCount(ctypes.byref(count)) != 0:
        return []
    return [_device(library, index) for index in range(count.value)]


def _device(library: ctypes.CDLL, index: int) -> Tree:
    bus, free, total = ctypes.c_int(), ctypes.c_size_t(), ctypes.c_size_t()
    library.musaDeviceGetAttribute(ctypes.byref(bus), _PCI_BUS, index)
    library.musaSetDevice(index)
    library.musaMemGetInfo(ctypes.byref(free), ctypes.byref(total))
    unused, every = free.value >> 20, total.value >> 20
    return {
        "Index": str(index),
        "Product Name": "MTT S5000 (simulated)",
        "Product Brand": "MTT",
        "GPU UUID": f"00000000-0000-0000-0000-{bus.value:012x}",
        "Serial Number": _NONE,
        "PCI": {"Bus": f"0x{bus.value:02X}", "Bus ID": f"00000000:{bus.value:02x}:00.0", "Vendor ID": "0x1ED5"},
        # Real tools write the unit without a space.
        "FB Memory Usage": {"Total": f"{every}MiB", "Used": f"{every - unused}MiB", "Free": f"{unused}MiB"},
        "Utilization": {"Gpu": _NONE, "Memory": f"{round(100 * (1 - unused / every))}%"},
        "Temperature": {"GPU Current Temp": _NONE},
        "Power Readings": {"Power Draw ": _NONE},
    }


def _report(devices: list[Tree]) -> Tree:
    return {
        "Timestamp": time.strftime("%a %b %d %H:%M:%S %Y"),
        "Driver Version": _driver(),
        "Attached GPUs": str(len(devices)),
        "GPU": devices,
    }


def _text(report: Tree) -> str:
    head = [f"{key:<38}: {value}" for key, value in report.items() if key != "GPU"]
    for device in report["GPU"]:
        head += ["", f"GPU{device['Index']} {device['PCI']['Bus ID']}", *_lines(device, 1)]
    return "\n".join(head)


def _lines(tree: Tree, depth: int) -> list[str]:
    lines: list[str] = []
    for key, value in tree.items():
        if isinstance(value, dict):
            lines += ["    " * depth + key, *_lines(value, depth + 1)]
        elif key != "Index":
            lines.append(f"{'    ' * depth + key.strip():<38}: {value}")
    return lines


def _overview(devices: list[Tree]) -> str:
    rule = "-" * 69
    lines = [time.strftime("%a %b %d %H:%M:%S %Y"), rule]
    lines += [f"    mthreads-gmi:musasim          Driver Version:{_driver()}", rule]
    lines += [f"{'ID':<5}{'Name':<21}|{'PCIe':<20}|{'%GPU':<6}Mem", f"+{'-' * 67}+"]
    for device in devices:
        memory = device["FB Memory Usage"]
        used = f"{memory['Used']}({memory['Total']})"
        name, bus, busy = device["Product Name"], device["PCI"]["Bus ID"], device["Utilization"]["Gpu"]
        lines += [f"{device['Index']:<5}{name:<21}|{bus:<20}|{busy:<6}{used}"]
    return "\n".join([*lines, rule])
