"""What reports say of the device and the versions, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Document = Mapping[str, Any]
SIMULATED = "The device is simulated: this says whether CUDA programs run, and nothing about hardware."


def device(document: Document) -> str:
    """The device of a report."""
    described = document["device"]
    if described is None:
        return "none"
    capability = ".".join(map(str, described["capability"]))
    memory = f"{described['memory_bytes'] / 2**30:.1f} GiB"
    text = f"{described['count']} x {described['name']}, {memory}, capability {capability}"
    return f"{text}, simulated" if document["simulated"] and "simulated" not in text else text


def versions(document: Document) -> str:
    """The versions of a report, in one line."""
    return ", ".join(f"{name} {version}" for name, version in document["versions"].items())


def problem(document: Document, command: str) -> list[str]:
    """Why nothing was run, and what to do where no device was found."""
    lines = [f"torchada {command}: {document['problem']}"]
    if document["platform"] is not None and document["device"] is None:
        lines.append("Use --simulate for a simulated MUSA device, or --on cpu to let CUDA be a name for the CPU.")
    return lines
