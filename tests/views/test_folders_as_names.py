"""Tests that pytest names after the folders they lie in have the view that they have in its other modes of import."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from support.interpreter import Interpreter
from torchada.views.asker import Asker, asker

pytestmark = pytest.mark.once

ASKING = """
import os, sys
from torchada.base.settings import Settings
from torchada.views import Views
views = Views(Settings(strict=True, cache="/proc/nowhere"), "torch_musa")
def say(names):
    view = "cuda" if views.sees_cuda(names) else "musa"
    print("\\n" + os.environ["PYTEST_MODE"], os.path.basename(names["__file__"]), names["__name__"], view)
"""
TEST = "import asking\ndef test(): asking.say(globals())\n"
KNOWS = "import torch_musa\n"
# A folder with projects, each with tests of its own, and the view that these have.
FILES = {
    "knows/setup.py": "",
    "knows/src/kn/__init__.py": KNOWS,
    "knows/tests/unit/test_knows.py": TEST,
    "plain/pyproject.toml": "",
    "plain/plain/__init__.py": "",
    "plain/scripts/report.py": KNOWS,
    "plain/tests/test_plain.py": TEST,
    "packed/knows/setup.cfg": "",
    "packed/knows/pk/__init__.py": KNOWS,
    "packed/knows/tests/__init__.py": "",
    "packed/knows/tests/test_packed_knows.py": TEST,
    "packed/plain/setup.cfg": "",
    "packed/plain/tests/__init__.py": "",
    "packed/plain/tests/test_packed_plain.py": TEST,
    "torchada/setup.py": "",
    "torchada/tests/test_torchada.py": TEST,
    "torch/setup.py": "",
    "torch/tests/test_torch.py": TEST,
    "triton/setup.py": "",
    "triton/tests/test_triton.py": TEST,
    "loose/other.py": KNOWS,
    "loose/test_loose.py": TEST,
}
VIEWS = {
    name: "musa" if "knows" in name else "cuda" for name in map(os.path.basename, FILES) if name.startswith("test_")
}
# `pytest`, which does not add the folder it is started in to sys.path as `python -m pytest` does.
PYTEST = "import sys; sys.path.remove(''); import pytest; raise SystemExit(pytest.main(sys.argv[1:]))"


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def above(tmp_path: Path) -> Interpreter:
    """An interpreter in the folder above the projects."""
    write(tmp_path / "lib", {"asking.py": ASKING})
    folder = write(tmp_path / "above", {**FILES, "pytest.ini": "[pytest]\n"})
    return Interpreter(env={"PYTHONPATH": str(tmp_path / "lib")}, cwd=folder)


def said(above: Interpreter, mode: str, *arguments: str) -> dict[str, tuple[str, str]]:
    """The name and the view of each file of tests."""
    done = above.run(
        ["-c", PYTEST, "-qs", "-p", "no:cacheprovider", f"--import-mode={mode}", *arguments], env={"PYTEST_MODE": mode}
    )
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith(mode)]
    return {file: (name, view) for _, file, name, view in lines}


def test_the_view_of_a_test_does_not_depend_on_how_pytest_imports_it(above: Interpreter) -> None:
    one_of_two = "--ignore=packed/plain"  # each has a package `tests`, which prepend mode refuses
    by_import, by_path = said(above, "prepend", one_of_two), said(above, "importlib")
    assert {file: view for file, (_, view) in by_path.items()} == VIEWS
    assert {file: view for file, (_, view) in by_import.items()}.items() <= VIEWS.items()
    assert by_import["test_plain.py"][0] == "test_plain" and by_path["test_plain.py"][0] == "plain.tests.test_plain"


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """sys.modules, as it was before when the test is over."""
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return sys.modules


def namespace_package(name: str, folder: Path) -> ModuleType:
    made = ModuleType(name)
    made.__path__ = [str(folder)]
    return made


def names_of(name: str, file: Path) -> dict[str, str]:
    return {"__name__": name, "__file__": str(file)}


def test_an_empty_module_that_stands_for_a_folder_is_no_package(modules: dict[str, ModuleType], tmp_path: Path) -> None:
    modules["things"] = ModuleType("things")  # as pytest made it before 8.1
    file = tmp_path / "things" / "test_a.py"
    assert asker(names_of("things.test_a", file)) == Asker("test_a", str(file), (str(file),))


def test_a_folder_that_can_be_imported_is_a_package_unless_it_holds_the_project(
    modules: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    folder, file = tmp_path / "space", tmp_path / "space" / "part" / "inner" / "code.py"
    write(folder, {"part/__init__.py": "", "part/inner/__init__.py": "", "part/inner/code.py": "", "part/setup.py": ""})
    modules["space"] = namespace_package("space", folder)
    names = names_of("space.part.inner.code", file)
    assert asker(names) == Asker("space.part.inner.code", "space", (str(folder),)), "setup.py lies inside a package"
    (folder / "setup.py").touch()
    assert asker(names) == Asker("part.inner.code", str(folder / "part"), (str(folder / "part"),))


def test_a_package_that_a_finder_provides_is_left_alone(modules: dict[str, ModuleType], tmp_path: Path) -> None:
    package = modules["space"] = namespace_package("space", tmp_path / "space")
    package.__path__.append("__editable__.space-1.0.finder.__path_hook__")
    who = asker(names_of("space.code", tmp_path / "space" / "code.py"))
    assert who.package == "space" and who.name == "space.code"


def test_a_package_is_known_through_a_symbolic_link(modules: dict[str, ModuleType], tmp_path: Path) -> None:
    write(tmp_path / "true", {"pack/__init__.py": "", "pack/a.py": ""})
    (tmp_path / "link").symlink_to(tmp_path / "true")
    package = modules["pack"] = namespace_package("pack", tmp_path / "link" / "pack")
    package.__file__ = str(tmp_path / "link" / "pack" / "__init__.py")
    assert asker(names_of("pack.a", tmp_path / "true" / "pack" / "a.py")).package == "pack"


def test_a_module_that_a_package_loads_from_elsewhere_belongs_to_it(
    modules: dict[str, ModuleType], tmp_path: Path
) -> None:
    package = modules["pack"] = namespace_package("pack", tmp_path / "pack")
    package.__file__ = str(tmp_path / "pack" / "__init__.py")
    assert asker(names_of("pack.generated", tmp_path / "cache" / "x123.py")).package == "pack"
    elsewhere = tmp_path / "other" / "pack" / "tests" / "test_a.py"
    assert asker(names_of("pack.tests.test_a", elsewhere)) == Asker("test_a", str(elsewhere), (str(elsewhere),))
