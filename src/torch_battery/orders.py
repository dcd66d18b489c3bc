"""The ways in which one stream waits for another."""

from __future__ import annotations

from typing import Any

import torch


def by_event(before: Any, after: Any) -> None:
    """The later stream waits for an event of the earlier one."""
    event = torch.cuda.Event()
    event.record(before)
    after.wait_event(event)


def by_event_wait(before: Any, after: Any) -> None:
    """As `by_event`, by the method of the event."""
    event = torch.cuda.Event()
    event.record(before)
    event.wait(after)


def by_stream(before: Any, after: Any) -> None:
    """The later stream waits for all that the earlier one has been given."""
    after.wait_stream(before)
