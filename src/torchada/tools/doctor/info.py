"""One screen about an environment, to paste into an issue. It names no host, no user and no folder of the user's by its path."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator, Sequence
from typing import Any

from torchada.base import settings
from torchada.base.private import is_secret, masked
from torchada.report import schemas
from torchada.report.severity import ERROR, WARNING
from torchada.tools.doctor.facts import Facts, Probe
from torchada.tools.doctor.results import Result

# What others need to know besides torchada's variables and the simulator's; anything else that is set may be private.
_SHOWN = re.compile(
    r"PYTORCH_(?:(?:CUDA|MUSA|NPU|MLU|NO_CUDA|NO_MUSA)_)?(?:ALLOC_CONF|MEMORY_CACHING)|(?:MUSA|CUDA|MTHREADS|ASCEND|ASCEND_RT|MLU|HOST)_VISIBLE_DEVICES|(?:MUSA|CUDA)_LAUNCH_BLOCKING"
    r"|ZE_AFFINITY_MASK|(?:NCCL|MCCL)_DEBUG|MUSA_HOME|TORCH_DEVICE_BACKEND_AUTOLOAD"
)
_OF_THE_SYSTEM = ("/usr/", "/opt/")
_OURS = ("torchada", "torch", "wrapt")


def document(facts: Facts, results: Sequence[Result]) -> dict[str, Any]:
    """The report as data; its schema is torchada/report/schemas/info.json."""
    entries = [{"name": name, "value": private(value)} for name, value in _entries(facts, results) if value]
    return {**schemas.envelope("info"), "entries": entries}


def _entries(facts: Facts, results: Sequence[Result]) -> Iterator[tuple[str, str]]:
    yield "torchada", _with_origin(facts.torchada, _origin_of(facts, "torchada"))
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
    yield "variables", "\n".join(_variable(name, value) for name, value in facts.variables.items() if _is_shown(name))
    yield "problems", "\n".join(_problem(result) for result in results if result.severity in (ERROR, WARNING))


def _is_shown(name: str) -> bool:
    from musasim.base.settings import KINDS

    return settings.variable(name) is not None or name in KINDS or _SHOWN.fullmatch(name) is not None


def _variable(name: str, value: str) -> str:
    """A folder of the user's is not named, except in his home: that it is set is what matters."""
    folder = any(
        part.startswith("/") and not part.startswith(_OF_THE_SYSTEM) for part in re.split("[:,]", private(value))
    )
    return f"{name}={'(set)' if folder or is_secret(name) else masked(value)}"


def _problem(result: Result) -> str:
    text = result.text
    if result.check == "variable-not-understood":  # nobody knows what its value is
        text = f"{text.partition('=')[0]} is not understood, and ignored"
    return f"{result.subject}: {text}"


def _platform(status: Probe) -> str:
    if not status.ok:
        return status.error
    report = status.answer
    state = "active" if report["active"] else "inactive"
    return f"{report['platform']['name']} ({state}): {report['platform']['why']}"


def _mechanism(status: Probe) -> str:
    if not status.ok or not status.answer["active"]:
        return ""
    strings = status.answer["device_strings"]
    failed = [area["name"] for area in status.answer["areas"] if area["outcome"] == "failed"]
    without = f"; failed: {', '.join(failed)}" if failed else ""
    return f"{strings['mechanism']}: {strings['why']}{without}"


def _torch(probe: Probe) -> str:
    if not probe.ok:
        return f"cannot be imported: {probe.error}"
    build = probe.answer.get("cuda") and f"CUDA {probe.answer['cuda']}"
    return f"{probe.answer['version']}{f', built for {build}' if build else ''}"


def _adapter(facts: Facts) -> str:
    answer = facts.adapter.answer
    if not answer.get("installed"):
        return "not installed"
    if "error" in answer:
        return f"cannot be imported: {answer.get('cause') or answer['error']}"
    return (
        f"{answer.get('version', '')} {'(simulated)' if answer.get('simulated') else ''}".strip() or facts.adapter.error
    )


def _devices(facts: Facts) -> str:
    names: Sequence[str] = facts.adapter.answer.get("devices", ())
    return ", ".join(f"{names.count(name)} x {name}" for name in dict.fromkeys(names))


def _environment(facts: Facts) -> str:
    kind = "conda" if os.path.isdir(os.path.join(facts.prefix, "conda-meta")) else ""
    kind = kind or ("a virtual environment" if os.path.isfile(os.path.join(facts.prefix, "pyvenv.cfg")) else "")
    return f", in {kind}" if kind else ""


def _packages(facts: Facts) -> str:
    named = (*_OURS, facts.adapter_name.replace("_", "-"))
    shown = {package.name: package for package in reversed(facts.distributions) if package.name not in named}
    return ", ".join(f"{name} {_with_origin(one.version, one.origin)}" for name, one in sorted(shown.items()))


def _origin_of(facts: Facts, name: str) -> str:
    """What a distribution was installed from; empty for an index."""
    return next((package.origin for package in facts.distributions if package.name == name), "")


def _with_origin(version: str, origin: str) -> str:
    """A version, with the revision that it is of; of folders and files only that they are some."""
    kind = "editable" if origin.startswith("editable") else origin if "://" in origin else "from a file"
    return f"{version} ({kind})" if origin else version


def private(text: str) -> str:
    """A text without the paths of homes, of which the user's own is ~ and others are <home>, and without his login name."""
    home = os.path.expanduser("~")
    if len(home) > 1:
        text = re.sub(rf"{re.escape(home)}(?=[/\s:,;)\"']|$)", "~", text)
    text = re.sub(r"/(?:home|Users)/[^/\s:,;)\"']+", "<home>", text)
    for name in {settings.of_others("USER"), settings.of_others("LOGNAME")} - {"", "root"}:
        text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", "<user>", text)
    return text
