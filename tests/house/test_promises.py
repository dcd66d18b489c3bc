"""What README.md promises is held by tests that scripts/test.sh runs: tests/promises.toml names them."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import Any

from support.interpreter import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROMISES: list[dict[str, Any]] = tomllib.loads((ROOT / "tests" / "promises.toml").read_text())["promise"]
README = (ROOT / "README.md").read_text()
# What keeps a test out of scripts/test.sh.
LATER = re.compile(r"mark\.(full|slow)\b")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _functions(module: ast.Module) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)]


def _applies_to_all(module: ast.Module) -> list[ast.expr]:
    assigned = [node for node in module.body if isinstance(node, ast.Assign)]
    return [node.value for node in assigned if any(ast.unparse(target) == "pytestmark" for target in node.targets)]


def _is_a_parametrization(decorator: ast.expr) -> bool:
    """Which may mark some of its cases, and leaves others."""
    return isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith(".parametrize")


def why_not_held(test: str) -> str:
    """What is wrong with a test that is named for a promise, or nothing."""
    path, _, name = test.partition("::")
    files = [file for file in (ROOT / "tests").rglob(Path(path).name) if str(file).endswith(f"/{path}")]
    if len(files) != 1:
        return f"{test}: {len(files)} files have this name"
    module = ast.parse(files[0].read_text())
    functions = [function for function in _functions(module) if function.name == name]
    if not functions:
        return f"{test}: there is no such test"
    own = [decorator for decorator in functions[0].decorator_list if not _is_a_parametrization(decorator)]
    marks = " ".join(map(ast.unparse, [*_applies_to_all(module), *own]))
    return f"{test}: scripts/test.sh does not run it" if LATER.search(marks) else ""


def test_every_promise_stands_in_the_readme() -> None:
    missing = [promise["readme"] for promise in PROMISES if promise["readme"] not in _one_line(README)]
    assert not missing, "\n".join(missing)


def test_every_promise_is_held_by_tests_of_the_first_tier() -> None:
    wrong = [why_not_held(test) for promise in PROMISES for test in promise["tests"]]
    assert not any(wrong), "\n".join(filter(None, wrong))
    assert all(promise["tests"] for promise in PROMISES)


def test_every_command_of_the_readme_is_a_promise() -> None:
    table = README.partition("## On real hardware")[2].partition("\n## ")[0]
    rows = re.findall(r"^(\| [^|]+ \|)", table, re.MULTILINE)
    unheld = set(rows) - {"| to |"} - {promise["readme"] for promise in PROMISES}
    assert len(rows) > 10 and not unheld, unheld
