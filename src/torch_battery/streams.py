"""Streams and events: what has to wait for what.

A device that computes at once, as a simulator does, gives the right values even where nothing waits. So order is looked at in three
ways: by the values, by the times that events note, and by PyTorch's own sanitizer, which sees accesses that nothing orders.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import torch

from torch_battery.check import HOME, NotHere, expect
from torch_battery.orders import by_event, by_event_wait, by_stream
from torch_battery.table import Program

GROUP = "streams"
_CYCLES = 50_000_000  # of the device's clock: some tens of milliseconds
_SIZE = 1 << 16


def _values(order: Callable[[Any, Any], None]) -> None:
    """One stream is busy and then writes; the other reads after it has waited."""
    before, after = torch.cuda.Stream(), torch.cuda.Stream()
    x = torch.zeros(_SIZE, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(before):
        torch.cuda._sleep(_CYCLES)
        x.fill_(1)
    order(before, after)
    with torch.cuda.stream(after):
        y = x.clone()
    torch.cuda.synchronize()
    expect(bool((y == 1).all()), "a stream that waits for another has read what was there before")


def _times(order: Callable[[Any, Any], None]) -> None:
    """What comes after the wait is done after what comes before it, by the device's clock."""
    before, after = torch.cuda.Stream(), torch.cuda.Stream()
    first, second = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    with torch.cuda.stream(before):
        torch.cuda._sleep(_CYCLES)
        first.record()
    order(before, after)
    with torch.cuda.stream(after):
        second.record()
    torch.cuda.synchronize()
    ahead = -first.elapsed_time(second)
    expect(ahead <= 0, f"a stream that waits for another is done {ahead:.3f} ms before it")


def _side_copy() -> None:
    """The usual way to load a batch: a copy from pinned memory on a side stream, for which the other waits."""
    stream = torch.cuda.Stream()
    batches = [torch.full((_SIZE,), float(number)).pin_memory() for number in range(4)]
    for number, batch in enumerate(batches):
        with torch.cuda.stream(stream):
            own = batch.to("cuda", non_blocking=True)
        torch.cuda.current_stream().wait_stream(stream)
        own.record_stream(torch.cuda.current_stream())
        total = own.sum().item()
        expect(total == number * _SIZE, f"the sum of batch {number} is {total}, not {number * _SIZE}")


def _current() -> None:
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        expect(torch.cuda.current_stream() == stream, "torch.cuda.stream does not make its stream the current one")
    expect(torch.cuda.current_stream() == torch.cuda.default_stream(), "torch.cuda.stream does not switch back")


def _query() -> None:
    stream, event = torch.cuda.Stream(), torch.cuda.Event()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(_CYCLES)
        event.record()
    event.synchronize()
    expect(event.query(), "an event is not done after event.synchronize()")
    stream.synchronize()
    expect(stream.query(), "a stream is not done after stream.synchronize()")


def _timing() -> None:
    """Twice the work takes longer by the device's clock, and time does not run backwards."""
    times = []
    for cycles in (_CYCLES // 4, _CYCLES):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        torch.cuda._sleep(cycles)
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    expect(0 < times[0] < times[1], f"a wait and one four times as long take {times[0]:.3f} and {times[1]:.3f} ms")


def _gradients_follow() -> None:
    """The backward pass of what was computed on a stream runs on that stream."""
    seen = []
    stream = torch.cuda.Stream()
    x = torch.ones(4, device="cuda", requires_grad=True)
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        y = x * 2
        y.register_hook(lambda gradient: seen.append(torch.cuda.current_stream() == stream))
        y.sum().backward()
    torch.cuda.synchronize()
    expect(seen == [True], "the gradient of what a stream has computed is computed on another one")


@cache
def _seen_by_the_sanitizer() -> dict[str, bool]:
    """Whether torch.cuda's sanitizer sees a race, for each order. It is switched on for a whole process, so it gets its own."""
    if not hasattr(torch._C, "_activate_gpu_trace"):
        raise NotHere("this PyTorch has no sanitizer (torch._C._activate_gpu_trace)")
    command = [sys.executable, "-m", "torch_battery.races"]
    done = subprocess.run(command, cwd=HOME, capture_output=True, text=True, timeout=100, check=False)
    expect(done.returncode == 0, f"the sanitizer's program ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    seen: dict[str, bool] = json.loads(done.stdout.strip().rpartition("\n")[2])
    return seen


def _sanitized(order: str) -> None:
    seen = _seen_by_the_sanitizer()
    expect(seen["none"], "the sanitizer does not see that two streams use a tensor in no order")
    expect(order == "none" or not seen[order], "two streams use a tensor in no order, although one waits for the other")


_ORDERS = {"event": by_event, "event_wait": by_event_wait, "wait_stream": by_stream}
TABLE = [
    Program("current", _current, "quick"),
    Program("side_copy", _side_copy, "quick"),
    *(Program(f"values_by_{name}", partial(_values, order)) for name, order in _ORDERS.items()),
    *(
        Program(f"times_by_{name}", partial(_times, order), "quick" if name == "event" else "standard")
        for name, order in _ORDERS.items()
    ),
    Program("query", _query),
    Program("timing", _timing),
    Program("gradients", _gradients_follow),
    Program("race_is_seen", partial(_sanitized, "none"), limit=120),
    *(Program(f"no_race_by_{name}", partial(_sanitized, name), limit=120) for name in (*_ORDERS, "synchronize")),
]
