"""`torchada explain CODE`: every code that check and doctor print is explained."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from support.interpreter import ROOT
from support.json_schemas import validate
from torchada import cli
from torchada.cli.explain import explanations
from torchada.report.answers import MEANINGS
from torchada.tools.check import RULES
from torchada.tools.doctor import software_checks

pytestmark = pytest.mark.once


def problems() -> set[str]:
    """The codes of what the doctor does not find as it should be."""
    codes = set()
    for file in Path(software_checks.__file__).parent.glob("*.py"):
        for call in ast.walk(ast.parse(file.read_text())):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Result":
                code, severity = call.args[0], call.args[1]
                if isinstance(code, ast.Constant) and getattr(severity, "id", "") != "OK":
                    codes.add(str(code.value))
    return codes


def test_every_code_of_check_doctor_and_reports_is_explained() -> None:
    known = explanations()
    assert len(problems()) > 30 and problems() | RULES.keys() | MEANINGS.keys() == known.keys()


def test_the_page_that_an_explanation_names_is_there() -> None:
    for one in explanations().values():
        page, _, heading = one.page.partition("#")
        titles = re.findall(r"^#+ (.*)$", (ROOT / "docs" / page).read_text(), re.MULTILINE)
        assert not heading or heading in {title.lower().replace(" ", "-") for title in titles}, one.page


def test_explain_says_what_why_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "pair-torch"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head == "pair-torch (torchada doctor)" and [row.split()[0] for row in rows] == ["what", "why", "to", "more"]
    assert rows[-1].endswith("https://github.com/MooreThreads/torchada/blob/main/docs/how-to/doctor.md")


def test_explain_lists_every_code_with_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain"]) == 0
    assert {line.split()[0] for line in capsys.readouterr().out.splitlines() if line[0] != " "} == explanations().keys()


@pytest.mark.parametrize("asked", [["cuda-api"], []])
def test_explain_prints_json(asked: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", *asked, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    validate(document, "explain")
    found = {one["code"]: one for one in document["explanations"]}
    assert found["cuda-api"]["why"] == RULES["cuda-api"].why
    assert found.keys() == (set(asked) or explanations().keys())


def test_a_code_that_there_is_not_is_answered_with_one_that_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["explain", "cuda-apo"])
    assert "there is no code 'cuda-apo': did you mean cuda-api?" in capsys.readouterr().err
