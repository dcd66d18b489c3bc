"""The findings in SARIF 2.1.0, which code hosts and editors show beside the lines."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any
from urllib.parse import quote

from torchada.base.version import __version__
from torchada.report.severity import ERROR, NOTE, OK, WARNING
from torchada.tools.check.findings import RULES, Finding
from torchada.tools.check.session import Result

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {ERROR: "error", WARNING: "warning", NOTE: "note", OK: "none"}
_SITE = "https://github.com/MooreThreads/torchada"


def as_sarif(result: Result) -> str:
    """The findings as the text of a .sarif file. Those that need no attention have the kind "pass", which viewers hide."""
    rules = list(RULES)
    run = {
        "tool": {"driver": _driver()},
        "columnKind": "unicodeCodePoints",
        "results": [_result(each, rules.index(each.rule)) for each in result.findings],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _driver() -> dict[str, Any]:
    rules = [
        {
            "id": name,
            "shortDescription": {"text": rule.looks_for},
            "help": {"text": rule.advice},
        }
        for name, rule in RULES.items()
    ]
    return {
        "name": "torchada check",
        "version": __version__,
        "informationUri": _SITE,
        "rules": rules,
    }


def _result(found: Finding, rule: int) -> dict[str, Any]:
    region: dict[str, Any] = {"startLine": found.line, "startColumn": found.column, "endColumn": found.end}
    if found.source:
        region["snippet"] = {"text": found.source}
    place = {"artifactLocation": {"uri": quote(found.file, errors="surrogateescape")}, "region": region}
    given = {"api": found.name, "kind": found.kind, "to": found.to, "view": found.view}
    return {
        "ruleId": found.rule,
        "ruleIndex": rule,
        "level": _LEVELS[found.severity],
        "kind": "pass" if found.severity == OK else "fail",
        "message": {"text": f"{found.name}: {found.message}"},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"place/v1": _fingerprint(found)},
        "properties": {name: value for name, value in given.items() if value},
    }


def _fingerprint(found: Finding) -> str:
    """What stays the same while lines move."""
    text = "\0".join((found.rule, found.name, found.file, found.source))
    return blake2b(text.encode(errors="surrogateescape"), digest_size=12).hexdigest()
