"""The processes that we start ourselves import nothing of the folder that a user happens to be in: it may belong to anybody."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.interpreter import ROOT
from torchada.tools.doctor import child_probes

pytestmark = pytest.mark.once

SOURCE = ROOT / "src"
# The user's own program, as `python PROGRAM` starts it; and the adapter that `python -m torchada.testing` was told to check, which
# may lie in the current folder.
OF_THE_USER = {"torchada/cli/run.py", "torchada/testing/subject.py"}


def starts() -> Iterator[tuple[str, str, ast.List]]:
    """Each list [sys.executable, ...], with its file and the source of the function around it."""
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "sys.executable" not in text:  # every process of pytest comes here, and parsing all files takes seconds
            continue
        for function in ast.walk(ast.parse(text)):
            if isinstance(function, ast.FunctionDef):
                lists = (node for node in ast.walk(function) if isinstance(node, ast.List) and node.elts)
                for node in lists:
                    if ast.unparse(node.elts[0]) == "sys.executable":
                        yield str(path.relative_to(SOURCE)), ast.unparse(function), node


STARTS = [each for each in starts() if each[0] not in OF_THE_USER]


def test_the_places_are_found() -> None:
    assert {file for file, _, _ in STARTS} >= {
        "torchada/tools/doctor/child_probes.py",
        "torchada/porting/workers.py",
        "torchada/areas/cuda/_graph_limit.py",
        "torchada/tools/runner/child.py",
    }


@pytest.mark.parametrize(("file", "function", "command"), STARTS, ids=[file for file, _, _ in STARTS])
def test_a_process_of_ours_sees_nothing_of_the_current_folder(file: str, function: str, command: ast.List) -> None:
    """It is isolated, begins by taking the folder from the path, or runs a module from a folder that is ours."""
    first = ast.literal_eval(command.elts[1])
    if first == "-c":
        assert ast.unparse(command.elts[2]).startswith("NOT_FROM_HERE + "), file
    elif first == "-m":
        assert "cwd=_HOME" in function or "cwd=HOME" in function, file
    else:
        assert first == "-I", file


def test_a_module_of_the_folder_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("json", "os", "colorsys"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w')\n")
    monkeypatch.chdir(tmp_path)
    probe = child_probes._ask("import colorsys, json\nprint(json.dumps({'file': colorsys.__file__}))\n", 300, {})
    assert probe.ok and probe.answer["file"] != str(tmp_path / "colorsys.py")
    assert not (tmp_path / "executed").exists()
    monkeypatch.setattr(child_probes, "NOT_FROM_HERE", "")
    child_probes._ask("import colorsys\n", 300, {})
    assert (tmp_path / "executed").exists(), "otherwise this test would see nothing"
