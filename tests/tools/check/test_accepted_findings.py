"""What a project does not want to hear of: comments, [tool.torchada.check], a baseline; and the numbers of what is left."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from tools.check.conftest import Project
from torchada import cli
from torchada.tools.check import RULES, check, configuration, effort
from torchada.tools.check.findings import Finding

pytestmark = pytest.mark.once

REFUSED = "import torch\ntorch.cuda.jiterator\n"


def rules(findings: list[Finding]) -> list[str]:
    return [finding.rule for finding in findings if finding.severity != "ok"]


@pytest.mark.parametrize(
    ("comment", "left"),
    [
        ("# torchada: ignore", []),
        ("# torchada: ignore[cuda-api]", []),
        ("# why; torchada: ignore[cuda-api]", ["cuda-api"]),
        ("# torchada: ignore[not-read, cuda-api]", []),
        ("# torchada: ignore[not-read]", ["cuda-api", "suppression"]),
        ("# torchada: ignore[cuda-apo]", ["cuda-api", "suppression"]),
    ],
)
def test_a_comment_accepts_the_findings_of_its_line(project: Project, comment: str, left: list[str]) -> None:
    result = project({"a.py": f"import torch\ntorch.cuda.jiterator  {comment}\n"})
    assert sorted(rules(result.findings)) == left and result.accepted == (not left)


def test_a_comment_accepts_the_findings_of_a_file(project: Project) -> None:
    files = {
        "a.py": f"# torchada: ignore-file[cuda-api]\n{REFUSED}import cupy\n",
        "k.cu": '// torchada: ignore-file\n__global__ void k() { asm("bar.sync 1, 64;"); }\n',
        "requirements.txt": "cupy  # torchada: ignore[nvidia-requirement]\n",
    }
    result = project(files)
    assert rules(result.findings) == ["nvidia-import"] and result.accepted == 3


def test_a_comment_that_accepts_nothing_is_named(project: Project) -> None:
    (finding,) = project({"a.py": "import os  # torchada: ignore\n"}).findings
    assert (finding.rule, finding.severity, finding.message) == ("suppression", "note", "it suppresses nothing")


TABLE = """
[tool.torchada.check]
ignore = ["nvidia-import"]
exclude = ["tests"]
fail-on = "warning"
per-file-ignores = {"b*.py" = ["cuda-api"]}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyproject.toml").write_text(TABLE)
    (tmp_path / "tests").mkdir()
    for name in ("a.py", "b1.py", "tests/c.py"):
        (tmp_path / name).write_text(REFUSED + "import cupy\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_table_of_a_project_says_what_counts(folder: Path) -> None:
    wanted = configuration.of([str(folder / "tests")])  # from there upwards
    result = check([str(folder)], configuration=wanted)
    assert [(finding.file, finding.rule) for finding in result.findings] == [("a.py", "cuda-api")]
    assert wanted.fail_on == "warning"


def test_the_command_line_adds_to_the_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", ".", "--ignore", "cuda-api"]) == 0
    assert cli.main(["check", ".", "--select", "cuda-api"]) == 1
    assert cli.main(["check", ".", "--exclude", "a.py"]) == 0
    assert "0 findings" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("selct = []", "'selct' is no key of it; expected select, ignore, exclude"),
        ("ignore = ['cuda-apo']", "ignore: there is no code 'cuda-apo'"),
        ("ignore = 'cuda-api'", "ignore: expected a list of strings, got 'cuda-api'"),
        ("fail-on = 'all'", "fail-on: expected error, warning, note, got 'all'"),
        ("baseline = 1", "baseline: expected the name of a file, got 1"),
        ("per-file-ignores = []", "per-file-ignores: expected a table"),
        ("per-file-ignores = {a = 1}", "a: expected a list of strings, got 1"),
        ("baseline = 'nowhere.json'", "nowhere.json: No such file or directory"),
        ("torch-musa = '2.8'", "torch-musa: expected 2.7.1, 2.9.1, 2.11.0, got '2.8'"),
        ("torch-musa = 2.9", "torch-musa: expected 2.7.1, 2.9.1, 2.11.0, got 2.9"),
        ("torch-musa = ['2.9.1']", "torch-musa: expected 2.7.1, 2.9.1, 2.11.0, got ['2.9.1']"),
        ("ignore = [", "pyproject.toml: "),
        ("ignore = " + "[" * 9000, "pyproject.toml: it is nested too deeply"),
    ],
)
def test_a_table_that_is_not_understood_is_an_error(
    folder: Path, capsys: pytest.CaptureFixture[str], table: str, said: str
) -> None:
    (folder / "pyproject.toml").write_text(f"[tool.torchada.check]\n{table}\n")
    with pytest.raises(SystemExit, match="2"):
        cli.main(["check", "."])
    assert said in capsys.readouterr().err


def test_a_table_that_cannot_be_read_is_an_error(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a folder above the project, too: others may have closed it."""

    def refuse(file: str, mode: str) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), file)

    (folder / "pyproject.toml").touch()
    monkeypatch.setattr(configuration, "open", refuse, raising=False)
    with pytest.raises(SystemExit, match="2"):
        cli.main(["check", "."])
    assert "pyproject.toml: Permission denied" in capsys.readouterr().err


def test_a_baseline_accepts_what_it_has_wherever_it_moves(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "pyproject.toml").write_text(
        '[tool.torchada.check]\nbaseline = "known.json"\nexclude = ["tests", "b*"]\n'
    )
    assert cli.main(["check", ".", "--write-baseline", "known.json"]) == 0
    (folder / "a.py").write_text(f"\n\n{REFUSED}import cupy\n")
    assert cli.main(["check", "."]) == 0 and "2 more accepted" in capsys.readouterr().out
    (folder / "a.py").write_text(f"{REFUSED}import cupy\ntorch.cuda.jiterator\n")
    assert cli.main(["check", ".", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert len(document["findings"]) == 1 and document["totals"]["accepted"] == 2
    os.chdir(folder / "tests")
    assert cli.main(["check", "..", "--baseline", "../known.json"]) == 1


def test_a_file_that_is_no_baseline_is_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bad.json").write_text("[]")
    with pytest.raises(SystemExit, match="2"):
        cli.main(["check", ".", "--baseline", "bad.json"])
    assert "bad.json: this is no baseline of torchada check" in capsys.readouterr().err


def test_statistics_are_numbers_by_code_and_by_effort(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.py").write_text(f"{REFUSED}torch.cuda.synchronize()\ntorch.cuda.is_available()\ntorch.cuda.nonsense\n")
    assert cli.main(["check", "a.py", "--statistics"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[2:4]] == [["3", "cuda-api"], ["1", "view-question"]]
    assert "50.0 % of 4 findings run unchanged" in lines
    assert [line.split()[:2] for line in lines[-4:]] == [
        ["2", "unchanged"],
        ["1", "look"],
        ["0", "replace"],
        ["1", "rewrite"],
    ]


def test_each_finding_has_one_class_of_effort() -> None:
    findings = [
        Finding(rule, severity, "", "", "") for rule in RULES for severity in ("error", "warning", "note", "ok")
    ]
    classes, share = effort.of(findings)
    assert sum(classes.values()) == len(findings) and share == 0.5
    assert effort.of([]).share == 1.0
