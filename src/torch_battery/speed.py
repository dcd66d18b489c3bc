"""How fast the device computes what the CPU computes too: programs, and how their times are taken.

Times of the two are taken in turns, so that what else the machine does concerns both. Times on the device are those of its own
events, behind each other on one stream; times of calls that return before the work is done say nothing about the work.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

import torch

Run = Callable[[], Any]
_SAMPLE = 0.005  # seconds: what is shorter is repeated
_ROUNDS = 9


class Benchmark(NamedTuple):
    """`make(device, size)` returns a function that does the work once; `amount(size)` is how much of `unit` that is.

    `sizes` are tried from the smallest on, as long as they fit into the time. `by_clock`: the time of the calls themselves counts.
    """

    name: str
    what: str
    unit: str
    amount: Callable[[int], float]
    make: Callable[[str, int], Run]
    sizes: tuple[int, ...]
    by_clock: bool = False


class Times(NamedTuple):
    """Seconds for one execution: the median, the least and the most of `samples`."""

    median: float
    low: float
    high: float
    samples: int


def measure(benchmark: Benchmark, seconds: float) -> dict[str, Any]:
    """The times of a benchmark on both sides, and their ratio, in about `seconds`."""
    size = _fitting(benchmark, seconds)
    own, host = benchmark.make("cuda", size), benchmark.make("cpu", size)
    counts = [_count(_time_on_device(own, 1, benchmark.by_clock)), _count(_time_on_cpu(host, 1))]
    end, samples = time.perf_counter() + seconds, list[tuple[float, float]]()
    while len(samples) < _ROUNDS and (len(samples) < 3 or time.perf_counter() < end):
        samples.append((_time_on_device(own, counts[0], benchmark.by_clock), _time_on_cpu(host, counts[1])))
    devices, hosts = zip(*samples)
    ratios = [host / device for device, host in samples]
    return {
        "size": size,
        "amount": benchmark.amount(size),
        "device": _summary(devices)._asdict(),
        "cpu": _summary(hosts)._asdict(),
        "ratio": _summary(tuple(ratios))._asdict(),
    }


def _fitting(benchmark: Benchmark, seconds: float) -> int:
    """The largest size of which three rounds fit into half of the time, by a first execution that also warms up."""
    fitting = benchmark.sizes[0]
    for size in benchmark.sizes:
        both = 0.0
        for device in ("cuda", "cpu"):
            run = benchmark.make(device, size)
            run()
            both += _time_on_device(run, 1, True) if device == "cuda" else _time_on_cpu(run, 1)
        if both > seconds / 6:
            break
        fitting = size
    return fitting


def _count(seconds: float) -> int:
    return max(1, min(10_000, round(_SAMPLE / max(seconds, 1e-9))))


def _time_on_device(run: Run, count: int, by_clock: bool) -> float:
    """Seconds for one of `count` executions, between two events, or until the device is done."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    begin = time.perf_counter()
    start.record()
    for _ in range(count):
        run()
    end.record()
    end.synchronize()
    passed = time.perf_counter() - begin if by_clock else start.elapsed_time(end) / 1000
    return max(passed, 1e-9) / count


def _time_on_cpu(run: Run, count: int) -> float:
    begin = time.perf_counter()
    for _ in range(count):
        run()
    return (time.perf_counter() - begin) / count


def _summary(values: tuple[float, ...]) -> Times:
    return Times(median(values), min(values), max(values), len(values))
