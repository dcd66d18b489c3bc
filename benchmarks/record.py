"""What the benchmarks share: a core of their own, and the history, with the machine and the versions of each measurement."""

from __future__ import annotations

import json
import os
import platform
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

HISTORY = Path(__file__).with_name("history.json")


def stay_on_one_core() -> None:
    """Keep this process and those it starts on one core, so that what else runs on the machine falls on all of them alike."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def machine() -> dict[str, object]:
    """What a reader has to know of the machine."""
    return {"cpu": _cpu_model(), "cores": os.cpu_count(), "system": f"{platform.system()} {platform.machine()}"}


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def append(benchmark: str, versions: dict[str, str], results: Any, history: Path = HISTORY) -> dict[str, Any]:
    """Add one measurement to the history, and return its entry there."""
    entries = json.loads(history.read_text()) if history.exists() else []
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    entry = {"benchmark": benchmark, "date": now, "machine": machine(), "versions": versions, "results": results}
    history.write_text(json.dumps([*entries, entry], indent=1) + "\n")
    return entry
