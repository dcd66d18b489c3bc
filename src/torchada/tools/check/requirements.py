"""What a project asks pip, conda or Docker for that is for NVIDIA's devices alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from packaging.markers import Marker
from packaging.requirements import InvalidRequirement, Requirement

from torchada.base import toml
from torchada.report.severity import ERROR
from torchada.tools.check import nvidia
from torchada.tools.check.collect import File
from torchada.tools.check.findings import REQUIREMENT, Finding, beginning
from torchada.tools.check.markers import counts
from torchada.tools.check.whole_project import WholeProject

_NAME = re.compile(r"\s*([A-Za-z0-9][\w.-]*)(?:\s*\[[^\]]*\])?\s*(?:$|[=<>!~;@ ])")
_REPOSITORY = re.compile(r"\s*(?:-e\s+|--editable[ =])?git\+\S+/([\w.-]+?)(?:\.git)?(?:[@#]\S*)?\s*$")
_LOCKED = re.compile(r"name\s*=\s*\"([^\"]+)\"")
_PIXIS = re.compile(r"\s*-?\s*(?:name:\s*|conda:\s*\S*/|pypi:\s*\S*/)([A-Za-z0-9][\w.-]*?)(?:-\d\S*)?\s*$")
_OPTIONS = re.compile(r"\s--|\\$")  # of one requirement, as --hash; the end of a line that goes on
_STRING = r"\"((?:[^\"\\\n]|\\.)*)\"|'([^'\n]*)'"
# An escape outside a string is passed over: a line is searched once for the end of a string that nothing closes.
_QUOTED = re.compile(rf"\\.|{_STRING}")
_MARKERS = re.compile(rf"\bmarkers\s*=\s*(?:{_STRING})")
_ITEM = re.compile(r"\s*-\s+(.+)")
_KEY = re.compile(r"\s*[\"']?([A-Za-z0-9][\w.-]*)[\"']?\s*=")
_FROM = re.compile(r"\s*FROM\s+(?:--\S+\s+)*(\S*nvidia\S*|\S*cuda\S*)", re.IGNORECASE)
_INSTALLING = re.compile(r"\bpip3?\b|\bconda\b|\buv\b|--(?:extra-)?index-url")
_SECTION = re.compile(r"\s*\[(.+)\]\s*$")
_REQUIRES = re.compile(r"requires?$|^requirements|dependenc|^extras", re.IGNORECASE)
_OF_SETUP = re.compile(r"options\.extras_require|options")
_FURTHEST = 10_000  # how far to the right of a line a name is looked for: it may have any number of them

Entries = Iterator[tuple[int, str, str]]  # the number of a line, the line, and a requirement or an option of pip in it


def read(file: File, data: bytes, project: WholeProject) -> Iterator[Finding]:
    """What a file of requirements, by its name, asks for; packages of the project itself do not count."""
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    name = file.path.rpartition("/")[2]
    if "ockerfile" in name:
        yield from _images(file.path, text)
    for number, line, entry in _entries(name, text):
        yield from (finding for finding in _findings(file.path, number, line, entry) if not project.has(finding.name))


def of_commands(file: File, text: str, project: WholeProject) -> Iterator[Finding]:
    """What the commands of a script install, as those of a Dockerfile do."""
    for number, line, entry in _of_docker(text):
        yield from (finding for finding in _findings(file.path, number, line, entry) if not project.has(finding.name))


def of_setup(path: str, tree: ast.Module, lines: Sequence[str]) -> Iterator[Finding]:
    """Requirements in a setup.py: strings in what is called requirements, as an argument or by its name. Others may be anything."""
    values = [
        part
        for node in ast.walk(tree)
        if (isinstance(node, ast.keyword) and _REQUIRES.search(node.arg or ""))
        or (isinstance(node, ast.Assign) and any(_REQUIRES.search(ast.unparse(target)) for target in node.targets))
        for part in ast.walk(node.value)
    ]
    for part in {id(value): value for value in values}.values():
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            line = lines[part.lineno - 1] if part.lineno <= len(lines) else ""
            yield from _findings(path, part.lineno, line, part.value)


def _findings(path: str, number: int, line: str, entry: str) -> Iterator[Finding]:
    """The finding for one requirement, or one option of pip, if it is for NVIDIA's devices."""
    match = _REPOSITORY.match(entry) or _NAME.match(entry)
    name = match[1] if match else ""
    need = nvidia.of_distribution(name) if name else None
    if need is None and nvidia.CUDA_WHEEL.search(entry):
        need, name = nvidia.CUDA_BUILD, entry.strip()[:80]
    if need is not None and counts(_marker(entry)):
        column = max(line.find(name, 0, _FURTHEST), 0) + 1
        end, source = column + len(name), beginning(line)
        yield Finding(REQUIREMENT, need.severity, name, need.advice, path, number, column, end, source=source)


def _marker(entry: str) -> Marker | None:
    """The marker of a requirement as PEP 508 has it; conda's, options of pip, and versions that pip took before 2024 have none."""
    try:
        return Requirement(_OPTIONS.split(entry, maxsplit=1)[0]).marker
    except InvalidRequirement:
        return None


def _entries(name: str, text: str) -> Entries:
    if name == "pyproject.toml":
        return _of_toml(text)
    if name.endswith(".lock"):
        return _of_lock(text, _PIXIS if name == "pixi.lock" else _LOCKED)
    if name == "pixi.toml":
        return _of_pixi(text)
    if name in ("setup.cfg", "Pipfile"):
        return _of_sections(text)
    if "ockerfile" in name:
        return _of_docker(text)
    return _of_conda(text) if name.endswith((".yml", ".yaml")) else _of_pip(text)


