"""What a project says of its check: the table [tool.torchada.check] of its pyproject.toml."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from torchada.base import toml
from torchada.report.severity import SEVERITIES
from torchada.tools.check.findings import RULES, Finding
from torchada.tools.check.releases import RELEASES

_LISTS = ("select", "ignore", "exclude")
_KEYS = (*_LISTS, "per-file-ignores", "fail-on", "baseline", "torch-musa")


class ConfigurationError(ValueError):
    """The table cannot be understood; the message names the file, the key, and what was expected."""


@dataclass(frozen=True)
class Configuration:
    """`select`: the codes that count, all where it is empty; `ignore`: those that do not; `exclude`: paths to leave out.

    `per_file`: more codes that do not count, by patterns of paths; `fail_on`: the severity from which on the exit code is 1;
    `baseline`: the path of a file with findings that are accepted; `torch_musa`: the release whose answers count, by
    default the installed one.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    per_file: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fail_on: str = ""
    baseline: str = ""
    torch_musa: str = ""

    def counts(self, finding: Finding) -> bool:
        """Whether a finding is one that the project wants to hear of."""
        if (self.select and finding.rule not in self.select) or finding.rule in self.ignore:
            return False
        return not any(
            finding.rule in codes and fnmatch.fnmatchcase(finding.file, pattern)
            for pattern, codes in self.per_file.items()
        )

    def with_options(
        self, select: Sequence[str], ignore: Sequence[str], exclude: Sequence[str], torch_musa: str = ""
    ) -> Configuration:
        """The same with what the command line says: `select` and `torch_musa` replace the table's, the others are added."""
        return replace(
            self,
            select=_codes("--select", select) or self.select,
            ignore=(*self.ignore, *_codes("--ignore", ignore)),
            exclude=(*self.exclude, *exclude),
            torch_musa=_release("--torch-musa", torch_musa) or self.torch_musa,
        )


def of(roots: Iterable[str]) -> Configuration:
    """The table of the first pyproject.toml that has one, from the first root upwards."""
    for root in roots:
        folder = os.path.realpath(root)
        while True:
            file = os.path.join(folder, "pyproject.toml")
            table = _table(file) if os.path.isfile(file) else None
            if table is not None:
                return _understood(file, table)
            above = os.path.dirname(folder)
            if above == folder:
                break
            folder = above
    return Configuration()


def _table(file: str) -> Any:
    """The table, or None where there is none or the file is no TOML, which the check itself tells of."""
    try:
        with open(file, "rb") as stream:
            data = stream.read()
        if b"torchada" not in data:
            return None
        document: Any = toml.parse(data.decode("utf-8", "replace"))
    except OSError as error:
        raise ConfigurationError(f"{file}: {error.strerror}") from error
    except ValueError as error:
        raise ConfigurationError(f"{file}: {error}") from error
    for key in ("tool", "torchada", "check"):
        document = document.get(key) if isinstance(document, dict) else None
    return document


def _understood(file: str, table: Any) -> Configuration:
    where = f"{file}: [tool.torchada.check]"
    if not isinstance(table, dict):
        raise ConfigurationError(f"{where}: expected a table")
    for key in table:
        if key not in _KEYS:
            raise ConfigurationError(f"{where}: {key!r} is no key of it; expected {', '.join(_KEYS)}")
    lists = {key: _strings(f"{where} {key}", table.get(key, [])) for key in _LISTS}
    per_file = table.get("per-file-ignores", {})
    if not isinstance(per_file, dict):
        raise ConfigurationError(f"{where} per-file-ignores: expected a table of lists of codes by pattern")
    fail_on, baseline = table.get("fail-on", ""), table.get("baseline", "")
    if fail_on and fail_on not in SEVERITIES[:3]:
        raise ConfigurationError(f"{where} fail-on: expected {', '.join(SEVERITIES[:3])}, got {fail_on!r}")
    if not isinstance(baseline, str):
        raise ConfigurationError(f"{where} baseline: expected the name of a file, got {baseline!r}")
    return Configuration(
        _codes(f"{where} select", lists["select"]),
        _codes(f"{where} ignore", lists["ignore"]),
        lists["exclude"],
        {
            pattern: _codes(f"{where} {pattern}", _strings(f"{where} {pattern}", codes))
            for pattern, codes in per_file.items()
        },
        fail_on,
        os.path.join(os.path.dirname(file), baseline) if baseline else "",
        _release(f"{where} torch-musa", table.get("torch-musa", "")),
    )


def _release(where: str, given: Any) -> str:
    if given and given not in RELEASES:
        raise ConfigurationError(f"{where}: expected {', '.join(RELEASES)}, got {given!r}")
    return given or ""


def _strings(where: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise ConfigurationError(f"{where}: expected a list of strings, got {value!r}")
    return tuple(value)


def _codes(where: str, given: Iterable[str]) -> tuple[str, ...]:
    codes = tuple(code.strip() for entry in given for code in entry.split(",") if code.strip())
    for code in codes:
        if code not in RULES:
            raise ConfigurationError(f"{where}: there is no code {code!r}; expected some of {', '.join(RULES)}")
    return codes
