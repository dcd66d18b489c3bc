"""From the facts to what the doctor says, and to the report as data and as lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from torchada.report import schemas
from torchada.report.severity import ERROR, OK, SEVERITIES, WARNING
from torchada.report.text import counted
from torchada.tools.doctor import environment_checks, software_checks
from torchada.tools.doctor.facts import Facts
from torchada.tools.doctor.results import Result
from torchada.tools.doctor.version_pairs import PAIRS

Check = Callable[[Facts], Iterator[Result]]
CHECKS: tuple[Check, ...] = (
    software_checks.python,
    software_checks.torch,
    software_checks.adapter,
    software_checks.belongs,
    software_checks.triton,
    software_checks.companions,
    software_checks.conflicts,
    software_checks.needs,
    environment_checks.startup,
    environment_checks.redirection,
    environment_checks.variables,
    environment_checks.machine,
    environment_checks.nodes,
)


def examine(facts: Facts) -> list[Result]:
    """What every check says. A check that raises an exception is reported as a result, and the others still run."""
    results: list[Result] = []
    for check in CHECKS:
        try:
            results += check(facts)
        except Exception as error:
            text = f"this check failed: {type(error).__name__}: {error}"
            results.append(Result("doctor", ERROR, check.__name__, text, "report it to torchada, with this output"))
    return results


def document(facts: Facts, results: Sequence[Result]) -> dict[str, Any]:
    """The report as data; its schema is torchada/report/schemas/doctor.json."""
    return {
        **schemas.envelope("doctor"),
        "healthy": is_healthy(results),
        "results": [result._asdict() for result in results],
        "facts": {
            "python": facts.python,
            "prefix": facts.prefix,
            "distributions": [distribution._asdict() for distribution in facts.distributions],
            "torch": _probe(facts.torch),
            "adapter": _probe(facts.adapter),
            "machine": {**facts.machine._asdict(), "nodes": [node._asdict() for node in facts.machine.nodes]},
            "startup": [file._asdict() for file in facts.startup],
            "variables": dict(facts.variables),
        },
        "pairs": [pair._asdict() for pair in PAIRS],
    }


def _probe(probe: Any) -> dict[str, Any]:
    return {"found": dict(probe.answer), "error": probe.error, "seconds": round(probe.seconds, 2)}


def is_healthy(results: Sequence[Result]) -> bool:
    """Whether nothing is wrong, and nothing doubtful."""
    return not any(result.severity in (ERROR, WARNING) for result in results)


def lines(
    results: Sequence[Result], verbosity: int, painted: Callable[[str, str], str], rows: Callable[..., list[str]]
) -> list[str]:
    """The report for people: what is wrong first, with what to do; then the rest, unless -q."""
    wrong = [result for result in results if result.severity in (ERROR, WARNING)]
    head = f"{counted(len(wrong), 'problem')}" if wrong else "healthy"
    out = [painted(f"torchada doctor: {head}", wrong[0].severity if wrong else OK)]
    shown = sorted(results, key=lambda result: SEVERITIES.index(result.severity))
    shown = [result for result in shown if verbosity >= 0 or result.severity in (ERROR, WARNING)]
    cells = [(result.severity, result.subject, _text(result, verbosity > 0)) for result in shown]
    out += rows(cells, "  ", [result.severity for result in shown])
    if verbosity > 0:
        out += ["", "what belongs together (torch_musa, torch, MUSA SDK, Python of the wheels)"]
        out += rows(
            [(pair.adapter, pair.torch, pair.sdk or "?", pair.python or "?", pair.source) for pair in PAIRS], "  "
        )
    return [*out, "", "`torchada explain CODE` says more of a code in brackets"] if wrong and verbosity >= 0 else out


def _text(result: Result, with_source: bool) -> str:
    is_wrong = result.severity in (ERROR, WARNING)
    parts = [f"{result.text} [{result.check}]" if is_wrong else result.text]
    parts += [f"-> {result.cure}"] if result.cure else []
    parts += [f"({result.source})"] if result.source and (with_source or is_wrong) else []
    return "\n".join(parts)
