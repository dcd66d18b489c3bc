"""The report of `torchada status` for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torchada.report.text import columns, counted

Report = Mapping[str, Any]


def as_text(found: Report, verbosity: int = 0, apis: Mapping[str, Sequence[str]] | None = None) -> str:
    """The report as lines. `apis` are the APIs of CUDA that each area redirects, which a verbose report lists."""
    lines = [_first_line(found)]
    if verbosity >= 0:
        lines += [
            *_surroundings(found),
            *_modules(found),
            *_areas(found, apis or {}),
            *_workarounds(found),
            *_views(found),
            *_environment(found),
        ]
    return "\n".join([*lines, *_complaints(found)])


def _first_line(found: Report) -> str:
    state = "active" if found["active"] else "inactive"
    return f"torchada {found['torchada']}: {state}{' (TORCHADA_DISABLE)' if found['disabled'] else ''}"


def _titled(title: str, text: str) -> str:
    return f"{title:<14}  {text}"


def _surroundings(found: Report) -> list[str]:
    startup, finder, strings = found["startup"], found["finder"], found["device_strings"]
    compiled = "" if startup["bytecode_cached"] else " (no .pyc yet)"
    place = f"position {finder['position']} of {finder['of']}" if finder["installed"] else "none"
    versions = (f"{name} {number or 'not installed'}" for name, number in found["versions"].items())
    return [
        _titled("start-up file", (startup["file"] or "none in force") + compiled),
        _titled("finder", place),
        _titled("platform", f"{found['platform']['name']}: {found['platform']['why']}"),
        _titled("device strings", f"{strings['mechanism']}: {strings['why']}"),
        _titled("versions", ", ".join(versions)),
    ]


def _modules(found: Report) -> list[str]:
    return ["modules", *columns(found["modules"].items())]


def _areas(found: Report, apis: Mapping[str, Sequence[str]]) -> list[str]:
    areas = found["areas"]
    if not areas:
        return [_titled("areas", "none applied yet (--probe imports torch and applies them)")]
    rows = columns((area["name"], area["outcome"], _outcome(area)) for area in areas)
    lines = ["areas"]
    for area, row in zip(areas, rows, strict=True):
        lines += [row, *(f"        {api}" for api in apis.get(area["name"], ()))]
    return lines


def _workarounds(found: Report) -> list[str]:
    if not found["workarounds"]:
        return []
    rows = ((each["area"], each["versions"], each["for"]) for each in found["workarounds"])
    return ["workarounds for versions", *columns(rows)]


def _views(found: Report) -> list[str]:
    if not found["views"]:
        return []
    rows = ((each["package"] or "code without a name", each["view"], each["why"]) for each in found["views"])
    return ["views", *columns(rows)]


def _outcome(area: Mapping[str, Any]) -> str:
    return counted(area["patches"], "patch") if area["outcome"] == "applied" else area["reason"]


def _environment(found: Report) -> list[str]:
    environment = found["environment"]
    if not environment["in_force"]:
        return [_titled("environment", "no TORCHADA_ variable is set")]
    return ["environment", *(_variable(name, value, environment) for name, value in environment["in_force"].items())]


def _variable(name: str, value: str, environment: Mapping[str, Any]) -> str:
    remark = ""
    if name in environment["unknown"]:
        remark = "   (unknown)"
    elif any(entry.startswith(f"{name}=") for entry in environment["not_understood"]):
        remark = "   (not understood, ignored)"
    return f"    {name}={value}{remark}"


def _complaints(found: Report) -> list[str]:
    others = (warning for warning in found["warnings"] if warning not in found["problems"])
    return [
        *(_titled("problem", problem) for problem in found["problems"]),
        *(_titled("warning", warning) for warning in others),
    ]
