"""What a green run means, said of the run that there was. docs/how-to/ci.md explains it."""

from __future__ import annotations

from collections.abc import Iterator

from torchada.pytest_plugin.record import Record
from torchada.pytest_plugin.request import Request
from torchada.report import fidelity
from torchada.report.text import counted

NOTHING = "nothing about CUDA code: no test has used a simulated GPU in this process or a worker"


def of_run(request: Request, record: Record, skipped: int) -> Iterator[tuple[str, str]]:
    """What is exact, what is the CPU's, what is not simulated, and what this run could have looked at and has not."""
    if record.operators or record.on_the_cpu or record.mended or record.kernels:
        yield "exact", fidelity.EXACT if record.kernels else fidelity.WITHOUT_KERNELS
        yield from _of_the_cpu(record)
        yield "not simulated", fidelity.NOT_SIMULATED_UNDER_CHECK if request.streamcheck else fidelity.NOT_SIMULATED
    else:
        yield "shown", NOTHING
    not_looked_at = [*_of_streams(request, record), *_of_kernels(request, record), *_of_tests(skipped)]
    if not_looked_at:
        yield "not looked at", "; ".join(not_looked_at)


def _of_the_cpu(record: Record) -> Iterator[tuple[str, str]]:
    if record.operators or record.on_the_cpu or record.mended:
        yield "the CPU's", fidelity.OF_THE_CPU


def _of_streams(request: Request, record: Record) -> Iterator[str]:
    if (record.operators or record.kernels) and not request.streamcheck:
        yield "missing synchronisation between streams (--cuda-streamcheck)"


def _of_kernels(request: Request, record: Record) -> Iterator[str]:
    """Only where kernels have run."""
    if not record.kernels:
        return
    if not request.memcheck:
        yield "what kernels do to memory (--cuda-memcheck)"
    if request.is_checked and record.unchecked:
        yield f"what the kernels of {', '.join(record.unchecked)} do to memory"
    if not request.seed:
        yield "another order of blocks and warps (--cuda-seed=random)"


def _of_tests(skipped: int) -> Iterator[str]:
    if skipped:
        yield counted(skipped, "test") + (" that was skipped" if skipped == 1 else " that were skipped")
