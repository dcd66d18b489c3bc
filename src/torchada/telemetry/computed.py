"""How a process had its operators computed: on the device, by a kernel of torchada's, on the CPU; and the program's kernels."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from importlib import import_module
from typing import Any

Counts = dict[str, Counter[str]]
#: Where in a process of a report the counts are. Only the simulator counts what its device computes, so the first two may be None.
ON_DEVICE, KERNELS, MENDED, ON_THE_CPU = "on_device", "kernels", "mended", "cpu_fallbacks"


class Computed:
    """Counts from now on. `simulator` is that of the device, which can count as well; None on hardware."""

    def __init__(self, simulator: str | None) -> None:
        self._tally = None if simulator is None else _tally(simulator)
        self._device_is_used = False
        if self._tally is not None:
            self._tally.begin()
        self._inherited = self._read()

    def before_fork(self) -> None:
        """Note whether the device has been used: a child cannot use it then, and a thread may hold the lock of its tally."""
        self._device_is_used = self._tally is not None and bool(self._tally.read().operators)

    def begin_anew(self) -> None:
        """In a forked child: leave out what has been counted so far, by its parent."""
        if self._device_is_used:
            self._tally = _Nothing()
        self._inherited = self._read()

    def counts(self) -> dict[str, dict[str, int] | None]:
        """How often each operator and kernel was run, by the names above."""
        now = self._read()
        counted = {name: dict(counts - self._inherited.get(name, Counter())) for name, counts in now.items()}
        return {name: counted.get(name) for name in (ON_DEVICE, KERNELS, MENDED, ON_THE_CPU)}

    def _read(self) -> Counts:
        on_the_cpu = _counted_by("torchada.redirect.cpu_fallbacks")
        counts = {ON_THE_CPU: on_the_cpu, MENDED: _counted_by("torchada.redirect.replaced") - on_the_cpu}
        if self._tally is not None:
            tallied = self._tally.read()
            counts |= {ON_DEVICE: tallied.operators, KERNELS: tallied.kernels}
        return counts


class _Nothing:
    """The tally of a process that cannot use the device."""

    operators: Counter[str] = Counter()
    kernels: Counter[str] = Counter()

    def read(self) -> _Nothing:
        """The counts."""
        return self


def _tally(simulator: str) -> Any:
    """The simulator's module that counts, if it has one."""
    try:
        return import_module(f"{simulator}.tally")
    except ModuleNotFoundError:
        return None


def _counted_by(module: str) -> Counter[str]:
    """A copy of the module's counts; it is loaded with the first operator that it counts."""
    return Counter(getattr(sys.modules.get(module), "COUNTS", {}))


def total(processes: list[Mapping[str, object]], name: str) -> Counter[str] | None:
    """The counts of all processes together; None where no process could count."""
    parts = [part for process in processes if isinstance(part := process[name], Mapping)]
    return sum(map(Counter, parts), Counter()) if parts else None
