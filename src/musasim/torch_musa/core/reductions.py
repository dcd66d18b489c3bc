"""Sends events to other processes."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from typing import Any

from .stream import Event


def rebuild_event(device: Any, handle: bytes) -> Any:
    return Event.from_ipc_handle(device, handle)


def reduce_event(event: Any) -> tuple[Any, ...]:
    handle = event.ipc_handle()
    return rebuild_event, (event.device, handle)


def init_reductions() -> None:
    ForkingPickler.register(Event, reduce_event)
