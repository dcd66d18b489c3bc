"""Shared by the benchmarks: a core of their own, and what is recorded with a measurement (history.py reads it)."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

from history import HISTORY as HISTORY  # the benchmarks name it in their help
from history import Entry, line


def stay_on_one_core() -> None:
    """Keep this process and those it starts on one core, so that other load on the machine affects all of them alike."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def machine() -> dict[str, object]:
    """What a reader has to know about the machine."""
    return {"cpu": _cpu_model(), "cores": os.cpu_count(), "system": f"{platform.system()} {platform.machine()}"}


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def append(benchmark: str, versions: dict[str, str], results: Any, history: Path = HISTORY) -> Entry:
    """Add one measurement to the history, and return its entry there."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    entry = {
        "benchmark": benchmark,
        "date": now,
        "revision": revision(),
        "machine": machine(),
        "versions": {**_installed(), **versions},
        "results": results,
    }
    with history.open("a") as file:
        file.write(line(entry))
    return entry


def _installed() -> dict[str, str]:
    """The versions that every measurement names, unless the benchmark itself names others."""
    versions = {name: _version(name) for name in ("torch", "torchada")}
    return {"python": platform.python_version(), **{name: number for name, number in versions.items() if number}}


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def revision() -> str:
    """The revision of the sources, with a plus where they have been changed since; "unknown" outside of a checkout."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--exclude=*", "--dirty=+"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
