"""The report of `torchada verify` as one page of HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timezone
from html import escape

from torchada.report import pages
from torchada.report.pages import parts
from torchada.report.severity import ERROR, OK, worst
from torchada.report.text import counted
from torchada.tools.runner import environment_text
from torchada.tools.runner.environment_text import SIMULATED
from torchada.tools.verify import report
from torchada.tools.verify.outcomes import MEANINGS, SEVERITIES
from torchada.tools.verify.report import Document

_HEAD = ("data type", "outcome", "largest error", "tolerance", "seconds", "")
_FOOTER = (
    "Each check is a program written for CUDA, run on the device; its answer is compared with the CPU's in double precision. "
    "A number may differ by the absolute plus the relative tolerance times its value; the bar shows the largest error beside that. "
    "Each is run in a process that is ended when it takes too long, and replaced when it has crashed. The JSON of this report "
    "is within the page."
)
_NOTHING = '<p class="soft">No check was run.</p>'
_NAMES = {"error": "wrong", "warning": "unsupported", "note": "skipped", "ok": "passed"}


def page(found: Document) -> str:
    """The page for a report."""
    groups = report.by_group(found)
    looks = {SEVERITIES[each["outcome"]] for each in found["checks"]}
    return pages.tool_page(
        "torchada verify",
        found,
        eyebrow="Does the device compute what the CPU computes?",
        name=escape(environment_text.device(found)),
        surroundings=escape(_when(found)),
        question=escape(_verdict(found)),
        shares=parts.shares(_shares(found)),
        heading="Checks",
        switches="".join(parts.switch(look, _NAMES[look]) for look in _NAMES if look in looks),
        rows=_faults(found) + "".join(_group(*each) for each in groups.items()) or _NOTHING,
        aside_title="Groups",
        aside="".join(_aside(name, checks) for name, checks in groups.items()) + _versions(found),
        footer=escape(f"{SIMULATED} {_FOOTER}" if found["simulated"] else _FOOTER),
    )


def _when(found: Document) -> str:
    when = datetime.fromtimestamp(found["created"], timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    return f"{when}, level {found['level']}, {found['seconds']} s, torchada {found['torchada']}, {found['system']}"


def _verdict(found: Document) -> str:
    if found["problem"]:
        return str(found["problem"])
    bad = len(report.faults(found))
    return f"{counted(bad, 'fault')} found" if bad else "No fault found"


def _shares(found: Document) -> list[parts.Share]:
    return [
        parts.Share(severity, found["totals"][outcome], outcome, MEANINGS[outcome])
        for outcome, severity in SEVERITIES.items()
    ]


def _faults(found: Document) -> str:
    """What is wrong comes first, so that nobody has to look for it."""
    bad = report.faults(found)
    rows = (parts.row(ERROR, each["name"], each["detail"], each["outcome"], "", _within([each])) for each in bad)
    return parts.group("what is wrong", len(bad), "".join(rows)) if bad else ""


def _group(name: str, checks: Sequence[Document]) -> str:
    subjects = report.by_subject(checks)
    html = "".join(_subject(f"{name}.{subject}", rows) for subject, rows in subjects.items())
    return parts.group(name, len(checks), html)


def _subject(name: str, rows: Sequence[Document]) -> str:
    """One row of the page: the checks of an operator in all data types, or one program."""
    look = worst(SEVERITIES[each["outcome"]] for each in rows)
    counts = Counter(each["outcome"] for each in rows)
    mark = next(outcome for outcome in SEVERITIES if counts[outcome])
    share = report.worst_share(rows)
    remark = ", ".join(each["dtype"] for each in rows if each["dtype"])
    bar = None if share is None else min(share, 1.0)
    return parts.row(look, name, remark, mark, str(len(rows)), _within(rows), bar)


def _within(rows: Sequence[Document]) -> str:
    return parts.table(_HEAD, [_cells(each) for each in rows]) + "".join(map(_log, rows))


def _cells(check: Document) -> tuple[str, ...]:
    tolerance = check["tolerance"]
    allowed = f"{tolerance['absolute']:.2g} + {tolerance['relative']:.2g} |x|" if tolerance else ""
    error = "" if check["error"] is None else f"{100 * check['error']:.2g} % of the tolerance"
    seconds = "" if check["seconds"] is None else f"{check['seconds']:.3f}"
    return check["dtype"] or "", check["outcome"], error, allowed, seconds, check["detail"]


def _log(check: Document) -> str:
    return f'<code class="source">{escape(check["log"])}</code>' if check["log"] else ""


def _aside(name: str, checks: Sequence[Document]) -> str:
    looks = Counter(SEVERITIES[each["outcome"]] for each in checks)
    bars = [(look, looks[look] / len(checks)) for look in (*_NAMES,) if looks[look]]
    shown = name if set(looks) <= {OK, "note"} else f"{name}: {looks['error'] + looks['warning']}"
    return parts.filtering(shown, len(checks), f"{name}.", bars)


def _versions(found: Document) -> str:
    rows = [*found["versions"].items(), *found["environment"].items()]
    return f"<h2>Versions</h2>{parts.table(('', ''), rows)}"
