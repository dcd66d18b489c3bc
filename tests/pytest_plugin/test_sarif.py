"""The memory checker's findings as SARIF: where, by whom, and the other access."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from torchada.pytest_plugin.sarif import as_sarif

pytestmark = pytest.mark.once

WHO = "kernel sum, block (1, 0, 0), thread (31, 0, 0): "
RACE = f"{WHO}race between blocks: with thread (0, 0, 0) of block (0, 0, 0)\n    at {{root}}/csrc/sum.cu:3\n    and csrc/sum.cu:2"
BOUNDS = f"{WHO}read out of bounds: read of 4 bytes\n    at /opt/other/k.cu:9"


def run_of(root: Path) -> dict[str, Any]:
    findings = [("t.py::test_a", RACE.format(root=root)), ("t.py::test_b", BOUNDS), ("t.py::test_c", BOUNDS)]
    document = json.loads(as_sarif(findings, str(root)))
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    return dict(run)


def test_the_place_is_below_the_project(tmp_path: Path) -> None:
    places = [result["locations"][0]["physicalLocation"] for result in run_of(tmp_path)["results"]]
    assert places[0] == {
        "artifactLocation": {"uri": "csrc/sum.cu", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 3},
    }
    assert places[1] == {"artifactLocation": {"uri": "/opt/other/k.cu"}, "region": {"startLine": 9}}


def test_who_and_the_other_access_are_named(tmp_path: Path) -> None:
    race, bounds, _ = run_of(tmp_path)["results"]
    assert "kernel sum, block (1, 0, 0), thread (31, 0, 0); in t.py::test_a" in race["message"]["text"]
    assert race["properties"] == {"test": "t.py::test_a", "block": "(1, 0, 0)", "thread": "(31, 0, 0)"}
    assert race["locations"][0]["logicalLocations"][0]["name"] == "sum"
    (other,) = race["relatedLocations"]
    assert other["physicalLocation"]["region"] == {"startLine": 2} and "relatedLocations" not in bounds


def test_each_kind_is_a_rule(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == ["race-between-blocks", "read-out-of-bounds"]
    assert [rules[result["ruleIndex"]] for result in run["results"]] == [result["ruleId"] for result in run["results"]]


def test_what_identifies_a_finding_stays_while_lines_move(tmp_path: Path) -> None:
    (tmp_path / "csrc").mkdir()
    source = tmp_path / "csrc" / "sum.cu"

    def fingerprint(text: str, line: int) -> str:
        source.write_text(text)
        document = json.loads(as_sarif([("t", f"{WHO}race: x\n    at {source}:{line}")], str(tmp_path)))
        return str(document["runs"][0]["results"][0]["partialFingerprints"]["place/v1"])

    assert fingerprint("a = b;\n", 1) == fingerprint("\n\na = b;\n", 3) != fingerprint("a = c;\n", 1)
