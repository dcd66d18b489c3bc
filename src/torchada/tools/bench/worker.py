"""`python -m torchada.tools.bench.worker SECONDS`: the process in which `torchada bench` takes its times."""

from __future__ import annotations

import sys
from functools import cache, partial
from typing import TYPE_CHECKING

from torchada.tools.runner.worker import Answer, serve

if TYPE_CHECKING:
    from torch_battery.speed import Benchmark


@cache
def _benchmarks() -> dict[str, Benchmark]:
    from torch_battery.speed_table import BENCHMARKS

    return {benchmark.name: benchmark for benchmark in BENCHMARKS}


def tasks(seconds: float) -> list[Answer]:
    """All benchmarks, with the seconds after which one is given up."""
    limit = 120 + 20 * seconds
    return [
        {"name": benchmark.name, "what": benchmark.what, "unit": benchmark.unit, "limit": limit}
        for benchmark in _benchmarks().values()
    ]


def act(seconds: float, name: str) -> Answer:
    """Measure one benchmark."""
    from torch_battery.speed import measure

    try:
        return {"outcome": "measured", **measure(_benchmarks()[name], seconds)}
    except Exception as error:
        text = str(error).strip().partition("\n")[0]
        return {"outcome": "failed", "detail": f"{type(error).__name__}: {text}", "is_usable": False}


if __name__ == "__main__":
    given = float(sys.argv[1])
    serve(partial(tasks, given), partial(act, given))
