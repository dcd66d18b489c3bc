"""The parts that our pages are made of. Arguments named `html` are HTML already; every other text is escaped here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import NamedTuple

MOST_PLACES = 200
MOST_FILES = 40


class Share(NamedTuple):
    """A part of a whole: the class with its colour, how many, its name, and what it means."""

    look: str
    number: int
    name: str
    meaning: str


class Place(NamedTuple):
    """A line of a program: where it is ("train.py:12"), a remark, its text, how often it was met, and its file in full."""

    where: str
    remark: str = ""
    source: str = ""
    times: int = 0
    file: str = ""


def shares(parts: Sequence[Share]) -> str:
    """A bar divided by the counts, and below it a legend with every number."""
    bar = "".join(
        f'<i class="{part.look}" style="flex-grow:{part.number}" title="{escape(part.name)}: {part.number:,}"></i>'
        for part in parts
        if part.number
    )
    legend = "".join(_legend(part) for part in parts)
    return f'<div class="shares">{bar}</div><div class="legend">{legend}</div>'


def _legend(part: Share) -> str:
    look = part.look if part.number else f"{part.look} none"
    name, meaning = escape(part.name), escape(part.meaning)
    return f'<div class="{look}"><b>{part.number:,}</b><span>{name}</span><small>{meaning}</small></div>'


def chip(look: str, name: str) -> str:
    """A small square in the colour of `look`, and its name."""
    return f'<span class="chip {look}">{escape(name)}</span>'


def switch(look: str, name: str) -> str:
    """A button that shows and hides the rows of one kind."""
    return f'<button class="{look}" data-switch="{look}" aria-pressed="true">{chip(look, name)}</button>'


def group(title: str, number: int, html: str) -> str:
    """Rows under a title, hidden by the filter when all of them are."""
    return f'<div class="group"><h3><span>{escape(title)}</span><span>{number:,}</span></h3>{html}</div>'


def row(
    look: str,
    name: str,
    remark: str,
    mark: str,
    number: str,
    html: str,
    share: float | None = None,
    opened: bool = False,
) -> str:
    """A row that opens: its name, a remark, a chip, a bar (`share` of 1; None for none), a number, and what is within."""
    head = f"<span><code>{escape(name)}</code><small>{escape(remark)}</small></span>{chip(look, mark)}"
    bar = "" if share is None else f'<i style="width:{100 * share:.2f}%"></i>'
    head += f'<span class="bar">{bar}</span><span class="number">{escape(number)}</span>'
    return (
        f'<details class="api {look}" data-kind="{look}"{" open" if opened else ""}><summary>{head}</summary>'
        f'<div class="sites">{html}</div></details>'
    )


def places(entries: Sequence[Place]) -> str:
    """Places with their lines; of very many the first, and how many more the JSON has."""
    left = len(entries) - MOST_PLACES
    more = f'<p class="soft">and {left:,} more, which the JSON has</p>' if left > 0 else ""
    return "".join(map(_place, entries[:MOST_PLACES])) + more


def _place(place: Place) -> str:
    times = f'<span class="number">{place.times:,}</span>' if place.times else ""
    file = f' title="{escape(place.file)}"' if place.file else ""
    remark = f' <span class="soft">{escape(place.remark)}</span>' if place.remark else ""
    source = f'<code class="source">{escape(place.source)}</code>' if place.source else ""
    return f'<div class="site"><p>{times}<code{file}>{escape(place.where)}</code>{remark}</p>{source}</div>'


def filters(counts: Mapping[str, Counter[str]], names: Mapping[str, str], most: int | None = None) -> str:
    """Buttons that filter by a file or a package: the `most` with the highest counts. A bar divides each count by looks,
    which have `names`, and is as long as the count."""
    order = sorted(counts, key=lambda key: -counts[key].total())[:most]
    short = shortest(order)
    longest = max((counts[key].total() for key in order), default=1)
    return (
        "".join(_filter(key, short[key], counts[key], longest, names) for key in order) or '<p class="soft">None.</p>'
    )


def shortest(paths: Sequence[str]) -> dict[str, str]:
    """For each path its end, as many folders as tell it from the others: train.py, or segment/train.py where there are two."""
    ends: dict[str, str] = {}
    for path in paths:
        steps = path.split("/")
        others = [other for other in paths if other != path]
        lengths = range(1, len(steps) + 1)
        tails = ("/".join(steps[-length:]) for length in lengths)
        ends[path] = next(
            (tail for tail in tails if not any(f"/{other}".endswith(f"/{tail}") for other in others)), path
        )
    return ends


def _filter(key: str, name: str, counts: Counter[str], longest: int, names: Mapping[str, str]) -> str:
    bars = [(look, counts[look] / longest, f"{kind}: {counts[look]:,}") for look, kind in names.items() if counts[look]]
    return filtering(name, counts.total(), key, bars)


def filtering(name: str, number: int, title: str, looks: Iterable[tuple[str, float, str]] = ()) -> str:
    """A button that filters the rows by `title`, with a bar of (class, share of 1, its meaning)."""
    bar = "".join(
        f'<i class="{look}" style="width:{100 * share:.2f}%" title="{escape(meaning)}"></i>'
        for look, share, meaning in looks
    )
    query = escape(title)
    head = f'<span><b>{escape(name)}</b><span class="number">{number:,}</span></span>'
    return f'<button class="who" data-query="{query}" title="{query}">{head}<div class="bar">{bar}</div></button>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A plain table of text."""
    lines = [_cells("th", head), *(_cells("td", row) for row in rows)]
    return f'<div class="scroll"><table>{"".join(lines)}</table></div>'


def _cells(tag: str, row: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in row)}</tr>"
