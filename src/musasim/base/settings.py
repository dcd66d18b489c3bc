"""What each variable of the simulator may be. What it means is in docs/reference/environment.md.

The C++ part reads the numbers and flags that concern it by the same rules (musart/ground/environment.h), and names a wrong value
itself, because programs without Python use it as well.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from musasim.base import release

PREFIX = "MUSASIM_"
#: What a flag may be, in small letters.
ON = ("1", "true", "yes", "on")
OFF = ("", "0", "false", "no", "off")
MOST_DEVICES = 64  # kMaxDevices
_LARGEST = 2**63 - 1


class Kind(NamedTuple):
    """The values that a variable takes: `expected` in words. An empty text is as good as none."""

    expected: str
    accepts: Callable[[str], bool]


def _number(low: int, high: int = _LARGEST) -> Kind:
    expected = f"a number from {low} to {high}" if high < _LARGEST else f"a number of at least {low}"
    return Kind(expected, lambda text: text.isascii() and text.isdecimal() and low <= int(text) <= high)


def _choice(*names: str) -> Kind:
    *others, last = names
    return Kind(f"{', '.join(others)} or {last}", lambda text: text in names)


_FLAG = Kind("1 or 0", lambda text: text.lower() in ON + OFF)
_ANY = Kind("", lambda text: True)

KINDS: Mapping[str, Kind] = {
    "MUSASIM_CACHE_DIR": _ANY,
    "MUSASIM_COVERAGE": _ANY,
    "MUSASIM_DEVICE_COUNT": _number(0, MOST_DEVICES),
    "MUSASIM_FACE": _choice("musa", "npu", "mlu"),
    "MUSASIM_GRAPH_EXECUTABLES": _number(0),
    "MUSASIM_INDUCTOR": _choice("cpp", "triton"),
    "MUSASIM_LEAKCHECK": _FLAG,
    "MUSASIM_MEMCHECK": _FLAG,
    "MUSASIM_MEMORY_BYTES": _number(1),
    "MUSASIM_PRECOMPILED_HEADERS": _choice("auto", "0", "1"),
    "MUSASIM_PROTECT": _FLAG,
    "MUSASIM_RELEASE": _choice(*release.VERSIONS),
    "MUSASIM_SEED": Kind("a number or random", lambda text: text == "random" or _number(0).accepts(text)),
    "MUSASIM_STOCK_TORCH": _FLAG,
    "MUSASIM_STREAMCHECK": _FLAG,
    "MUSASIM_THREADS": Kind(
        "a number from 1 to 1024, or all", lambda text: text == "all" or _number(1, 1024).accepts(text)
    ),
}


def is_on(name: str) -> bool:
    """Whether a flag is set. A value that is not understood counts as off."""
    return os.environ.get(name, "").lower() in ON


def value(name: str, default: str) -> str:
    """What a variable is set to; `default` where it is not set, or to a value that is not understood."""
    text = os.environ.get(name) or default
    return text if KINDS[name].accepts(text) else default


def problems(environment: Mapping[str, str] | None = None) -> list[str]:
    """What is wrong with the simulator's variables: a line for each value that is not understood, and each unknown name."""
    given = os.environ if environment is None else environment
    ours = {name: given[name] for name in sorted(given) if name.startswith(PREFIX)}
    return [line for name, text in ours.items() if (line := _problem(name, text))]


def _problem(name: str, text: str) -> str:
    kind = KINDS.get(name)
    if kind is None:
        return f"{name}: the simulator has no such variable{_likely(name)}"
    return f"{name}={text!r}: expected {kind.expected}" if text and not kind.accepts(text) else ""


def _likely(name: str) -> str:
    from difflib import get_close_matches

    likely = get_close_matches(name, KINDS, 1, cutoff=0.8)  # all of them begin alike
    return f"; did you mean {likely[0]}?" if likely else ""


def tell(names: Iterable[str]) -> None:
    """Say on stderr what is wrong with these variables, which go on as if they were not set."""
    for name in names:
        if line := _problem(name, os.environ.get(name, "")):
            print(f"musasim: {line}{'; it counts as not set' if name in KINDS else ''}", file=sys.stderr)


def of_python() -> list[str]:
    """The variables that Python alone reads, and those that nobody reads. A wrong release or face is an error of the import."""
    unknown = [name for name in os.environ if name.startswith(PREFIX) and name not in KINDS]
    return ["MUSASIM_INDUCTOR", "MUSASIM_STOCK_TORCH", *sorted(unknown)]
