"""One screen about an environment, to paste into an issue. It names no host, no user and no folder of the user's by its path."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator, Sequence
from typing import Any

from torchada.report import schemas
from torchada.report.severity import ERROR, WARNING
from torchada.tools.doctor.facts import Facts, Probe
from torchada.tools.doctor.results import Result

# What others need to know; anything else that is set may be private.
_SHOWN = re.compile(
    r"TORCHADA_\w+|MUSASIM_\w+|PYTORCH_\w+|(?:MUSA|CUDA|MTHREADS|ASCEND|ASCEND_RT|MLU)_VISIBLE_DEVICES|(?:MUSA|CUDA)_LAUNCH_BLOCKING"
    r"|(?:NCCL|MCCL)_DEBUG|MUSA_HOME|TORCH_DEVICE_BACKEND_AUTOLOAD"
)
_OURS = ("torchada", "torch", "wrapt")


def document(facts: Facts, results: Sequence[Result]) -> dict[str, Any]:
    """The report as data; its schema is torchada/report/schemas/info.json."""
    entries = [{"name": name, "value": private(value)} for name, value in _entries(facts, results) if value]
    return {**schemas.envelope("info"), "entries": entries}


def _entries(facts: Facts, results: Sequence[Result]) -> Iterator[tuple[str, str]]:
    yield "torchada", facts.torchada
    yield "platform", _platform(facts.status)
    yield "mechanism", _mechanism(facts.status)
    yield "torch", _torch(facts.torch)
    yield facts.adapter_name, _adapter(facts)
    yield "devices", _devices(facts)
    yield "driver", facts.machine.driver
    yield "MUSA SDK", facts.machine.sdk
    yield "Python", f"{facts.python}, {platform.python_implementation()}{_environment(facts)}"
    yield "system", f"{facts.machine.system}, {' '.join(platform.libc_ver())}".rstrip(", ")
    yield "C++ compiler", facts.machine.host_compiler
    yield "packages", _packages(facts)
    shown = [f"{name}={value}" for name, value in facts.variables.items() if _SHOWN.fullmatch(name)]
    yield "variables", "\n".join(shown)
    yield "problems", "\n".join(f"{each.subject}: {each.text}" for each in results if each.severity in (ERROR, WARNING))


def _platform(status: Probe) -> str:
    if not status.ok:
        return status.error
    found = status.found
    state = "active" if found["active"] else "inactive"
    return f"{found['platform']['name']} ({state}): {found['platform']['why']}"


def _mechanism(status: Probe) -> str:
    if not status.ok or not status.found["active"]:
        return ""
    strings = status.found["device_strings"]
    failed = [area["name"] for area in status.found["areas"] if area["outcome"] == "failed"]
    without = f"; failed: {', '.join(failed)}" if failed else ""
    return f"{strings['mechanism']}: {strings['why']}{without}"


def _torch(probe: Probe) -> str:
    if not probe.ok:
        return f"cannot be imported: {probe.error}"
    build = probe.found.get("cuda") and f"CUDA {probe.found['cuda']}"
    return f"{probe.found['version']}{f', built for {build}' if build else ''}"


def _adapter(facts: Facts) -> str:
    found = facts.adapter.found
    if not found.get("installed"):
        return "not installed"
    if "error" in found:
        return f"cannot be imported: {found.get('cause') or found['error']}"
    return (
        f"{found.get('version', '')} {'(simulated)' if found.get('simulated') else ''}".strip() or facts.adapter.error
    )


def _devices(facts: Facts) -> str:
    names: Sequence[str] = facts.adapter.found.get("devices", ())
    return ", ".join(f"{names.count(name)} x {name}" for name in dict.fromkeys(names))


def _environment(facts: Facts) -> str:
    kind = "conda" if os.path.isdir(os.path.join(facts.prefix, "conda-meta")) else ""
    kind = kind or ("a virtual environment" if os.path.isfile(os.path.join(facts.prefix, "pyvenv.cfg")) else "")
    return f", in {kind}" if kind else ""


def _packages(facts: Facts) -> str:
    named = (*_OURS, facts.adapter_name.replace("_", "-"))
    found = {each.name: each.version for each in reversed(facts.distributions) if each.name not in named}
    return ", ".join(f"{name} {version}" for name, version in sorted(found.items()))


def private(text: str) -> str:
    """A text without the paths of homes: the user's own is ~, and others are <home>."""
    home = os.path.expanduser("~")
    if len(home) > 1:
        text = re.sub(rf"{re.escape(home)}(?=[/\s:,;)\"']|$)", "~", text)
    return re.sub(r"/(?:home|Users)/[^/\s:,;)\"']+", "<home>", text)
