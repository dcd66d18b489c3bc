"""A project's own rules: `torchada-port.toml`, or `[tool.torchada.porting]` in pyproject.toml.

reached = 12040                       # the newest CUDA_VERSION that counts as reached
keep = ["cudaThing"]                  # names that stay
exclude = ["tests/*", "third_party"]  # what is copied as it is
[names]
MyCudaMacro = "MyMusaMacro"
[prefixes]
my_cuda_ = "my_musa_"
[headers]
"vendor/cuda_only.h" = "vendor/musa_only.h"
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from torchada.base import toml
from torchada.porting.findings import PortingError
from torchada.porting.macros import of_files
from torchada.porting.names import Names
from torchada.porting.translate import Translator
from torchada.porting.versions import REACHED

FILE = "torchada-port.toml"
_TABLES = ("names", "prefixes", "headers")
_LISTS = ("keep", "exclude")


@dataclass(frozen=True)
class Project:
    """The rules that a project adds. `names`, `prefixes` and `headers` map CUDA's to MUSA's; `keep` and `exclude` are lists.

    `device_macros` are the project's own that make a device type or a dispatch key of an argument; they are found, not written.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    prefixes: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    keep: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    reached: int = REACHED
    device_macros: frozenset[str] = frozenset()

    def translator(self) -> Translator:
        """A translator that follows these rules."""
        names = Names(words=self.names, prefixes=self.prefixes, headers=self.headers, keep=self.keep)
        return Translator(names, self.reached, self.device_macros)

    def knowing(self, files: Iterable[str]) -> Project:
        """The same rules, and the macros of these sources that make a device of an argument."""
        return replace(self, device_macros=self.device_macros | of_files(files))


def read(root: Path) -> Project:
    """The rules of the project at `root`; PortingError where they are not understood."""
    for name, path in ((FILE, ()), ("pyproject.toml", ("tool", "torchada", "porting"))):
        file = root / name
        if not file.is_file():
            continue
        text = _text(file)
        if not all(word in text for word in path):
            continue  # Python 3.10 has no parser for TOML, and needs one only for a file with rules
        table: Mapping[str, Any] = _parsed(text, file)
        for key in path:
            table = _inner(table, key, file)
        if table:
            return from_table(table, str(file))
    return Project()


def from_table(table: Mapping[str, Any], origin: str) -> Project:
    """The rules in `table`, which was read from `origin`."""
    unknown = sorted(set(table) - {*_TABLES, *_LISTS, "reached"})
    if unknown:
        raise PortingError(
            f"{origin}: {', '.join(unknown)} is not known; known are {', '.join((*_TABLES, *_LISTS, 'reached'))}"
        )
    for key in _TABLES:
        value = table.get(key, {})
        if not isinstance(value, Mapping) or not all(
            isinstance(text, str) and text for text in (*value, *value.values())
        ):
            raise PortingError(f"{origin}: {key} maps strings to strings")
    for key in _LISTS:
        if not isinstance(table.get(key, []), list) or not all(isinstance(text, str) for text in table.get(key, [])):
            raise PortingError(f"{origin}: {key} is a list of strings")
    if not isinstance(table.get("reached", 0), int):
        raise PortingError(f"{origin}: reached is a number such as 12040")
    names, prefixes, headers = (dict(table.get(key, {})) for key in _TABLES)
    keep, exclude = (tuple(table.get(key, ())) for key in _LISTS)
    return Project(names, prefixes, headers, keep, exclude, table.get("reached", REACHED))


def _inner(table: Mapping[str, Any], key: str, file: Path) -> Mapping[str, Any]:
    inner = table.get(key, {})
    if not isinstance(inner, Mapping):
        raise PortingError(f"{file}: {key} is a {type(inner).__name__}; expected a table")
    return inner


def _text(file: Path) -> str:
    if not file.resolve().is_relative_to(file.parent.resolve()):
        raise PortingError(f"{file} is a link that leads out of the project")
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PortingError(f"{file}: {error}") from error


def _parsed(text: str, file: Path) -> dict[str, Any]:
    try:
        return toml.parse(text)
    except ImportError:
        hint = "Python before 3.11 needs tomli to read them: pip install tomli"
        raise PortingError(f"{file} has rules for porting, and {hint}") from None
    except ValueError as error:
        raise PortingError(f"{file}: {error}") from error
