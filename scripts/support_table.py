"""Write what was tried from docs/support.toml: the tables of both READMEs, and docs/reference/tried.md; with --check, only report
whether they are up to date.

python scripts/support_table.py [--check]
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pytest depends on it

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "docs" / "support.toml"
READMES = ("README.md", "docs/README_CN.md")  # in the order of the languages in the data
PAGE = "docs/reference/tried.md"
TITLES = (
    ("torch", "torch_musa, simulated", "CPython", "tried how"),
    ("torch", "torch_musa（模拟）", "CPython", "尝试方式"),
)
SLOW_TAIL = ("the slow tests", "耗时较长的测试")
NOT_YET = ("not run yet", "尚未运行")
LAST_RUN = (
    "last run whole on {date}, revision {revision}, torch {torch}, both mechanisms, {minutes} minutes: "
    "{passed} passed, {failed} failed, {skipped} skipped",
    "上次完整运行：{date}，版本 {revision}，torch {torch}，两种机制，{minutes} 分钟：{passed} 通过，{failed} 失败，{skipped} 跳过",
)
EARLIER = ("; {number} of these were run at {at}", "；其中 {number} 个在 {at} 上运行")
MARKED = re.compile(r"(<!-- support:begin -->\n).*?(<!-- support:end -->)", re.DOTALL)
INTRO = """# What was tried

Each run: which build of torch, on what, and how far; what is not listed was not tried. torch_musa was the simulated one, or none:
nothing has been run on a Moore Threads GPU. `python scripts/support_table.py` makes this page from
[docs/support.toml](../support.toml).

"""


def summary(data: dict[str, Any], language: int) -> str:
    """The table of a README: a row for each version of torch, the slow tests, and other machines."""
    other = [[row[2 * language], "-", "-", row[2 * language + 1]] for row in data["other"]]
    slow = [SLOW_TAIL[language], "-", "-", _slow_tail(data, language)]
    return _table([TITLES[language], *_versions(data, language), slow, *other])


def _versions(data: dict[str, Any], language: int) -> Iterator[list[str]]:
    for version in _sorted({version for run in data["run"] for version in run["torch"]}):
        runs = [run for run in data["run"] if version in run["torch"]]
        adapters = _sorted({run["adapter"] for run in runs if run["adapter"]})
        pythons = _sorted({python for run in runs for python in run["python"]})
        levels = {run.get("level") for run in runs}
        texts = [text[language] for level, text in data["levels"].items() if level in levels]
        yield [version, ", ".join(adapters), ", ".join(pythons), ("; ", "；")[language].join(texts)]


def _slow_tail(data: dict[str, Any], language: int) -> str:
    record = data.get("slow_tail")
    if not record:
        return NOT_YET[language]
    earlier = [EARLIER[language].format(at=at, number=number) for at, number in record.get("earlier", {}).items()]
    return LAST_RUN[language].format_map(record) + "".join(earlier)


def _sorted(versions: Iterable[str]) -> list[str]:
    return sorted(versions, key=lambda version: [int(part) for part in version.split(".")])


def page(data: dict[str, Any]) -> str:
    """docs/reference/tried.md: a row for each run."""
    rows = [
        [
            ", ".join(run["torch"]) or "none",
            run["adapter"] or "none",
            run["build"],
            ", ".join(run["python"]) or "none",
            run["processor"],
            run["how"],
        ]
        for run in data["run"]
    ]
    return INTRO + _table([("torch", "torch_musa", "build", "CPython", "processor", "tried how"), *rows])


def _table(rows: Sequence[Sequence[str]]) -> str:
    titles, *others = rows
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (titles, ["---"] * len(titles), *others))


def updated(readme: str, table: str) -> str:
    """The README's text with `table` between its markers."""
    text, count = MARKED.subn(lambda old: old[1] + table + old[2], (ROOT / readme).read_text(encoding="utf-8"))
    if count != 1:
        raise SystemExit(f"support_table.py: {readme} has {count} tables between its markers, not one")
    return text


def texts() -> dict[str, str]:
    """What each file has to contain."""
    data = tomllib.loads(DATA.read_text(encoding="utf-8"))
    readmes = {readme: updated(readme, summary(data, language)) for language, readme in enumerate(READMES)}
    return {**readmes, PAGE: page(data)}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 where a file is out of date")
    check = parser.parse_args(arguments).check
    outdated = {name: text for name, text in texts().items() if not _is_there(ROOT / name, text)}
    if check and outdated:
        print(f"{', '.join(outdated)}: run python scripts/support_table.py", file=sys.stderr)
        return 1
    for name, text in outdated.items():
        (ROOT / name).write_text(text, encoding="utf-8")
    return 0


def _is_there(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main())
