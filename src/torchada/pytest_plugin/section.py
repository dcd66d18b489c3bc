"""The words of a run on simulated GPUs: the line at its beginning and the section at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from torchada.pytest_plugin import meaning
from torchada.pytest_plugin.finding import is_of_kernel
from torchada.pytest_plugin.record import Record
from torchada.pytest_plugin.request import SEED_VARIABLE, Request
from torchada.report.text import counted

_FEW = 5
_WIDTH = 26


def header(request: Request) -> str:
    """What the tests run on."""
    return f"simulated CUDA: {_described(request)}"


def lines(request: Request, record: Record, lost: int, skipped: int, everything: bool) -> Iterator[str]:
    """What ran, what the checker has found, and what that means."""
    yield _described(request)
    yield _line("operators on the device", record.operators, everything)
    yield _line("operators on the CPU", record.on_the_cpu, everything)
    yield _line("operators mended", record.mended, everything)
    yield _line("kernels run", record.kernels, everything, "launch")
    yield from _checkers(request, record)
    if lost:
        yield f"not counted: {counted(lost, 'worker')} ended without a report"
    yield "What a green run means:"
    for what, means in meaning.of_run(request, record, skipped):
        yield f"  {what + ':':<15} {means}"


def _described(request: Request) -> str:
    parts = [counted(request.devices, "GPU"), f"torch {_version()}"]
    if request.capability:
        parts.append(f"compute capability {request.capability}")
    if request.memcheck:
        parts.append("memory checker on")
    if request.streamcheck:
        parts.append("stream checker on")
    if request.seed:
        note = "" if _knows_seeds() else ", which this simulator does not know: blocks run in their usual order"
        parts.append(f"--cuda-seed={request.seed} repeats it ({SEED_VARIABLE}{note})")
    return ", ".join(parts)


def _version() -> str:
    try:
        return version("torch")
    except PackageNotFoundError:  # a folder on the path
        return "of an unknown version"


def _knows_seeds() -> bool:
    """Whether the simulator that is installed reads the variable."""
    spec = find_spec("musasim")
    assert spec is not None and spec.origin is not None  # it has been built
    sources = Path(spec.origin).with_name("musart").rglob("*.cpp")
    return any(f'"{SEED_VARIABLE}"' in source.read_text(encoding="utf-8") for source in sources)


def _line(title: str, counts: Counter[str], everything: bool, of_one: str = "call") -> str:
    beginning = f"{title + ':':<{_WIDTH}}"
    if not counts:
        return f"{beginning}none"
    shown = counts.most_common(None if everything else _FEW)
    names = ", ".join(f"{name} {count:,}" for name, count in shown)
    more = f" and {len(counts) - len(shown)} more (-v)" if len(counts) > len(shown) else ""
    return f"{beginning}{len(counts)} ({counted(sum(counts.values()), of_one)}): {names}{more}"


def _checkers(request: Request, record: Record) -> Iterator[str]:
    of_kernels = [(test, finding) for test, finding in record.findings if is_of_kernel(finding)]
    of_streams = [(test, finding) for test, finding in record.findings if not is_of_kernel(finding)]
    yield from _checker("memory checker:", of_kernels, "" if request.memcheck else "--cuda-memcheck")
    yield from _checker("stream checker:", of_streams, "" if request.streamcheck else "--cuda-streamcheck")
    if record.unchecked:
        yield f"  not looked into, because it was built without MUSASIM_MEMCHECK=1: {', '.join(record.unchecked)}"


def _checker(title: str, findings: Sequence[tuple[str, str]], option: str) -> Iterator[str]:
    yield f"{title:<{_WIDTH}}{f'off ({option})' if option else counted(len(findings), 'finding')}"
    yield from (f"  {test}: {finding}" for test, finding in findings)
