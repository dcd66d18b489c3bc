"""The reports of a check: JSON that fits its schema, SARIF 2.1.0, a page, text; and the command's exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cli.test_schemas import validate
from support.interpreter import Interpreter
from tools.check.conftest import Project
from torchada.report import pages
from torchada.tools.check import RULES, page, report, sarif

pytestmark = pytest.mark.once

FILES = {
    "a.py": "import torch\ntorch.cuda.jiterator\ntorch.cuda.is_available()\nx.cuda()\nimport pynvml\nd = 'cuda'\n",
    "knows.py": "import torch; torch.musa\ntorch.cuda.is_available()\ntorch.cuda.nvtx\n",
    "bad.py": "def (",
    "<script>alert(1)</script>.py": "import torch\ntorch.cuda.no('</script><script>alert(2)</script>')\n",
    "k.cu": '__global__ void k() { asm("bar.sync 1, 64;"); }\n',
    "requirements.txt": "cupy\n",
}
# What SARIF 2.1.0 asks of the parts that we write (sections 3.13 to 3.30 of the standard).
_MESSAGE = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
_REGION = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "startLine": {"type": "integer", "minimum": 1},
        "startColumn": {"type": "integer", "minimum": 1},
        "endColumn": {"type": "integer", "minimum": 1},
        "snippet": _MESSAGE,
    },
}
_PLACE = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "artifactLocation": {
            "type": "object",
            "properties": {
                "uri": {"type": "string", "pattern": "^[A-Za-z0-9%._~/-]+$"},
                "uriBaseId": {"const": "%SRCROOT%"},
            },
        },
        "region": _REGION,
    },
}
_RESULT = {
    "type": "object",
    "additionalProperties": False,
    "required": ["message", "ruleId", "locations"],
    "properties": {
        "ruleId": {"type": "string"},
        "ruleIndex": {"type": "integer", "minimum": 0},
        "kind": {"enum": ["notApplicable", "pass", "fail", "review", "open", "informational"]},
        "level": {"enum": ["none", "note", "warning", "error"]},
        "message": _MESSAGE,
        "locations": {"type": "array", "items": {"type": "object", "properties": {"physicalLocation": _PLACE}}},
        "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
        "properties": {"type": "object"},
    },
}
SARIF: dict[str, Any] = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "additionalProperties": False,
                "properties": {
                    "tool": {"type": "object", "required": ["driver"]},
                    "automationDetails": {"type": "object", "required": ["id"]},
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "results": {"type": "array", "items": _RESULT},
                },
            },
        },
    },
}


def test_the_document_fits_its_schema(project: Project) -> None:
    found = json.loads(json.dumps(report.document(project(FILES))))
    validate(found, "check")
    assert {each["severity"] for each in found["findings"]} == {"error", "warning", "note", "ok"}
    assert {each["rule"] for each in found["findings"]} <= RULES.keys() == found["totals"]["rules"].keys()
    assert sum(found["totals"]["severities"].values()) == len(found["findings"])


def test_a_project_without_anything_fits_it_too(project: Project) -> None:
    validate(json.loads(json.dumps(report.document(project({"a.txt": ""})))), "check")


def test_sarif_has_the_structure_of_the_standard(project: Project) -> None:
    result = project(FILES)
    found = json.loads(sarif.as_sarif(result))
    jsonschema.validate(found, SARIF)
    (run,) = found["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == list(RULES) and len(run["results"]) == len(result.findings)
    for each in run["results"]:
        assert rules[each["ruleIndex"]] == each["ruleId"]
        assert (each["kind"] == "pass") is (each["level"] == "none")  # 3.27.10: only a failure has a level
        region = each["locations"][0]["physicalLocation"]["region"]
        assert region["endColumn"] >= region["startColumn"]


def test_a_fingerprint_stays_while_lines_move(project: Project) -> None:
    before = json.loads(sarif.as_sarif(project({"a.py": "import torch\ntorch.cuda.jiterator\n"})))
    after = json.loads(sarif.as_sarif(project({"a.py": "import torch\n\n\ntorch.cuda.jiterator\n"})))
    marks = [found["runs"][0]["results"][0]["partialFingerprints"] for found in (before, after)]
    assert marks[0] == marks[1]


def test_the_page_holds_the_document_and_escapes_what_it_shows(project: Project) -> None:
    result = project(FILES)
    html = page.as_html(result)
    assert json.loads(pages.data_of(html))["findings"] == report.document(result)["findings"]
    assert html.count("<script") == 2 and "alert(1)</script>" not in html
    assert "torch.cuda.jiterator" in html and "Who sees MUSA" in html


def test_a_page_without_findings_says_so(project: Project) -> None:
    assert "Nothing here names CUDA." in page.as_html(project({"a.py": ""}))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        if "/" not in name:
            (tmp_path / name).write_text(text)
    return tmp_path


def test_the_command_writes_all_reports_and_says_what_does_not_work(plain: Interpreter, folder: Path) -> None:
    files = ["out.json", "out.html", "out.sarif"]
    there = Interpreter(env=plain.env, cwd=folder)
    done = there.run(
        ["-m", "torchada", "check", "a.py", *(part for file in files for part in ("--report", file))], check=False
    )
    assert done.returncode == 1 and done.stderr == "" and "\033" not in done.stdout
    lines = done.stdout.splitlines()
    assert lines[0].startswith("a.py: 1 file, 6 lines of Python, 5 findings; answers of torch ")
    assert lines[2] == "1 will not work" and lines[3].split()[:2] == ["1", "torch.cuda.jiterator"]
    assert json.loads((folder / "out.json").read_text())["findings"]
    assert json.loads((folder / "out.sarif").read_text())["version"] == "2.1.0"
    assert (folder / "out.html").read_text().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("name", "options", "code"),
    [
        ("a.py", [], 1),
        ("knows.py", [], 0),
        ("knows.py", ["--fail-on", "note"], 1),
        ("bad.py", [], 0),
        ("bad.py", ["--fail-on", "warning"], 1),
        ("nowhere.py", [], 2),
        ("a.py", ["--report", "out.txt"], 2),
        ("a.py", ["--fail-on", "ok"], 2),
    ],
)
def test_the_exit_code_says_what_was_found(
    plain: Interpreter, folder: Path, name: str, options: list[str], code: int
) -> None:
    done = Interpreter(env=plain.env, cwd=folder).run(["-m", "torchada", "check", name, *options], check=False)
    assert done.returncode == code
    assert bool(done.stderr) is (code == 2)


def test_json_is_printed_alone_and_neither_torch_nor_the_project_is_imported(plain: Interpreter, folder: Path) -> None:
    (folder / "b.py").write_text("raise SystemExit('imported')")
    code = (
        "import sys\nfrom torchada.cli import main\ncode = main(['check', '.', '--json'])\n"
        "assert not {'torch', 'wrapt', 'a', 'b'} & sys.modules.keys(), 'loaded'\nassert code == 1"
    )
    validate(json.loads(Interpreter(env=plain.env, cwd=folder).run(code).stdout), "check")


def test_quiet_and_verbose(plain: Interpreter, folder: Path) -> None:
    (folder / "many.py").write_text("import torch\n" + "torch.cuda.Stream()\n" * 9)
    there = Interpreter(env=plain.env, cwd=folder)
    plainly = there.run(["-m", "torchada", "check", "many.py"]).stdout
    assert "6 more" in plainly and "many.py:9" not in plainly
    assert "many.py:9" in there.run(["-m", "torchada", "check", "-v", "many.py"]).stdout
    assert "torch.cuda.Stream" not in there.run(["-m", "torchada", "check", "-q", "many.py"]).stdout
