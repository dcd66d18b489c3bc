"""Fixtures that are built once: a clean tree, its wheel and its source distribution, and an environment with the wheel."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.distributions import MakeVenv, Venv, build
from support.interpreter import ROOT

# The files of a checkout, from which MANIFEST.in chooses.
TREE = (
    *("pyproject.toml", "setup.py", "MANIFEST.in", "LICENSE", "README.md", "AGENTS.md", "CHANGELOG.md", "CITATION.cff"),
    *(".ci", ".devcontainer", ".github", ".gitignore", "benchmarks", "docs", "scripts", "sitecustomize", "src", "tests"),
)  # fmt: skip
LEFT_OVER = shutil.ignore_patterns("*.egg-info", "__pycache__", "*.so", "*.py[cod]", "*.pt")


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the workers of pytest-xdist have in common."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "packaging"
    folder.mkdir(exist_ok=True)
    return folder


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    with open(folder / "lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def tree(shared: Path) -> Path:
    """The sources without files left by earlier builds, because setuptools would put stale files into the wheel."""
    with locked(shared):
        target = shared / "tree"
        if not target.exists():
            target.mkdir()
            for path in (ROOT / name for name in TREE):
                if path.is_dir():
                    shutil.copytree(path, target / path.name, ignore=LEFT_OVER)
                elif path.is_file():
                    shutil.copy(path, target / path.name)
    return target


@pytest.fixture(scope="session")
def wheel(shared: Path, tree: Path) -> Path:
    return _built(shared, tree, "*.whl", "--wheel")


@pytest.fixture(scope="session")
def sdist(shared: Path, tree: Path) -> Path:
    return _built(shared, tree, "*.tar.gz", "--sdist")


def _built(shared: Path, tree: Path, pattern: str, option: str) -> Path:
    with locked(shared):
        if not list(shared.glob(pattern)):
            build(tree, shared, option)
    (found,) = shared.glob(pattern)
    return found


@pytest.fixture
def make_venv(tmp_path: Path) -> MakeVenv:
    return lambda: Venv.make(tmp_path / "venv")


@pytest.fixture(scope="session")
def venv(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Venv:
    """The wheel in a fresh environment, which tests must not change."""
    made = Venv.make(tmp_path_factory.mktemp("installed") / "venv")
    made.install(str(wheel))
    made.show_the_tests_packages()
    return made
