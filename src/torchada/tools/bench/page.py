"""The report of `torchada bench` as one page of HTML."""

from __future__ import annotations

from datetime import datetime, timezone
from html import escape

from torchada.report import pages
from torchada.report.pages import parts
from torchada.report.severity import ERROR, OK
from torchada.tools.bench.report import Document
from torchada.tools.bench.text import NO_MEANING, speed
from torchada.tools.runner import environment_text

_FOOTER = (
    "Times are taken in turns on the device, by its own events, and on the CPU. The ratio is how many times as fast the device is: "
    "the median of the rounds, and the least and the most. The size is the largest that fits into the time."
)


def page(found: Document) -> str:
    """The page for a report."""
    rows = found["benchmarks"]
    measured = sum(row["outcome"] == "measured" for row in rows)
    failed = len(rows) - measured
    shares = [parts.Share(ERROR, failed, "failed", "no time was taken"), parts.Share(OK, measured, "measured", "")]
    return pages.tool_page(
        "torchada bench",
        found,
        eyebrow="The same programs on the device and on the CPU",
        name=escape(environment_text.device(found)),
        surroundings=escape(_surroundings(found)),
        question=escape(found["problem"] or (NO_MEANING if found["simulated"] else "How fast is the device?")),
        shares=parts.shares(shares),
        heading="Benchmarks",
        switches=parts.switch(OK, "measured") + (parts.switch(ERROR, "failed") if failed else ""),
        rows="".join(map(_row, rows)),
        aside_title="Versions",
        aside=parts.table(("", ""), [*found["versions"].items(), *found["environment"].items()]),
        footer=escape(_FOOTER),
    )


def _surroundings(found: Document) -> str:
    when = datetime.fromtimestamp(found["created"], timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    return f"{when}, beside {found['processor']} with {found['cores']} cores, torchada {found['torchada']}, {found['system']}"


def _row(row: Document) -> str:
    if row["outcome"] != "measured":
        return parts.row(
            ERROR, row["name"], row["what"], row["outcome"], "", parts.places([parts.Place(row["detail"])])
        )
    ratio = row["ratio"]
    share = ratio["median"] / (1 + ratio["median"])
    remark = f"{row['what']}; {ratio['low']:.3g} to {ratio['high']:.3g} times as fast as the CPU"
    return parts.row(OK, row["name"], remark, speed(row, "device"), f"{ratio['median']:.3g}x", _times(row), share)


def _times(row: Document) -> str:
    rows = [
        (name, speed(row, side), *(f"{row[side][each] * 1e3:.4g}" for each in ("median", "low", "high")))
        for name, side in (("device", "device"), ("CPU", "cpu"))
    ]
    ratio = row["ratio"]
    rows.append(("ratio", "", *(f"{ratio[each]:.3g}" for each in ("median", "low", "high"))))
    size = f'<p class="soft">size {row["size"]:,}, {row["device"]["samples"]} samples, times in ms</p>'
    return parts.table(("", "speed", "median", "least", "most"), rows) + size
