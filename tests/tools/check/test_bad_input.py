"""Input that cannot be read as it should is a finding, and loses nothing of the rest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tools.check.conftest import Project
from torchada.tools.check import check, collect, session

pytestmark = pytest.mark.once

GOOD = {"good.py": "import torch\ntorch.cuda.jiterator\n"}


@pytest.mark.parametrize(
    ("name", "data", "said", "still"),
    [
        ("a.py", b"import torch\nprint 'x'\ntorch.cuda.empty_cache()\n", "Python 2", {"torch.cuda.empty_cache"}),
        ("a.py", b"def f(:\n  x.cuda()\n  torch.cuda.jiterator\n", "line 1", {"Tensor.cuda()", "torch.cuda.jiterator"}),
        ("a.py", b"d = 'cuda:0' +\n", "line 1", {'"cuda"'}),
        ("a.py", b"import torch\n# \xe9t\xe9\ntorch.cuda.empty_cache()\n", "it is not utf-8", {"torch.cuda.empty_cache"}),
        ("a.py", b"# coding: martian\nimport torch\ntorch.cuda.empty_cache()\n", "encoding", {"torch.cuda.empty_cache"}),
        ("a.py", b"import torch\n\0\n", "NUL", set()),
        ("a.py", b"# coding: punycode\nimport torch\ntorch.cuda.empty_cache()", "punycode", {"torch.cuda.empty_cache"}),
        ("a.py", b"# coding: undefined\nimport torch\ntorch.cuda.empty_cache()", "undefined", {"torch.cuda.empty_cache"}),
        ("a.py", b"# coding: hex\nimport torch\ntorch.cuda.empty_cache()", "hex", {"torch.cuda.empty_cache"}),
        ("setup.py", b"x" + b".a" * 700 + b" = 1\n", "too deeply", set()),
        ("a.py", b"x = " + b"(" * 5000 + b")" * 5000, "searched by lines", set()),
        ("a.py", b"import torch\nx = torch.cuda.empty_cache()" + b".a" * 3000 + b"\n", "", {"torch.cuda.empty_cache"}),
        ("a.py", b"x = " + b"-" * 100000 + b"1 # cuda", "", set()),
        ("a.ipynb", b"{", "no notebook", set()),
        ("a.ipynb", b'{"cells": 3}', "no notebook", set()),
        ("a.ipynb", b"[]", "no notebook", set()),
        ("a.ipynb", b'{"cells": [{"cell_type": "code", "source": ["x.cuda() ("]}]}', "no Python", {"Tensor.cuda()"}),
        ("a.cu", b"cudaFree(0);\0", "NUL", set()),
        ("pyproject.toml", b"dependencies = ['cupy'\n[[", "", {"cupy"}),
        ("pyproject.toml", b"[tool.uv]\nindex = [{url = [1]}]\n[project]\ndependencies = ['cupy']", "", {"cupy"}),
        ("pyproject.toml", b"a = " + b"[" * 50000 + b"]" * 50000 + b"\nb = ['cupy']", "", {"cupy"}),
        ("pyproject.toml", b"a = " + b"1" * 5000 + b"\nb = ['cupy']", "", {"cupy"}),
        ("pyproject.toml", b"[project]\ndependencies = ['', \"\", \"cupy\"]", "", {"cupy"}),
        ("requirements.txt", b"\xff\xfe\ncupy\n", "", {"cupy"}),
    ],
)  # fmt: skip
def test_a_file_that_is_not_what_it_should_be(
    project: Project, name: str, data: bytes, said: str, still: set[str]
) -> None:
    result = project({**GOOD, name: data})
    ours = [each for each in result.findings if each.file == name]
    assert any(each.rule == "not-read" and said in each.message for each in ours) or not said
    assert {each.name for each in ours if each.rule != "not-read"} >= still
    assert [each.name for each in result.findings if each.file == "good.py"] == ["torch.cuda.jiterator"]


def test_byte_order_marks_and_line_ends_are_fine(project: Project) -> None:
    result = project(
        {"a.py": b"\xef\xbb\xbfimport torch\r\ntorch.cuda.jiterator\r\n", "b.py": b"import torch\rtorch.cuda.jiterator"}
    )
    assert [(each.file, each.line, each.rule) for each in result.findings] == [
        ("a.py", 2, "cuda-api"),
        ("b.py", 2, "cuda-api"),
    ]


def test_other_encodings_are_read_as_they_say(project: Project) -> None:
    (found,) = project(
        {"a.py": "# coding: latin-1\nimport torch\nx = 'é', torch.cuda.jiterator\n".encode("latin-1")}
    ).findings
    assert found.source == "x = 'é', torch.cuda.jiterator"


def test_a_huge_file_is_named(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect.read, "__defaults__", (64 << 10,))
    result = project({**GOOD, "huge.py": b"#" * (65 << 10)})
    assert [each.name for each in result.findings] == ["torch.cuda.jiterator", "huge.py"]


def test_links_are_followed_once_and_never_out_of_the_project(project: Project, tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / "package").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.py").write_text("import torch\ntorch.cuda.jiterator\n")
    for name, target in {
        "loop": ".", "package/up": "..", "away": "../outside", "self.py": "self.py", "gone.py": "nowhere", "again": "package",
    }.items():  # fmt: skip
        (root / name).symlink_to(target)
    result = project({**GOOD, "package/a.py": "x.cuda()"})
    assert sorted((each.file, each.rule) for each in result.findings) == [
        ("again/a.py" if "again/a.py" in {each.file for each in result.findings} else "package/a.py", "cuda-api"),
        ("away", "not-read"), ("gone.py", "not-read"), ("good.py", "cuda-api"), ("self.py", "not-read"),
    ]  # fmt: skip


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_what_may_not_be_read_is_named(project: Project, tmp_path: Path) -> None:
    (tmp_path / "project" / "closed").mkdir(parents=True, mode=0)
    result = project({**GOOD, "a.py": "x.cuda()"})
    (tmp_path / "project" / "closed").chmod(0o700)
    assert [each.file for each in result.findings if each.rule == "not-read"] == ["closed"]


def test_what_cannot_be_opened_is_named(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: object, *rest: object, **options: object) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    # The table was read before: only the project's files are refused.
    from torchada.tools.check.apis import table

    monkeypatch.undo()
    table()
    monkeypatch.setattr(collect, "open", refuse, raising=False)
    result = project(GOOD)
    assert [(each.rule, each.message) for each in result.findings] == [
        ("not-read", "it cannot be read: Permission denied")
    ]


def test_a_pipe_is_not_waited_for(project: Project, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    os.mkfifo(tmp_path / "project" / "pipe.py")
    result = project(GOOD)
    assert [(each.file, each.rule) for each in result.findings] == [("good.py", "cuda-api"), ("pipe.py", "not-read")]


def test_a_name_that_is_no_text_is_shown(tmp_path: Path) -> None:
    file = os.fsencode(tmp_path) + b"/\xff.py"
    with open(file, "w") as stream:
        stream.write("x.cuda()")
    (found,) = check([str(tmp_path)]).findings
    assert found.file == "\udcff.py"


def test_a_virtual_environment_is_not_the_project(project: Project) -> None:
    result = project({**GOOD, "env/pyvenv.cfg": "", "env/lib/a.py": "x.cuda()", ".git/a.py": "x.cuda()"})
    assert [each.file for each in result.findings] == ["good.py"]


def test_a_link_to_a_file_outside_is_named_and_not_read(project: Project, tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("import torch\npassword = 'HUNTER2'; torch.cuda.jiterator\n")
    (tmp_path / "project" / "inner").mkdir(parents=True)
    (tmp_path / "project" / "away.py").symlink_to("../secret.py")
    (tmp_path / "project" / "inside.py").symlink_to("good.py")
    (tmp_path / "project" / "pyproject.toml").symlink_to("/dev/null")
    findings = project(GOOD).findings
    assert {finding.file for finding in findings if "leads out of the project" in finding.message} == {
        "away.py",
        "pyproject.toml",
    }
    assert [finding.file for finding in findings if finding.name == "torch.cuda.jiterator"] == ["good.py", "inside.py"]
    assert not any("HUNTER2" in finding.source for finding in findings)


@pytest.mark.parametrize("rules", ["[tool.torchada]\nporting = 1", "[tool]\ntorchada = 1\nporting = 'x'"])
def test_rules_for_porting_that_are_no_table_are_named(project: Project, rules: str) -> None:
    findings = project({**GOOD, "pyproject.toml": rules, "k.cu": "cudaFree(0);"}).findings
    assert any("expected a table" in finding.message for finding in findings if finding.rule == "not-read")
    assert any(finding.file == "good.py" for finding in findings)


def test_a_fault_in_a_reader_hides_no_other_file(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(session.READERS, collect.REQUIREMENTS, lambda file, data, project: 1 / 0)
    findings = project({**GOOD, "requirements.txt": "cupy"}).findings
    assert [finding.file for finding in findings] == ["good.py", "requirements.txt"]
    assert "a fault of torchada: ZeroDivisionError" in findings[1].message
