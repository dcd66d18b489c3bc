"""The report of `torchada verify` as one page of HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape

from torchada.report import pages
from torchada.report.pages import parts
from torchada.report.severity import ERROR, OK, worst
from torchada.report.text import counted, moment
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


def page(document: Document) -> str:
    """The page for a report."""
    groups = report.by_group(document)
    looks = {SEVERITIES[check["outcome"]] for check in document["checks"]}
    return pages.page(
        "torchada verify",
        document,
        eyebrow="Does the device compute what the CPU computes?",
        name=environment_text.device(document),
        surroundings=_when(document),
        question=_verdict(document),
        shares=_shares(document),
        heading="Checks",
        switches={look: name for look, name in _NAMES.items() if look in looks},
        rows=_faults(document) + "".join(_group(*group) for group in groups.items()) or _NOTHING,
        aside_title="Groups",
        aside="".join(_aside(name, checks) for name, checks in groups.items()) + _versions(document),
        footer=f"{SIMULATED} {_FOOTER}" if document["simulated"] else _FOOTER,
    )


def _when(document: Document) -> str:
    when = moment(document["created"])
    return f"{when}, level {document['level']}, {document['seconds']} s, torchada {document['torchada']}, {document['system']}"


def _verdict(document: Document) -> str:
    if document["problem"]:
        return str(document["problem"])
    bad = len(report.faults(document))
    return f"{counted(bad, 'fault')} found" if bad else "No fault found"


def _shares(document: Document) -> list[parts.Share]:
    return [
        parts.Share(severity, document["totals"][outcome], outcome, MEANINGS[outcome])
        for outcome, severity in SEVERITIES.items()
    ]


def _faults(document: Document) -> str:
    """What is wrong comes first, so that nobody has to look for it."""
    bad = report.faults(document)
    rows = (parts.row(ERROR, check["name"], check["detail"], check["outcome"], "", _within([check])) for check in bad)
    return parts.group("what is wrong", len(bad), "".join(rows)) if bad else ""


def _group(name: str, checks: Sequence[Document]) -> str:
    subjects = report.by_subject(checks)
    html = "".join(_subject(f"{name}.{subject}", rows) for subject, rows in subjects.items())
    return parts.group(name, len(checks), html)


def _subject(name: str, rows: Sequence[Document]) -> str:
    """One row of the page: the checks of an operator in all data types, or one program."""
    look = worst(SEVERITIES[row["outcome"]] for row in rows)
    counts = Counter(row["outcome"] for row in rows)
    mark = next(outcome for outcome in SEVERITIES if counts[outcome])
    share = report.worst_share(rows)
    remark = ", ".join(row["dtype"] for row in rows if row["dtype"])
    bar = None if share is None else min(share, 1.0)
    return parts.row(look, name, remark, mark, _time(rows), _within(rows), bar)


def _time(rows: Sequence[Document]) -> str:
    """How long the checks of a row took, all together; nothing where none was run."""
    seconds = [row["seconds"] for row in rows if row["seconds"] is not None]
    return f"{sum(seconds):.2f} s" if seconds else ""


def _within(rows: Sequence[Document]) -> str:
    return parts.table(_HEAD, [_cells(row) for row in rows]) + "".join(map(_log, rows))


def _cells(check: Document) -> tuple[str, ...]:
    tolerance = check["tolerance"]
    allowed = f"{tolerance['absolute']:.2g} + {tolerance['relative']:.2g} |x|" if tolerance else ""
    error = "" if check["error"] is None else f"{100 * check['error']:.2g} % of the tolerance"
    seconds = "" if check["seconds"] is None else f"{check['seconds']:.3f}"
    return check["dtype"] or "", check["outcome"], error, allowed, seconds, check["detail"]


def _log(check: Document) -> str:
    return f'<code class="source">{escape(check["log"])}</code>' if check["log"] else ""


def _aside(name: str, checks: Sequence[Document]) -> str:
    looks = Counter(SEVERITIES[row["outcome"]] for row in checks)
    bars = [
        (look, looks[look] / len(checks), f"{title}: {looks[look]:,}") for look, title in _NAMES.items() if looks[look]
    ]
    shown = name if set(looks) <= {OK, "note"} else f"{name}: {looks['error'] + looks['warning']}"
    return parts.filtering(shown, len(checks), f"{name}.", bars)


def _versions(document: Document) -> str:
    rows = [*document["versions"].items(), *document["environment"].items()]
    return f"<h2>Versions</h2>{parts.table(('', ''), rows)}"
