"""A command line of nvcc for the accelerator's compiler: passed on, replaced, dropped with a notice, or refused."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache

from torchada.building import nvcc_flags as table
from torchada.building.architectures import asked_by_flag
from torchada.building.errors import BuildError
from torchada.building.libraries import linked, linker_flags
from torchada.building.toolkit import Toolkit
from torchada.porting import Names, port_source

_KNOWN = frozenset(
    {*table.SPELLINGS, *table.NOT_NEEDED, *table.DROPPED, *table.REFUSED, *table.WITH_VALUE, *table.HOST}
    | {name.partition("=")[0] for name in table.REPLACED}
)
_VALUE_IS_PART = ("-D", "-U")
_JOINED = re.compile(r"^(-t)(\d+)$")


@dataclass
class Flags:
    """`flags` for the compiler, what to tell the user, and which of NVIDIA's architectures were asked for ("80")."""

    flags: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


def translate(flags: Sequence[str], toolkit: Toolkit) -> Flags:
    """nvcc's `flags` for the toolkit's compiler, without an architecture. Raises BuildError for one without an equivalent."""
    done = Flags()
    rest = iter([str(flag) for flag in flags])
    for flag in rest:
        name, sign, value = _JOINED.sub(r"\1=\2", flag).partition("=")
        name = canonical(name)
        if name in table.WITH_VALUE and not sign:
            value = _next(rest, flag)
        _one(done, flag, name, value, bool(sign), rest, toolkit)
    return done


def _one(done: Flags, flag: str, name: str, value: str, has_sign: bool, rest: Iterator[str], toolkit: Toolkit) -> None:
    replaced = table.REPLACED.get(f"{name}={value}") if value else table.REPLACED.get(name)
    if name in table.REFUSED:
        raise BuildError(f"nvcc's {flag} has no equivalent in {toolkit.compiler}: {table.REFUSED[name]}")
    if name in table.ARCHITECTURE:
        done.asked += asked_by_flag(value)
    elif name in table.HOST:
        done.flags += passed(_host(value), done, toolkit)
    elif replaced is not None:
        done.flags += replaced
    elif name in table.DROPPED:
        shown = flag if has_sign or not value else f"{flag} {value}"
        done.notices.append(f"nvcc's {shown} is not passed to {toolkit.compiler}: {table.DROPPED[name]}")
    elif name not in table.NOT_NEEDED:
        done.flags += passed(_spelled(flag, name, value, has_sign, rest), done, toolkit)


def _spelled(flag: str, name: str, value: str, has_sign: bool, rest: Iterator[str]) -> list[str]:
    """A flag that is passed on, as clang spells it, with the value that follows it."""
    short = table.SPELLINGS.get(name)
    if short is None:
        if name in table.PASSED_WITH_VALUE and (
            has_sign or flag == name
        ):  # nvcc takes -isystem=folder, as CMake writes it
            short = name
        else:
            return [flag]
    if short == "-x":
        return ["-x", value if has_sign else _next(rest, flag)]
    if short not in table.PASSED_WITH_VALUE:
        return [short]
    value = value if has_sign else _next(rest, flag)
    joiner = "=" if short == "-std" else ""
    return [short, value] if short in _SEPARATE else [short + joiner + value]


_SEPARATE = table.PASSED_WITH_VALUE - {"-I", "-D", "-U", "-L", "-l", "-std", "-O"}


def passed(flags: Sequence[str], done: Flags, toolkit: Toolkit) -> list[str]:
    """`flags` of clang, with the names in them translated: macros, libraries, and CUDA as a language."""
    out: list[str] = []
    before = ""
    for flag in flags:
        if before == "-x":
            out.append(toolkit.language if flag in ("cu", "cuda") else flag)
        elif flag.startswith(_VALUE_IS_PART):
            out.append(_macro(flag))
        elif flag.startswith("-l") and len(flag) > 2:
            names, notices = linked([flag[2:]], toolkit)
            out += [f"-l{name}" for name in names]
            done.notices += notices
        elif flag.startswith("-Wl,"):
            new, notices = linker_flags([flag], toolkit)
            out += new
            done.notices += notices
        else:
            out.append(flag)
        before = flag
    return out


@lru_cache(maxsize=1)
def _names() -> Names:
    return Names()


def macros(flags: Sequence[str]) -> list[str]:
    """`flags` with the names in -DNAME=code and -UNAME translated, as in a source."""
    return [_macro(flag) if flag.startswith(_VALUE_IS_PART) else flag for flag in flags]


def _macro(flag: str) -> str:
    name, sign, value = flag[2:].partition("=")
    return f"{flag[:2]}{macro_name(name)}{sign}{code(value)}"


def macro_name(name: str) -> str:
    """The name of a macro in ported sources."""
    bare = name.split("(")[0]
    answer = _names().identifier(bare)
    return name if answer is None or answer.name is None else answer.name + name[len(bare) :]


def code(text: str) -> str:
    """Code from a flag, ported."""
    return port_source(text.encode("utf-8", "surrogateescape")).text.decode("utf-8", "surrogateescape")


@cache
def canonical(name: str) -> str:
    """The name of a flag in the tables; the flag itself if they do not contain it."""
    if name in table.SHORT:
        return table.SHORT[name]
    if name in _KNOWN:
        return name
    return f"-{name}" if f"-{name}" in _KNOWN or f"-{name}" in table.ARCHITECTURE else name


def _host(value: str) -> list[str]:
    """The flags in the value of -Xcompiler. torch writes '-fPIC' in quotes for a shell that it does not always go through."""
    parts = []
    for part in value.split(","):
        try:
            parts += shlex.split(part)
        except ValueError:  # a quote that stands for itself
            parts.append(part)
    return parts


def _next(rest: Iterator[str], flag: str) -> str:
    try:
        return next(rest)
    except StopIteration:
        raise BuildError(f"nvcc's {flag} lacks the value that must follow it") from None


def with_files(arguments: Sequence[str]) -> list[str]:
    """The arguments, with those in response files (@file, --options-file file) in their places."""
    out: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        name, _, value = argument.partition("=")
        if argument.startswith("@") and os.path.isfile(argument[1:]):
            out += _in_file(argument[1:], argument)
        elif name in ("--options-file", "-optf"):
            out += [inner for file in (value or _next(rest, argument)).split(",") for inner in _in_file(file, name)]
        else:
            out.append(argument)
    return out


def _in_file(path: str, flag: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as stream:
            return shlex.split(stream.read())
    except OSError:
        raise BuildError(f"nvcc's {flag} {path}: no such file") from None
