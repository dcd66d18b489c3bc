"""`python -m torch_battery.races ORDER`: two streams use one tensor, in the order that ORDER makes, under torch.cuda's sanitizer.

The last line printed is "race" or "order".
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.cuda import _sanitizer


def _event(before: Any, after: Any) -> None:
    event = torch.cuda.Event()
    event.record(before)
    after.wait_event(event)


def _event_wait(before: Any, after: Any) -> None:
    event = torch.cuda.Event()
    event.record(before)
    event.wait(after)


def _wait_stream(before: Any, after: Any) -> None:
    after.wait_stream(before)


def _synchronize(before: Any, after: Any) -> None:
    before.synchronize()


def _none(before: Any, after: Any) -> None:
    """Nothing orders the two streams."""


ORDERS: dict[str, Callable[[Any, Any], None]] = {
    "event": _event,
    "event_wait": _event_wait,
    "wait_stream": _wait_stream,
    "synchronize": _synchronize,
    "none": _none,
}


def main(order: str) -> str:
    """What the sanitizer has seen."""
    _sanitizer.enable_cuda_sanitizer()  # type: ignore[no-untyped-call]
    before, after = torch.cuda.Stream(), torch.cuda.Stream()
    try:
        with torch.cuda.stream(before):
            x = torch.rand(64, device="cuda")
        ORDERS[order](before, after)
        with torch.cuda.stream(after):
            x.mul_(2)
    except _sanitizer.CUDASanitizerErrors:
        return "race"
    return "order"


if __name__ == "__main__":
    print(main(sys.argv[1]), flush=True)
