"""The report of `torchada verify` for people at a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from torchada.report.severity import worst
from torchada.report.terminal import Terminal
from torchada.report.text import counted
from torchada.tools.runner import environment_text
from torchada.tools.runner.environment_text import SIMULATED
from torchada.tools.verify import report
from torchada.tools.verify.outcomes import FAULTS, PASSED, SEVERITIES, SKIPPED, UNSUPPORTED
from torchada.tools.verify.report import Document


def lines(document: Document, terminal: Terminal, verbosity: int = 0) -> list[str]:
    """The report as lines. Quiet: the faults and the last line; verbose: every check."""
    if document["problem"]:
        return environment_text.problem(document, "verify")
    shown = _surroundings(document) if verbosity >= 0 else []
    if verbosity > 0:
        shown += _every(document, terminal)
    elif verbosity == 0:
        shown += _groups(document, terminal)
    return [
        *shown,
        *_faults(document, terminal, verbosity),
        *_left_out(document, terminal, verbosity),
        *_last(document, terminal),
    ]


def _surroundings(document: Document) -> list[str]:
    head = f"torchada {document['torchada']} verify, level {document['level']}"
    return [head, f"device    {environment_text.device(document)}", f"versions  {environment_text.versions(document)}"]


def _groups(document: Document, terminal: Terminal) -> list[str]:
    rows, looks = [], []
    for name, checks in report.by_group(document).items():
        share = report.worst_share(checks)
        error = "" if share is None else f"largest error {100 * share:.2g} % of the tolerance"
        rows.append((name, _counts(checks), error))
        looks.append(worst(SEVERITIES[check["outcome"]] for check in checks))
    return ["", *terminal.table(rows, indent="  ", looks=looks)]


def _counts(checks: Sequence[Document]) -> str:
    counts = Counter(check["outcome"] for check in checks)
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in reversed(SEVERITIES) if counts[outcome])


def _every(document: Document, terminal: Terminal) -> list[str]:
    rows = [(check["outcome"], check["name"], _remark(check)) for check in document["checks"]]
    return ["", *terminal.table(rows, indent="  ", looks=[SEVERITIES[row[0]] for row in rows])]


def _remark(check: Document) -> str:
    if check["detail"]:
        return str(check["detail"])
    return "" if check["error"] is None else f"{100 * check['error']:.2g} % of the tolerance"


def _faults(document: Document, terminal: Terminal, verbosity: int) -> list[str]:
    shown: list[str] = []
    for check in report.faults(document):
        shown += ["", f"{terminal.painted(check['outcome'].upper(), 'error')} {check['name']}"]
        shown += terminal.table([(check["detail"],)], indent="  ")
        if verbosity > 0 and check["log"]:
            shown += [f"  | {line}" for line in check["log"].splitlines()]
    return shown


def _left_out(document: Document, terminal: Terminal, verbosity: int) -> list[str]:
    """What was not checked, and why; a reason that several checks have is said once."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for check in document["checks"]:
        if check["outcome"] in (UNSUPPORTED, SKIPPED):
            reasons.setdefault((check["outcome"], check["detail"]), []).append(check["name"])
    if verbosity != 0 or not reasons:
        return []
    rows = [(outcome, f"{', '.join(names)}: {why}") for (outcome, why), names in reasons.items()]
    return ["", *terminal.table(rows, indent="", looks=[SEVERITIES[row[0]] for row in rows])]


def _last(document: Document, terminal: Terminal) -> list[str]:
    totals = {outcome: number for outcome, number in document["totals"].items() if number}
    said = ", ".join(f"{totals[outcome]:,} {outcome}" for outcome in reversed(SEVERITIES) if outcome in totals)
    bad = sum(document["totals"][outcome] for outcome in FAULTS)
    look = "error" if bad else "ok"
    verdict = (
        f"{counted(bad, 'fault')} found" if bad else "no fault found" if totals.get(PASSED) else "nothing was checked"
    )
    last = ["", f"{terminal.painted(verdict, look)}: {said or 'no check'} in {document['seconds']} s"]
    return [*last, SIMULATED] if document["simulated"] else last
