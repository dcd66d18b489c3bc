"""What a project asks pip, conda or Docker for that is for NVIDIA's devices alone."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from torchada.report.severity import ERROR
from torchada.tools.check import nvidia
from torchada.tools.check.findings import REQUIREMENT, Finding

_NAME = re.compile(r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(?:$|[=<>!~;@ ])")
_QUOTED = re.compile(r"[\"']([^\"'\n]+)[\"']")
_ITEM = re.compile(r"\s*-\s+[\"']?(?:[\w./-]+::)?([^\"'#\n]+)")
_KEY = re.compile(r"\s*[\"']?([A-Za-z0-9][\w.-]*)[\"']?\s*=")
_FROM = re.compile(r"\s*FROM\s+(?:--\S+\s+)*(\S*nvidia\S*|\S*cuda\S*)", re.IGNORECASE)
_INSTALLING = re.compile(r"\bpip3?\b|\bconda\b|\buv\b|--(?:extra-)?index-url")
_SECTION = re.compile(r"\s*\[(.+)\]\s*$")
_REQUIRES = re.compile(r"requires?$|^requirements|dependenc|^extras", re.IGNORECASE)
_OF_SETUP = re.compile(r"options\.extras_require|options")


def findings(path: str, text: str) -> Iterator[Finding]:
    """What a file of requirements, by the name of its `path`, asks for."""
    name = path.rpartition("/")[2]
    if name == "pyproject.toml":
        yield from _of_toml(path, text)
    elif name in ("setup.cfg", "Pipfile"):
        yield from _of_sections(path, text)
    elif "ockerfile" in name:
        yield from _of_docker(path, text)
    elif name.endswith((".yml", ".yaml")):
        yield from _lines(path, text, lambda line: [found[1] for found in [_ITEM.match(line)] if found])
    else:
        yield from _lines(path, text, lambda line: [line.partition("#")[0]])


def of_setup(path: str, tree: ast.Module, lines: list[str]) -> Iterator[Finding]:
    """Requirements in a setup.py: strings in what is called requirements, as an argument or by its name. Others may be anything."""
    values = [
        part
        for node in ast.walk(tree)
        if (isinstance(node, ast.keyword) and _REQUIRES.search(node.arg or ""))
        or (isinstance(node, ast.Assign) and any(_REQUIRES.search(ast.unparse(each)) for each in node.targets))
        for part in ast.walk(node.value)
    ]
    for part in {id(each): each for each in values}.values():
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            line = lines[part.lineno - 1] if part.lineno <= len(lines) else ""
            yield from _finding(path, part.value, part.lineno, line)


def _lines(path: str, text: str, entries: Any) -> Iterator[Finding]:
    for number, line in enumerate(text.split("\n"), 1):
        for entry in entries(line):
            yield from _finding(path, entry, number, line)


def _finding(path: str, entry: str, number: int, line: str) -> Iterator[Finding]:
    """The finding for one requirement, or one option of pip."""
    found = _NAME.match(entry)
    need = nvidia.of_distribution(found[1]) if found else None
    name = found[1] if found else entry.strip()
    if nvidia.CUDA_WHEEL.search(entry) and need is None:
        need, name = nvidia.CUDA_BUILD, entry.strip()[:80]
    if need is not None:
        column = max(line.find(name), 0) + 1
        yield Finding(
            REQUIREMENT,
            need.severity,
            name,
            need.advice,
            path,
            number,
            column,
            column + len(name),
            source=line.strip()[:200],
        )


def _of_sections(path: str, text: str) -> Iterator[Finding]:
    """setup.cfg and Pipfile: lines of the sections that list requirements."""
    section = ""
    for number, line in enumerate(text.split("\n"), 1):
        head = _SECTION.match(line)
        if head:
            section = head[1]
        elif "packages" in section:
            key = _KEY.match(line)
            yield from _finding(path, key[1] if key else "", number, line)
        elif _OF_SETUP.fullmatch(section):
            entry = line.partition("=")[2] if re.match(r"\w+\s*=(?!=)", line) else line
            yield from _finding(path, entry, number, line)


def _of_docker(path: str, text: str) -> Iterator[Finding]:
    for number, line in enumerate(text.split("\n"), 1):
        found = _FROM.match(line)
        if found:
            advice = "an image with CUDA; the container needs one of the vendor's, with MUSA's toolkit"
            column = found.start(1) + 1
            place = Finding(REQUIREMENT, ERROR, found[1], advice, path, number, column, found.end(1) + 1)
            yield place._replace(source=line.strip()[:200])
        elif (
            not line.lstrip().startswith("#")
            and "uninstall" not in line
            and re.search(r"\bpip3?\b|\bconda\b|\buv\b|--(extra-)?index-url", line)
        ):
            for word in line.replace("&&", " ").split():
                yield from _finding(path, word.strip("'\"\\"), number, line)


def _of_toml(path: str, text: str) -> Iterator[Finding]:
    """pyproject.toml. Without a parser (Python 3.10), or where it does not parse, every string that is a known requirement."""
    lines = text.split("\n")
    wanted = _requirements(text)
    for number, line in enumerate(lines, 1):
        code = line.partition(" #")[0]
        for entry in [each[1] for each in _QUOTED.finditer(code)]:
            if wanted is None or entry in wanted:
                yield from _finding(path, entry, number, line)
        key = _KEY.match(code)
        if wanted is not None and key and f"{key[1]} =" in wanted:
            yield from _finding(path, key[1], number, line)


def _requirements(text: str) -> set[str] | None:
    """All requirements of a pyproject.toml; "name =" for those of Poetry, which are keys."""
    try:
        if sys.version_info >= (3, 11):
            import tomllib
        else:
            import tomli as tomllib
    except ImportError:
        return None  # torchada was installed without its dependencies
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None
    project, poetry = _table(found, "project"), _table(_table(found, "tool"), "poetry")
    groups = [_table(project, "optional-dependencies"), _table(found, "dependency-groups")]
    lists = [project.get("dependencies"), _table(found, "build-system").get("requires")]
    lists += [each for group in groups for each in group.values()]
    named = [poetry, *(_table(each, "") for each in _table(poetry, "group").values())]
    keys = [key for each in named for part in ("dependencies", "dev-dependencies") for key in _table(each, part)]
    urls = [each.get("url", "") for part in ("source", "index") for each in _list(_of_tools(found, part))]
    return (
        {entry for each in lists for entry in _list(each) if isinstance(entry, str)}
        | {f"{key} =" for key in keys}
        | set(urls)
    )


def _of_tools(found: Mapping[str, Any], part: str) -> list[Any]:
    tools = _table(found, "tool")
    return [
        each
        for tool in ("poetry", "uv", "pdm")
        for each in _list(_table(tools, tool).get(part))
        if isinstance(each, dict)
    ]


def _table(found: Any, name: str) -> Mapping[str, Any]:
    value = found.get(name) if name and isinstance(found, dict) else found
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list) else []
