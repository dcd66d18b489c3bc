"""The fields of `nvidia-smi --query-gpu`: their names, units, and where the vendor's report has them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import NamedTuple

from torchada.tools.nvidia_smi.devices import Tree, value

NONE = "[N/A]"


class Field(NamedTuple):
    """`of` answers from the report and the device; `unit` follows a number, and stands in brackets in the header."""

    of: Callable[[Tree, Tree], str | None]
    unit: str = ""


def _text(*keys: str) -> Field:
    return Field(lambda report, device: value(device, *keys))


def _number(unit: str, *keys: str) -> Field:
    return Field(lambda report, device: _first_number(value(device, *keys)), unit)


def _first_number(text: str | None) -> str | None:
    number = re.match(r"[-+]?\d+(\.\d+)?", text or "")
    return number[0] if number else None


def _power(report: Tree, device: Tree) -> str | None:
    watts = _first_number(value(device, "Power Readings", "Power Draw"))
    return f"{float(watts):.2f}" if watts else None


def _bus_id(report: Tree, device: Tree) -> str | None:
    text = value(device, "PCI", "Bus ID")
    return text.upper() if text else None


def _of_all(key: str) -> Field:
    return Field(lambda report, device: value(report, key))


def _now(report: Tree, device: Tree) -> str:
    now = time.time()
    return time.strftime("%Y/%m/%d %H:%M:%S", time.localtime(now)) + f".{int(now % 1 * 1000):03d}"


def _unknown() -> Field:
    return Field(lambda report, device: None)


_NAME, _UUID, _SERIAL = _text("Product Name"), _text("GPU UUID"), _text("Serial Number")

FIELDS = {
    "timestamp": Field(_now),
    "driver_version": _of_all("Driver Version"),
    "count": _of_all("Attached GPUs"),
    "name": _NAME,
    "gpu_name": _NAME,
    "index": _text("Index"),
    "uuid": _UUID,
    "gpu_uuid": _UUID,
    "serial": _SERIAL,
    "gpu_serial": _SERIAL,
    "pci.bus_id": Field(_bus_id),
    "gpu_bus_id": Field(_bus_id),
    "pci.bus": _text("PCI", "Bus"),
    "memory.total": _number("MiB", "FB Memory Usage", "Total"),
    "memory.used": _number("MiB", "FB Memory Usage", "Used"),
    "memory.free": _number("MiB", "FB Memory Usage", "Free"),
    "utilization.gpu": _number("%", "Utilization", "Gpu"),
    "utilization.memory": _number("%", "Utilization", "Memory"),
    "temperature.gpu": _number("", "Temperature", "GPU Current Temp"),
    "power.draw": Field(_power, "W"),
}
# What nvidia-smi knows and the vendor's command does not tell, with the unit in the header.
_NOT_TOLD = {
    "": "compute_cap compute_mode display_active display_mode fan.speed pstate persistence_mode mig.mode.current vbios_version "
    "pcie.link.gen.current pcie.link.gen.max pcie.link.width.current pcie.link.width.max temperature.memory "
    "ecc.mode.current ecc.errors.corrected.volatile.total ecc.errors.uncorrected.volatile.total pci.domain pci.device",
    "W": "power.limit power.max_limit power.default_limit enforced.power.limit power.draw.average power.draw.instant",
    "MHz": "clocks.current.graphics clocks.current.sm clocks.current.memory clocks.gr clocks.sm clocks.mem "
    "clocks.max.graphics clocks.max.sm clocks.max.memory",
    "MiB": "memory.reserved",
    "%": "utilization.encoder utilization.decoder",
}
FIELDS.update({name: _unknown()._replace(unit=unit) for unit, names in _NOT_TOLD.items() for name in names.split()})


def header(name: str) -> str:
    """As the first line of CSV has it."""
    unit = FIELDS[name].unit
    return f"{name} [{unit}]" if unit else name


def shown(name: str, report: Tree, device: Tree, *, units: bool) -> str:
    """As a line of CSV has it."""
    field = FIELDS[name]
    text = field.of(report, device)
    if text is None:
        return NONE
    return f"{text} {field.unit}" if units and field.unit else text
