"""`python -m torch_battery.races`: two streams use one tensor, in one order after the other, under torch.cuda's sanitizer.

The last line printed is a JSON object: for each order, whether the sanitizer has seen a race.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import torch
from torch.cuda import _sanitizer

from torch_battery.orders import by_event, by_event_wait, by_stream


def _synchronize(before: Any, after: Any) -> None:
    before.synchronize()


def _none(before: Any, after: Any) -> None:
    """Nothing orders the two streams."""


ORDERS: dict[str, Callable[[Any, Any], None]] = {
    "event": by_event,
    "event_wait": by_event_wait,
    "wait_stream": by_stream,
    "synchronize": _synchronize,
    "none": _none,
}


def is_race(order: Callable[[Any, Any], None]) -> bool:
    """Whether the sanitizer sees a race between a stream that writes a tensor and one that changes it after `order`."""
    before, after = torch.cuda.Stream(), torch.cuda.Stream()
    try:
        with torch.cuda.stream(before):
            x = torch.rand(64, device="cuda")
        order(before, after)
        with torch.cuda.stream(after):
            x.mul_(2)
    except _sanitizer.CUDASanitizerErrors:
        return True
    finally:
        torch.cuda.synchronize()
    return False


if __name__ == "__main__":
    _sanitizer.enable_cuda_sanitizer()
    print(json.dumps({name: is_race(order) for name, order in ORDERS.items()}), flush=True)
