"""The findings in SARIF 2.1.0, which code hosts and editors show beside the lines."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any
from urllib.parse import quote

from torchada.base.version import __version__
from torchada.report.explanations import address
from torchada.report.severity import ERROR, NOTE, OK, WARNING
from torchada.tools.check.findings import RULES, Finding
from torchada.tools.check.session import Result

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {ERROR: "error", WARNING: "warning", NOTE: "note", OK: "none"}
_SITE = "https://github.com/MooreThreads/torchada"


def as_sarif(result: Result) -> str:
    """The findings as the text of a .sarif file. Those that need no attention have the kind "pass", which viewers hide."""
    rules, uri = list(RULES), _uris(result.roots)
    run = {
        "tool": {"driver": _driver()},
        "automationDetails": {"id": "torchada-check/"},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, rules.index(finding.rule), uri(finding.file)) for finding in result.findings],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _driver() -> dict[str, Any]:
    rules = [
        {
            "id": name,
            "shortDescription": {"text": rule.looks_for},
            "fullDescription": {"text": f"{rule.looks_for}. {rule.why}"},
            "help": {"text": rule.advice},
            "helpUri": address("how-to/check.md#what-is-found"),
        }
        for name, rule in RULES.items()
    ]
    return {
        "name": "torchada check",
        "version": __version__,
        "informationUri": _SITE,
        "rules": rules,
    }


def _uris(roots: Sequence[str]) -> Callable[[str], str]:
    """From the path of a finding to its address below the current folder: code hosts know paths from the top of a repository on."""
    here = os.path.realpath(os.curdir)
    tops = {os.path.basename(real): real for real in map(os.path.realpath, roots)}

    def uri(file: str) -> str:
        first, _, rest = file.partition("/")
        if len(roots) > 1:
            path = os.path.join(tops[first], rest) if first in tops and rest else tops.get(first, file)
        else:
            (top,) = tops.values()
            path = os.path.join(top, file) if os.path.isdir(top) else top
        below = os.path.relpath(path, here)
        return quote(file if below.startswith(os.pardir) else below, errors="surrogateescape")

    return uri


def _result(finding: Finding, rule: int, uri: str) -> dict[str, Any]:
    region: dict[str, Any] = {"startLine": finding.line, "startColumn": finding.column, "endColumn": finding.end}
    if finding.source:
        region["snippet"] = {"text": finding.source}
    place = {"artifactLocation": {"uri": uri, "uriBaseId": "%SRCROOT%"}, "region": region}
    given = {"api": finding.name, "kind": finding.kind, "to": finding.to, "view": finding.view}
    return {
        "ruleId": finding.rule,
        "ruleIndex": rule,
        "level": _LEVELS[finding.severity],
        "kind": "pass" if finding.severity == OK else "fail",
        "message": {"text": f"{finding.name}: {finding.message}"},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"place/v1": _fingerprint(finding)},
        "properties": {name: value for name, value in given.items() if value},
    }


def _fingerprint(finding: Finding) -> str:
    """What stays the same while lines move."""
    text = "\0".join((finding.rule, finding.name, finding.file, finding.source))
    return blake2b(text.encode(errors="surrogateescape"), digest_size=12).hexdigest()
