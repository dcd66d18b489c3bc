"""The memory checker's findings in SARIF 2.1.0, which code hosts and editors show beside the lines."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any
from urllib.parse import quote

from torchada.base.version import __version__
from torchada.pytest_plugin.finding import Finding, Place
from torchada.report.explanations import address

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_SITE = "https://github.com/MooreThreads/torchada"
_HELP = "how-to/check-kernels.md#checking-kernels"


def as_sarif(findings: Sequence[tuple[str, str]], root: str) -> str:
    """The text of a .sarif file. `findings` are (test, the simulator's text), and addresses are below `root`."""
    read = [(test, Finding.of(text)) for test, text in findings]
    kinds = sorted({finding.kind for _, finding in read})
    run = {
        "tool": {"driver": _driver(kinds)},
        "automationDetails": {"id": "torchada-cuda-memcheck/"},
        "columnKind": "unicodeCodePoints",
        "results": [_result(test, finding, kinds.index(finding.kind), root) for test, finding in read],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _driver(kinds: Sequence[str]) -> dict[str, Any]:
    rules = [
        {"id": _rule(kind), "shortDescription": {"text": f"{kind} in a kernel"}, "helpUri": address(_HELP)}
        for kind in kinds
    ]
    return {"name": "pytest --cuda-memcheck", "version": __version__, "informationUri": _SITE, "rules": rules}


def _rule(kind: str) -> str:
    return kind.replace(" ", "-")


def _result(test: str, finding: Finding, rule: int, root: str) -> dict[str, Any]:
    location = {**_location(finding.place, root), "logicalLocations": [{"name": finding.kernel, "kind": "function"}]}
    result: dict[str, Any] = {
        "ruleId": _rule(finding.kind),
        "ruleIndex": rule,
        "level": "error",
        "message": {"text": f"{finding.kind}: {finding.what} ({finding.who()}; in {test})"},
        "locations": [location],
        "partialFingerprints": {"place/v1": _fingerprint(finding, root)},
        "properties": {"test": test, "block": finding.block, "thread": finding.thread},
    }
    if finding.other is not None:
        other = {"id": 1, "message": {"text": "the other access"}, **_location(finding.other, root)}
        result["relatedLocations"] = [other]
    return result


def _location(place: Place, root: str) -> dict[str, Any]:
    below = os.path.relpath(os.path.join(root, place.file), root)
    uri = place.file if below.startswith(os.pardir) else below
    physical: dict[str, Any] = {"artifactLocation": {"uri": quote(uri, errors="surrogateescape")}}
    if not os.path.isabs(uri):
        physical["artifactLocation"]["uriBaseId"] = "%SRCROOT%"
    if place.line:
        physical["region"] = {"startLine": place.line}
    return {"physicalLocation": physical}


def _fingerprint(finding: Finding, root: str) -> str:
    """What stays the same while lines move."""
    text = "\0".join((finding.kind, finding.kernel, os.path.basename(finding.place.file), finding.place.source(root)))
    return blake2b(text.encode(errors="surrogateescape"), digest_size=12).hexdigest()
