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


def lines(found: Document, terminal: Terminal, verbosity: int = 0) -> list[str]:
    """The report as lines. Quiet: the faults and the last line; verbose: every check."""
    if found["problem"]:
        return environment_text.problem(found, "verify")
    shown = _surroundings(found) if verbosity >= 0 else []
    if verbosity > 0:
        shown += _every(found, terminal)
    elif verbosity == 0:
        shown += _groups(found, terminal)
    return [
        *shown,
        *_faults(found, terminal, verbosity),
        *_left_out(found, terminal, verbosity),
        *_last(found, terminal),
    ]


def _surroundings(found: Document) -> list[str]:
    head = f"torchada {found['torchada']} verify, level {found['level']}"
    return [head, f"device    {environment_text.device(found)}", f"versions  {environment_text.versions(found)}"]


def _groups(found: Document, terminal: Terminal) -> list[str]:
    rows, looks = [], []
    for name, checks in report.by_group(found).items():
        share = report.worst_share(checks)
        error = "" if share is None else f"largest error {100 * share:.2g} % of the tolerance"
        rows.append((name, _counts(checks), error))
        looks.append(worst(SEVERITIES[each["outcome"]] for each in checks))
    return ["", *terminal.table(rows, indent="  ", looks=looks)]


def _counts(checks: Sequence[Document]) -> str:
    counts = Counter(each["outcome"] for each in checks)
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in reversed(SEVERITIES) if counts[outcome])


def _every(found: Document, terminal: Terminal) -> list[str]:
    rows = [(each["outcome"], each["name"], _remark(each)) for each in found["checks"]]
    return ["", *terminal.table(rows, indent="  ", looks=[SEVERITIES[row[0]] for row in rows])]


def _remark(check: Document) -> str:
    if check["detail"]:
        return str(check["detail"])
    return "" if check["error"] is None else f"{100 * check['error']:.2g} % of the tolerance"


def _faults(found: Document, terminal: Terminal, verbosity: int) -> list[str]:
    shown: list[str] = []
    for each in report.faults(found):
        shown += ["", f"{terminal.painted(each['outcome'].upper(), 'error')} {each['name']}"]
        shown += terminal.table([(each["detail"],)], indent="  ")
        if verbosity > 0 and each["log"]:
            shown += [f"  | {line}" for line in each["log"].splitlines()]
    return shown


def _left_out(found: Document, terminal: Terminal, verbosity: int) -> list[str]:
    """What was not checked, and why; a reason that several checks have is said once."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for each in found["checks"]:
        if each["outcome"] in (UNSUPPORTED, SKIPPED):
            reasons.setdefault((each["outcome"], each["detail"]), []).append(each["name"])
    if verbosity != 0 or not reasons:
        return []
    rows = [(outcome, f"{', '.join(names)}: {why}") for (outcome, why), names in reasons.items()]
    return ["", *terminal.table(rows, indent="", looks=[SEVERITIES[row[0]] for row in rows])]


def _last(found: Document, terminal: Terminal) -> list[str]:
    totals = {outcome: number for outcome, number in found["totals"].items() if number}
    said = ", ".join(f"{totals[outcome]:,} {outcome}" for outcome in reversed(SEVERITIES) if outcome in totals)
    bad = sum(found["totals"][outcome] for outcome in FAULTS)
    look = "error" if bad else "ok"
    verdict = (
        f"{counted(bad, 'fault')} found" if bad else "no fault found" if totals.get(PASSED) else "nothing was checked"
    )
    last = ["", f"{terminal.painted(verdict, look)}: {said or 'no check'} in {found['seconds']} s"]
    return [*last, SIMULATED] if found["simulated"] else last