def _of_pip(text: str) -> Entries:
    for number, line in enumerate(text.split("\n"), 1):
        yield number, line, line.partition("#")[0]


def _of_lock(text: str, pattern: re.Pattern[str]) -> Entries:
    """The packages that a lock file names, each once."""
    seen = set()
    for number, line in enumerate(text.split("\n"), 1):
        match = pattern.match(line)
        if match and match[1] not in seen:
            seen.add(match[1])
            yield number, line, match[1]


def _of_pixi(text: str) -> Entries:
    """The keys of the tables of dependencies."""
    section = ""
    for number, line in enumerate(text.split("\n"), 1):
        head, key = _SECTION.match(line), _KEY.match(line)
        section = head[1] if head else section
        if key and not head and section.endswith("dependencies"):
            yield number, line, key[1]


def _of_conda(document: str) -> Entries:
    for number, line in enumerate(document.split("\n"), 1):
        item = _ITEM.match(line)
        if item:
            text = item[1]
            plain = text[1:].partition(text[0])[0] if text[0] in "\"'" else text.partition("#")[0]
            yield number, line, plain.rpartition("::")[2]  # without the channel


def _of_sections(text: str) -> Entries:
    """setup.cfg and Pipfile: lines of the sections that list requirements."""
    section = ""
    for number, line in enumerate(text.split("\n"), 1):
        head = _SECTION.match(line)
        if head:
            section = head[1]
        elif "packages" in section:
            key, markers = _KEY.match(line), _MARKERS.search(line)
            yield number, line, _with_marker(key[1] if key else "", _unquoted(markers) if markers else "")
        elif _OF_SETUP.fullmatch(section):
            yield number, line, line.partition("=")[2] if re.match(r"\w+\s*=(?!=)", line) else line


def _images(path: str, text: str) -> Iterator[Finding]:
    advice = "an image with CUDA; the container needs one of the vendor's, with MUSA's toolkit"
    for number, line in enumerate(text.split("\n"), 1):
        image = _FROM.match(line)
        if image:
            column, end, source = image.start(1) + 1, image.end(1) + 1, beginning(line)
            yield Finding(REQUIREMENT, ERROR, image[1], advice, path, number, column, end, source=source)


def _of_docker(text: str) -> Entries:
    for number, line in enumerate(text.split("\n"), 1):
        is_left_out = line.lstrip().startswith("#") or "uninstall" in line or _FROM.match(line)
        if _INSTALLING.search(line) and not is_left_out:
            yield from ((number, line, word.strip("'\"\\")) for word in line.replace("&&", " ").split())


def _of_toml(text: str) -> Entries:
    """pyproject.toml. Where it does not parse, every string that is a known requirement."""
    wanted = _requirements(text)
    for number, line in enumerate(text.split("\n"), 1):
        code = line.partition(" #")[0]
        for entry in (_unquoted(string) for string in _QUOTED.finditer(code) if string.lastindex):
            if wanted is None or entry in wanted:
                yield number, line, entry
        key = _KEY.match(code)
        if wanted is not None and key and f"{key[1]} =" in wanted:
            yield number, line, wanted[f"{key[1]} ="]


def _unquoted(string: re.Match[str]) -> str:
    return str(string[1].replace('\\"', '"') if string[2] is None else string[2])


def _with_marker(name: str, marker: str) -> str:
    return f"{name}; {marker}" if name and marker else name


def _requirements(text: str) -> dict[str, str] | None:
    """All requirements of a pyproject.toml by how they are written there; "name =" for those of Poetry, which are keys."""
    try:
        document = toml.parse(text)
    except (ValueError, ImportError):  # of the parser: torchada was installed without its dependencies
        return None
    project, poetry = _table(document, "project"), _table(_table(document, "tool"), "poetry")
    groups = [_table(project, "optional-dependencies"), _table(document, "dependency-groups")]
    lists = [project.get("dependencies"), _table(document, "build-system").get("requires")]
    lists += [entries for group in groups for entries in group.values()]
    named = [poetry, *(_table(group, "") for group in _table(poetry, "group").values())]
    tables = [_table(group, part) for group in named for part in ("dependencies", "dev-dependencies")]
    urls = [index.get("url", "") for part in ("source", "index") for index in _list(_of_tools(document, part))]
    texts = [entry for entries in (*lists, urls) for entry in _list(entries) if isinstance(entry, str)]
    keys = {
        f"{name} =": _with_marker(name, _poetrys_marker(value)) for table in tables for name, value in table.items()
    }
    return {**{entry: entry for entry in texts}, **keys}


def _poetrys_marker(value: Any) -> str:
    """The marker of a dependency of Poetry's; of several for one package, any may hold."""
    choices = value if isinstance(value, list) else [value]
    markers = [_table(choice, "").get("markers", "") for choice in choices]
    return " or ".join(f"({marker})" for marker in markers) if all(markers) else ""


def _of_tools(document: Mapping[str, Any], part: str) -> list[Any]:
    tools = _table(document, "tool")
    return [
        entry
        for tool in ("poetry", "uv", "pdm")
        for entry in _list(_table(tools, tool).get(part))
        if isinstance(entry, dict)
    ]


def _table(document: Any, name: str) -> Mapping[str, Any]:
    value = document.get(name) if name and isinstance(document, dict) else document
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list) else []
