"""Who may call whom in libmusart: ground, the driver, the engine that runs kernels, and the C API over them. No circle of files."""

from __future__ import annotations

import os
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import musasim

MUSART = Path(musasim.__file__).parent / "musart"
LAYERS = ("ground", "driver", "engine", "api")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
LITERAL = re.compile(r'(?<!#include )"(?:\\.|[^"\\\n])*"')
ANONYMOUS = re.compile(r"^namespace \{\n.*?^\} // namespace\n", re.DOTALL | re.MULTILINE)
# A line that begins a function, and how its declaration ends.
BEGIN = re.compile(
    r"^(?!struct |enum |using |constexpr |namespace |extern |thread_local )[A-Za-z\[][^=({;]*?\b(\w+)\(", re.MULTILINE
)
END = re.compile(r"[{;]")
CALL = re.compile(r"(?<![\w.>:])(?:musart::|memcheck::)?(\w+)\(")
Tree = dict[str, str]  # the text of each file, by its path below musart


def tree() -> Tree:
    files = [file for layer in LAYERS for file in (MUSART / layer).iterdir()]
    return {str(file.relative_to(MUSART)): file.read_text(encoding="utf-8") for file in files}


@cache
def plain(text: str) -> str:
    return LITERAL.sub('""', COMMENT.sub("", text))


def unit(path: str) -> str:
    """A header and the file that defines what it declares are one."""
    return path.rpartition(".")[0]


@cache
def included(path: str, text: str) -> tuple[str, ...]:
    return tuple(os.path.normpath(f"{os.path.dirname(path)}/{name}") for name in INCLUDE.findall(text))


@cache
def functions(text: str, end: str) -> set[str]:
    """Functions that are defined (end is "{") or declared (";") at the top of a file."""
    text = plain(text)
    begins = [(begin[1], END.search(text, begin.end())) for begin in BEGIN.finditer(text)]
    return {name for name, ends in begins if ends is not None and ends[0] == end}


def visible(text: str) -> str:
    """The text without what no other file can see."""
    return ANONYMOUS.sub("", text)


def definitions(files: Tree) -> dict[str, set[str]]:
    """The units that define each function."""
    units: dict[str, set[str]] = {}
    for path, text in files.items():
        for name in functions(visible(text), "{"):
            units.setdefault(name, set()).add(unit(path))
    return units


def uses(files: Tree) -> dict[str, set[str]]:
    """The units that each unit includes, or whose functions it calls."""
    defined = definitions(files)
    used: dict[str, set[str]] = {unit(path): set() for path in files}
    for path, text in files.items():
        own = functions(text, "{") | functions(text, ";")
        reached = {unit(name) for name in closure(files, path)}
        used[unit(path)] |= {unit(name) for name in included(path, text) if not name.startswith("include/")}
        for name in set(CALL.findall(plain(text))) - own:
            definers = defined.get(name, set())
            used[unit(path)] |= definers & reached or definers
    return {name: others - {name} for name, others in used.items()}


def closure(files: Tree, path: str) -> set[str]:
    """All headers that a file includes, directly or by another."""
    todo, seen = [path], set()
    while todo:
        for name in included(now := todo.pop(), files.get(now, "")):
            if name not in seen:
                seen.add(name)
                todo.append(name)
    return seen


def upward(files: Tree) -> list[str]:
    layer = {name: LAYERS.index(name.partition("/")[0]) for name in map(unit, files)}
    return [
        f"{name} uses {other}" for name, others in uses(files).items() for other in others if layer[other] > layer[name]
    ]


def public_headers(files: Tree) -> dict[str, set[str]]:
    """The headers of include/ that each layer has."""
    known: dict[str, set[str]] = {layer: set() for layer in LAYERS}
    for path, text in files.items():
        names = {name.removeprefix("include/") for name in included(path, text) if name.startswith("include/")}
        known[path.partition("/")[0]] |= names
    return known


def test_no_layer_uses_one_above_it() -> None:
    assert upward(tree()) == []


def test_no_circle_of_files() -> None:
    tuple(TopologicalSorter(uses(tree())).static_order())  # raises CycleError, which names the circle


def test_a_header_declares_what_its_own_file_defines() -> None:
    files = tree()
    astray = {
        path: missing
        for path, text in files.items()
        if path.endswith(".h")
        and (missing := functions(text, ";") - functions(visible(files.get(unit(path) + ".cpp", "")), "{"))
    }
    assert astray == {}
    by_hand = {path: functions(visible(text), ";") for path, text in files.items() if path.endswith(".cpp")}
    assert {path: names for path, names in by_hand.items() if names} == {}


def test_the_driver_knows_no_error_of_the_api() -> None:
    headers = public_headers(tree())
    assert headers["driver"] == set()
    assert headers["ground"] == {"musasim/errors.h"}
    assert headers["engine"] == {"musasim/errors.h", "musasim/engine.h"}
    assert [path for path, text in tree().items() if path.startswith("driver/") and "musaError" in text] == []


def test_the_compiler_sees_lower_layers_first() -> None:
    names = INCLUDE.findall((MUSART / "musart.cpp").read_text(encoding="utf-8"))
    assert sorted(names) == sorted(path for path in tree() if path.endswith(".cpp"))
    layers = [LAYERS.index(name.partition("/")[0]) for name in names]
    assert layers == sorted(layers)


@pytest.mark.parametrize(
    ("path", "line", "said"),
    [
        ("driver/stream.cpp", '#include "../api/gate.h"', "driver/stream uses api/gate"),
        ("engine/launch.cpp", "musaError_t f() { return enter(); }", "engine/launch uses api/gate"),
        ("driver/memory.cpp", "void g() { musaGetLastError(); }", "driver/memory uses api/error"),
        ("ground/environment.cpp", "void h() { device_count(); }", "ground/environment uses driver/device"),
    ],
)
def test_a_lower_file_that_uses_an_upper_one_is_found(path: str, line: str, said: str) -> None:
    files = tree()
    files[path] += f"\n{line}\n"
    assert upward(files) == [said]


def test_a_circle_is_found() -> None:
    files = tree()
    files["driver/stream.cpp"] += "\nvoid f() { is_running(nullptr); }\n"
    with pytest.raises(CycleError, match="driver/capture"):
        tuple(TopologicalSorter(uses(files)).static_order())
