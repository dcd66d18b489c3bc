"""How a process had its operators computed: on the device, by a kernel of torchada's, on the CPU; and the program's kernels."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping

Counts = dict[str, Counter[str]]
#: Where in a process of a report the counts are. Only the simulator counts what its device computes, so the first two may be None.
ON_DEVICE, KERNELS, MENDED, ON_THE_CPU = "on_device", "kernels", "mended", "cpu_fallbacks"


class Computed:
    """Counts from now on. `simulated`: the device is the simulator's, which can count as well."""

    def __init__(self, simulated: bool) -> None:
        self._simulated = simulated
        if simulated:
            from musasim import tally

            tally.begin()
        self.begin_anew()

    def begin_anew(self) -> None:
        """Leave out what has been counted so far: a forked child inherits the counts of its parent."""
        self._inherited = self._read()

    def counts(self) -> dict[str, dict[str, int] | None]:
        """How often each operator and kernel was run, by the names above."""
        now = self._read()
        counted = {name: dict(counts - self._inherited.get(name, Counter())) for name, counts in now.items()}
        return {name: counted.get(name) for name in (ON_DEVICE, KERNELS, MENDED, ON_THE_CPU)}

    def _read(self) -> Counts:
        on_the_cpu = _counted_by("torchada.redirect.cpu_fallbacks")
        counts = {ON_THE_CPU: on_the_cpu, MENDED: _counted_by("torchada.redirect.replaced") - on_the_cpu}
        if self._simulated:
            from musasim import tally

            tallied = tally.read()
            counts |= {ON_DEVICE: tallied.operators, KERNELS: tallied.kernels}
        return counts


def _counted_by(module: str) -> Counter[str]:
    """A copy of the module's counts; it is loaded with the first operator that it counts."""
    return Counter(getattr(sys.modules.get(module), "COUNTS", {}))


def total(processes: list[Mapping[str, object]], name: str) -> Counter[str] | None:
    """The counts of all processes together; None where no process could count."""
    parts = [part for process in processes if isinstance(part := process[name], Mapping)]
    return sum(map(Counter, parts), Counter()) if parts else None
