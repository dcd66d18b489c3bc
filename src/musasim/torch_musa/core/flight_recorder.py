"""The last operations of all groups of this process, as torch's flight recorder shows them. Releases from 2.9.1 on have it.

In the real package this is C++, by templates of torch that its wheels do not bring.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from typing import Any

import torch

from musasim.base import release

# That of the format, of torch 2.9.
_VERSION = "2.10"


def publish(flights: Callable[[bool], list[dict[str, Any]]], forget: Callable[[], None]) -> Callable[[], bytes]:
    """Add the functions to torch's module of process groups, where the release has them. Returns the one that tells everything."""

    def _dump_mccl_trace(
        includeCollectives: bool = True, includeStackTraces: bool = True, onlyActive: bool = False
    ) -> bytes:
        entries = _chosen(flights(includeStackTraces), onlyActive)
        return pickle.dumps(_dump(entries, includeCollectives), protocol=2)

    def _dump_mccl_trace_json(includeCollectives: bool = True, onlyActive: bool = False) -> bytes:
        entries = _chosen(flights(False), onlyActive)
        return json.dumps(_dump(entries, includeCollectives)).encode()

    def _reset_fr_recording_mccl() -> None:
        forget()

    native: Any = torch._C._distributed_c10d
    added: dict[str, list[Callable[..., Any]]] = {
        "2.9.1": [_dump_mccl_trace, _dump_mccl_trace_json],
        "2.11.0": [_reset_fr_recording_mccl],
    }
    for functions in release.so_far(added).values():
        for function in functions:
            function.__module__ = native.__name__
            setattr(native, function.__name__, function)
    return _dump_mccl_trace


def _chosen(entries: list[dict[str, Any]], only_active: bool) -> list[dict[str, Any]]:
    return [entry for entry in entries if not only_active or entry["state"] != "completed"]


def _dump(entries: list[dict[str, Any]], with_entries: bool) -> dict[str, Any]:
    dump: dict[str, Any] = {"version": _VERSION, "pg_config": _groups(), "pg_status": _status(entries)}
    if with_entries:
        dump["entries"] = entries
    return dump


def _groups() -> dict[str, dict[str, str]]:
    world = torch.distributed.distributed_c10d._world
    return {
        name: {"name": name, "desc": getattr(group, "group_desc", ""), "ranks": str([*world.pg_group_ranks[group]])}
        for group, name in world.pg_names.items()
    }


def _status(entries: list[dict[str, Any]]) -> dict[str, dict[str, str]]:
    """The number of each group's newest collective that was asked for, has begun, and has ended; -1 where there is none."""
    status: dict[str, dict[str, str]] = {}
    for entry in entries:
        of_group = status.setdefault(
            str(entry["pg_id"]), dict.fromkeys(_steps("enqueued", "started", "completed"), "-1")
        )
        number = str(entry["collective_seq_id"])
        of_group["last_enqueued_collective"] = number
        if entry["state"] != "scheduled":
            of_group["last_started_collective"] = number
        if entry["state"] == "completed":
            of_group["last_completed_collective"] = number
    return status


def _steps(*names: str) -> list[str]:
    return [f"last_{name}_collective" for name in names]
