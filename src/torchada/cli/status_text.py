"""The report of `torchada status` for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from torchada.report.text import counted, table

Report = Mapping[str, Any]


def as_text(
    report: Report, verbosity: int = 0, everything: bool = False, apis: Mapping[str, Sequence[str]] | None = None
) -> str:
    """The report as lines: a screen, or `everything`. `apis` are the APIs of CUDA that each area redirects, listed too."""
    lines = [_first_line(report)]
    if verbosity >= 0:
        lines += [*_surroundings(report), *(_in_full(report, apis or {}) if everything else _in_numbers(report))]
        lines += [*_cpu_fallbacks(report), *_environment(report)]
    return "\n".join([*lines, *_complaints(report)])


def _in_full(report: Report, apis: Mapping[str, Sequence[str]]) -> list[str]:
    return [*_modules(report), *_areas(report, apis), *_workarounds(report), *_views(report)]


def _in_numbers(report: Report) -> list[str]:
    """How many modules and areas are in which state, and what has failed; the rest is behind --all."""
    modules = Counter(_state(text) for text in report["modules"].values())
    areas = Counter(area["outcome"] for area in report["areas"])
    lines = [_titled("modules", _numbers(modules))]
    lines += [_titled("areas", _numbers(areas))] if areas else _areas(report, {})
    lines += [
        f"    {area['name']}  failed: {area['reason']}" for area in report["areas"] if area["outcome"] == "failed"
    ]
    for title, noun in (("workarounds", "workaround"), ("views", "package")):
        if report[title]:
            lines.append(_titled(title, counted(len(report[title]), noun)))
    return [*lines, _titled("", "--all lists them")]


def _state(text: str) -> str:
    return text.partition(":")[0].replace(", ", " and ")


def _numbers(counts: Counter[str]) -> str:
    return ", ".join(f"{number} {state}" for state, number in counts.most_common())


def _first_line(report: Report) -> str:
    state = "active" if report["active"] else "inactive"
    if report["active"] and not report["platform"]["chosen_with_torch"]:
        state = "active as soon as torch is imported (--probe tries it)"
    return f"torchada {report['torchada']}: {state}{' (TORCHADA_DISABLE)' if report['disabled'] else ''}"


def _titled(title: str, text: str) -> str:
    return f"{title:<14}  {text}"


def _surroundings(report: Report) -> list[str]:
    startup, finder, strings = report["startup"], report["finder"], report["device_strings"]
    compiled = "" if startup["bytecode_cached"] else " (no .pyc yet)"
    place = f"position {finder['position']} of {finder['of']}" if finder["installed"] else "none"
    versions = (f"{name} {number or 'not installed'}" for name, number in report["versions"].items())
    return [
        _titled("start-up file", (startup["file"] or "none in force") + compiled),
        _titled("finder", place),
        _titled("platform", f"{report['platform']['name']}: {report['platform']['why']}"),
        _titled("device strings", f"{strings['mechanism']}: {strings['why']}"),
        _titled("versions", ", ".join(versions)),
    ]


def _modules(report: Report) -> list[str]:
    return ["modules", *table(report["modules"].items())]


def _areas(report: Report, apis: Mapping[str, Sequence[str]]) -> list[str]:
    areas = report["areas"]
    if not areas:
        return [_titled("areas", "none applied yet (--probe imports torch and applies them)")]
    rows = table((area["name"], area["outcome"], _outcome(area)) for area in areas)
    lines = ["areas"]
    for area, row in zip(areas, rows, strict=True):
        lines += [row, *(f"        {api}" for api in apis.get(area["name"], ()))]
    return lines


def _workarounds(report: Report) -> list[str]:
    if not report["workarounds"]:
        return []
    rows = ((row["area"], row["versions"], row["for"]) for row in report["workarounds"])
    return ["workarounds for versions", *table(rows)]


def _cpu_fallbacks(report: Report) -> list[str]:
    if not report["cpu_fallbacks"]:
        return []
    return [
        "computed on the CPU",
        *table((name, counted(calls, "call")) for name, calls in report["cpu_fallbacks"].items()),
    ]


def _views(report: Report) -> list[str]:
    if not report["views"]:
        return []
    rows = ((row["package"] or "code without a name", row["view"], row["why"]) for row in report["views"])
    return ["views", *table(rows)]


def _outcome(area: Mapping[str, Any]) -> str:
    return counted(area["patches"], "patch") if area["outcome"] == "applied" else area["reason"]


def _environment(report: Report) -> list[str]:
    environment = report["environment"]
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


def _complaints(report: Report) -> list[str]:
    others = (warning for warning in report["warnings"] if warning not in report["problems"])
    return [
        *(_titled("problem", problem) for problem in report["problems"]),
        *(_titled("warning", warning) for warning in others),
    ]
