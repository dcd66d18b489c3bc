"""What a process had the simulated GPUs do."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from torchada.pytest_plugin import checker


@dataclass(frozen=True)
class Record:
    """How often each was run, by name: operators on the device, on the CPU in its place, by a kernel of ours; kernels of programs.

    `findings` are the memory checker's, each with the test, and `unchecked` the libraries that it could not look into.
    """

    operators: Counter[str] = field(default_factory=Counter)
    on_the_cpu: Counter[str] = field(default_factory=Counter)
    mended: Counter[str] = field(default_factory=Counter)
    kernels: Counter[str] = field(default_factory=Counter)
    findings: Sequence[tuple[str, str]] = ()
    unchecked: Sequence[str] = ()

    def plain(self) -> dict[str, Any]:
        """Of types that processes can hand to each other."""
        return {name: dict(value) if isinstance(value, Counter) else list(value) for name, value in vars(self).items()}

    @staticmethod
    def of_plain(plain: dict[str, Any]) -> Record:
        """The record that `plain` was made of."""
        values: dict[str, Any] = {name: Counter(of) if isinstance(of, dict) else of for name, of in plain.items()}
        return Record(**values)


def of_process(findings: Sequence[tuple[str, str]], memcheck: bool) -> Record:
    """The record of this process."""
    from musasim import tally

    tallied = tally.read()
    on_the_cpu = _counts("torchada.redirect.cpu_fallbacks")
    unchecked = checker.unchecked() if memcheck else []
    mended = _counts("torchada.redirect.replaced") - on_the_cpu
    return Record(tallied.operators, on_the_cpu, mended, tallied.kernels, findings, unchecked)


def _counts(module: str) -> Counter[str]:
    """Loaded with the first operator that it counts."""
    return Counter(getattr(sys.modules.get(module), "COUNTS", {}))


def total(records: Iterable[Record]) -> Record:
    """The sum; a library is named once."""
    all_of = list(records)
    counts = ("operators", "on_the_cpu", "mended", "kernels")
    sums: dict[str, Counter[str]] = {name: sum((getattr(one, name) for one in all_of), Counter()) for name in counts}
    findings = [finding for one in all_of for finding in one.findings]
    return Record(**sums, findings=findings, unchecked=sorted({name for one in all_of for name in one.unchecked}))
