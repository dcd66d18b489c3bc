"""The report of `torchada bench` as one page of HTML."""

from __future__ import annotations

from torchada.report import pages
from torchada.report.pages import parts
from torchada.report.severity import ERROR, OK
from torchada.report.text import moment
from torchada.tools.bench.report import Document
from torchada.tools.bench.text import NO_MEANING, speed, times
from torchada.tools.runner import environment_text

_FOOTER = (
    "Times are taken in turns on the device, by its own events, and on the CPU. The ratio is how many times as fast the device is: "
    "the median of the rounds, and the least and the most. The size is the largest that fits into the time."
)


def page(report: Document) -> str:
    """The page for a report."""
    rows = report["benchmarks"]
    measured = sum(row["outcome"] == "measured" for row in rows)
    failed = len(rows) - measured
    shares = [parts.Share(ERROR, failed, "failed", "no time was taken"), parts.Share(OK, measured, "measured", "")]
    return pages.page(
        "torchada bench",
        report,
        eyebrow="The same programs on the device and on the CPU",
        name=environment_text.device(report),
        surroundings=_surroundings(report),
        question=report["problem"] or (NO_MEANING if report["simulated"] else "How fast is the device?"),
        shares=shares,
        heading="Benchmarks",
        switches={OK: "measured", **({ERROR: "failed"} if failed else {})},
        rows="".join(map(_row, rows)),
        aside_title="Versions",
        aside=parts.table(("", ""), [*report["versions"].items(), *report["environment"].items()]),
        footer=_FOOTER,
    )


def _surroundings(report: Document) -> str:
    when = moment(report["created"])
    return f"{when}, beside {report['processor']} with {report['cores']} cores, torchada {report['torchada']}, {report['system']}"


def _row(row: Document) -> str:
    if row["outcome"] != "measured":
        return parts.row(
            ERROR, row["name"], row["what"], row["outcome"], "", parts.places([parts.Place(row["detail"])])
        )
    ratio = row["ratio"]
    share = ratio["median"] / (1 + ratio["median"])
    remark = f"{row['what']}; CPU: {speed(row, 'cpu')}; {times(ratio['low'])} to {times(ratio['high'])} times as fast as the CPU"
    return parts.row(OK, row["name"], remark, speed(row, "device"), f"{times(ratio['median'])}x", _times(row), share)


def _times(row: Document) -> str:
    rows = [
        (name, speed(row, side), *(f"{row[side][part] * 1e3:.4g}" for part in ("median", "low", "high")))
        for name, side in (("device", "device"), ("CPU", "cpu"))
    ]
    ratio = row["ratio"]
    rows.append(("ratio", "", *(times(ratio[part]) for part in ("median", "low", "high"))))
    size = f'<p class="soft">size {row["size"]:,}, {row["device"]["samples"]} samples, times in ms</p>'
    return parts.table(("", "speed", "median", "least", "most"), rows) + size
