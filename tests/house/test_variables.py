"""Each variable that the sources read is shown by the screens for reports of bugs: no result has a cause that they leave out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from musasim.__main__ import main
from support.interpreter import ROOT
from tools.doctor.test_facts import WHOLE
from torchada.tools.doctor.info import document

pytestmark = pytest.mark.once

# Where a variable is read, its name stands in quotes; macros of C++ have the same beginnings and stand alone.
_NAMED = re.compile(r"[\"']((?:MUSASIM|TORCHADA)_[A-Z0-9_]*[A-Z0-9])[\"']")
_PLACES = ("src", "sitecustomize", "setup.py", "scripts/build_backend")
_DECLARED = {ROOT / "src" / "musasim" / "base" / "settings.py", ROOT / "src" / "torchada" / "base" / "settings.py"}
EXCEPTED = {
    "TORCHADA_BUILD_PURE": "tells setup.py how to build a wheel, in a process of the build alone",
}


def _sources() -> list[Path]:
    folders = [ROOT / place for place in _PLACES]
    return [path for folder in folders for path in (folder.rglob("*") if folder.is_dir() else [folder])]


def _read() -> set[str]:
    """What the sources name, besides the two tables that declare variables."""
    files = [
        path for path in _sources() if path.suffix in {".py", ".cpp", ".h", ".cu", ".mu"} and path not in _DECLARED
    ]
    return {name for path in files for name in _NAMED.findall(path.read_text())}


READ = sorted(_read() - EXCEPTED.keys())


def test_there_are_variables_and_each_exception_is_one() -> None:
    assert {"MUSASIM_SEED", "TORCHADA_DISABLE"} <= set(READ) and EXCEPTED.keys() <= _read()


def test_the_screen_for_an_issue_shows_each() -> None:
    facts = WHOLE._replace(variables=dict.fromkeys(READ, "1"))
    (shown,) = (entry["value"] for entry in document(facts, [])["entries"] if entry["name"] == "variables")
    assert shown.splitlines() == [f"{name}=1" for name in READ]


def test_the_simulators_own_screen_shows_each_of_the_simulators(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ours = [name for name in READ if name.startswith("MUSASIM_")]
    for name in ours:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MUSASIM_SEED", "7")
    assert main(["info"]) == 0
    lines = capsys.readouterr().out.splitlines()
    missing = [name for name in ours if f"{name}={'7' if name == 'MUSASIM_SEED' else '(not set)'}" not in lines]
    assert not missing
