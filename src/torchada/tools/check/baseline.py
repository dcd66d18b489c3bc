"""A file with the findings that a project has accepted: a check reports what is new. Lines may move without effect."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

from torchada.report.severity import OK
from torchada.tools.check.findings import Finding

_KIND, _VERSION = "torchada-check-baseline", 1
_FIELDS = ("rule", "name", "file", "source")
Key = tuple[str, ...]


class BaselineError(ValueError):
    """The file is none; the message names it."""


def write(findings: Iterable[Finding]) -> str:
    """The text of a baseline with these findings; those that are as they should be are not in it."""
    counts = Counter(_key(finding) for finding in findings if finding.severity != OK)
    entries = [{**dict(zip(_FIELDS, key, strict=True)), "count": counts[key]} for key in sorted(counts)]
    return json.dumps({"schema": _KIND, "version": _VERSION, "findings": entries}, indent=1) + "\n"


def read(file: str) -> Counter[Key]:
    """How often each finding has been accepted. Raises BaselineError where the file is no baseline."""
    try:
        with open(file, encoding="utf-8") as stream:
            document = json.load(stream)
        if (document["schema"], document["version"]) != (_KIND, _VERSION):
            raise ValueError(f"it is of the kind {document['schema']!r}, version {document['version']!r}")
        return Counter(
            {tuple(str(entry[name]) for name in _FIELDS): int(entry["count"]) for entry in document["findings"]}
        )
    except OSError as error:
        raise BaselineError(f"{file}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BaselineError(f"{file}: this is no baseline of torchada check ({error})") from error


def new(findings: Iterable[Finding], accepted: Counter[Key]) -> list[Finding]:
    """The findings that are not in the baseline, or not so often."""
    left, fresh = Counter(accepted), []
    for finding in findings:
        key = _key(finding)
        if left[key] > 0:
            left[key] -= 1
        else:
            fresh.append(finding)
    return fresh


def _key(finding: Finding) -> Key:
    return finding.rule, finding.name, finding.file, finding.source
