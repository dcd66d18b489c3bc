"""Finds calls of host functions, which device code may not contain.

It compares names, because the compiler here does not know two sides. What it finds is an error, but it does not find everything.
Functions for both sides are not checked; clang checks them only when a kernel reaches them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from musasim.toolkit.compiler.lexer import Source, Token, bracketed

_RUNTIME = re.compile(r"musa[A-Z]\w*")
_NEVER_CALLED = frozenset(
    [
        *(
            "if",
            "for",
            "while",
            "switch",
            "return",
            "sizeof",
            "alignof",
            "decltype",
            "catch",
            "defined",
            "operator",
            "noexcept",
        ),
        *(
            "static_cast",
            "reinterpret_cast",
            "const_cast",
            "dynamic_cast",
            "alignas",
            "typeid",
            "new",
            "delete",
            "throw",
            "else",
        ),
    ]
)
_NOT_IN_A_DECLARATION = frozenset(
    ["return", "else", "do", "new", "throw", "constexpr", "using", "typedef", "case", "goto"]
)
_EXCEPTIONS = dict.fromkeys(("throw", "try", "catch"), "device code does not support exception handling")
_NOT_ON_A_DEVICE = _EXCEPTIONS | {
    word: f"'{word}' is not allowed in device code" for word in ("dynamic_cast", "typeid")
}
_OF_THE_HOST = re.compile(r"\b(?:" + "|".join(_NOT_ON_A_DEVICE) + r")\b(?!\$)")
# A template of the host's with the name of one of the toolkit's functions, such as rsqrt, leaves kernels the toolkit's own.
_MATHEMATICS = "/musasim/math.h"
_INSTALLED = {"site-packages", "dist-packages"}


@dataclass(frozen=True)
class Body:
    """The body, braces included, of a function for the device alone."""

    name: str
    kind: str  # __global__ or __device__
    begin: int
    end: int


class Problem(Exception):
    """An error, with its `position` in the text."""

    def __init__(self, position: int, message: str) -> None:
        super().__init__(message)
        self.position = position


def check(source: Source, bodies: list[Body], device_functions: set[str], main_file: str) -> None:
    """Raise Problem for the first error."""
    own = [body for body in bodies if not source.in_system_header(body.begin)]
    for body in own:
        for word in _OF_THE_HOST.finditer(source.text, body.begin, body.end):
            if source.is_code(word.start()):
                raise Problem(word.start(), _NOT_ON_A_DEVICE[word.group()])
    calls = {name: (token, body) for body in own for name, token in _calls(source, body).items()}
    for name, (token, body) in calls.items():
        if _RUNTIME.fullmatch(name) and name not in device_functions:
            raise Problem(token.begin, _message(name, body))
    unknown = {name for name in calls if name not in device_functions}
    for name in sorted(unknown & _host_functions(source, unknown, main_file)):
        token, body = calls[name]
        raise Problem(token.begin, _message(name, body))


def check_launches(source: Source, launched: dict[str, Token], main_file: str) -> None:
    """Raise Problem for the first launch of a function of the host. `launched` are the names that are no kernel's."""
    for name in sorted(_host_functions(source, set(launched), main_file)):
        raise Problem(
            launched[name].begin, f"a host function call cannot be configured: '{name}' is no __global__ function"
        )


def _message(name: str, body: Body) -> str:
    return f"reference to __host__ function '{name}' in {body.kind} function '{body.name}'"


def _calls(source: Source, body: Body) -> dict[str, Token]:
    """Return the names that are only used before a bracket. Any other name may be a variable, a type or a member."""
    called: dict[str, Token] = {}
    others: set[str] = set()
    tokens = list(source.tokens(body.begin, body.end))
    for index, token in enumerate(tokens[:-1]):
        if token.kind != "name" or token.text in _NEVER_CALLED:
            continue
        before = tokens[index - 1].text if index else ""
        declares = index > 0 and (tokens[index - 1].kind == "name" and before not in ("return", "else", "do", "case"))
        plain = before not in (".", "->", "::") and not declares and before not in ("*", "&", ">", ">>>")
        if tokens[index + 1].text == "(" and (plain or before in ("*", "&", ">")):
            called.setdefault(token.text, token)
        else:
            others.add(token.text)
    return {name: token for name, token in called.items() if name not in others}


def _host_functions(source: Source, names: set[str], main_file: str) -> set[str]:
    """Return those of `names` that files in the main file's folder define as functions, but never for the device."""
    if not names:
        return set()
    folder = Path(main_file).resolve().parent
    mine: dict[str, bool] = {}
    defined: set[str] = set()
    pattern = re.compile(r"(?<![\w$.>])(" + "|".join(sorted(map(re.escape, names))) + r")\s*\(")
    for file, begin, end in source.parts():  # most of the text is the system's, and is not looked through
        if file not in mine:
            mine[file] = not file.startswith("<") and _is_below(Path(file).resolve(), folder)
        if mine[file]:
            defined |= _defined(source, pattern, begin, end)
    return defined and defined - _of_the_toolkit(source, pattern)


def _of_the_toolkit(source: Source, pattern: re.Pattern[str]) -> set[str]:
    parts = [part for part in source.parts(system=True) if part[0].endswith(_MATHEMATICS)]
    return {name for _, begin, end in parts for name in _defined(source, pattern, begin, end)}


def _defined(source: Source, pattern: re.Pattern[str], begin: int, end: int) -> set[str]:
    matches = pattern.finditer(source.text, begin, end)
    return {match[1] for match in matches if source.is_code(match.start()) and _is_definition(source, match)}


def _is_below(file: Path, folder: Path) -> bool:
    """Installed packages do not count, because a project's folder may contain an environment."""
    return folder in file.parents and not _INSTALLED & set(file.parts)


def _is_definition(source: Source, match: re.Match[str]) -> bool:
    before = list(source.tokens(source.statement_begin(match.start()), match.start()))
    if not before or any(
        token.kind in ("literal", "number") or token.text in _NOT_IN_A_DECLARATION for token in before
    ):
        return False
    if any(token.kind == "mark" and token.text not in ("*", "&", "::", "<", ">", ",", "[", "]") for token in before):
        return False
    if before[-1].text in ("::", ",", "<"):
        return False
    parameters = bracketed(source, match.end() - 1)
    if not parameters:
        return False
    after = next(
        (token for token in source.tokens(parameters[-1].end) if token.text not in ("noexcept", "const")), None
    )
    return after is not None and after.text == "{"
