"""A warning of torchada names the line of the program that led to it, and never quotes a line of torchada's."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pytest

from support.interpreter import Interpreter
from torchada import TorchadaError, TorchadaWarning
from torchada.base import warnings as _warnings

pytestmark = pytest.mark.once

UNKNOWN = {"TORCHADA_NOBODY_KNOWS": "1"}
THREAD = "import threading; t = threading.Thread(target=__import__, args=('torch',)); t.start(); t.join()"
TEXT = "torchada: TORCHADA_NOBODY_KNOWS is not a variable torchada knows"


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("import torch", "program.py"),
        ("import importlib; importlib.import_module('torch')", "program.py"),
        ("import torch; import torchada; torchada.disable(); torchada.enable()", "program.py"),
        ("import library", "library.py"),
    ],
)
def test_a_warning_quotes_the_line_of_the_program(plain: Interpreter, tmp_path: Path, line: str, file: str) -> None:
    (tmp_path / "library.py").write_text("\nimport torch")
    (tmp_path / "program.py").write_text(f"\n{line}")
    lines = plain.run([str(tmp_path / "program.py")], env=UNKNOWN).stderr.splitlines()
    quoted = (tmp_path / file).read_text().strip()
    assert lines[0].startswith(f"{tmp_path / file}:2: TorchadaWarning: {TEXT}")
    assert lines[1:] == [f"  {quoted}"]


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        (["-c", "import torch"], "<string>:1"),
        (["-m", "torch.distributed.run", "--help"], "<torchada>:1"),
        (["-c", THREAD], "<torchada>:1"),
    ],
)
def test_a_warning_without_a_line_of_the_program_quotes_none(
    plain: Interpreter, arguments: list[str], place: str
) -> None:
    line, *quoted = plain.run(arguments, env=UNKNOWN).stderr.splitlines()
    assert line.startswith(f"{place}: TorchadaWarning: {TEXT}")
    # Python keeps the text of -c from 3.13 on.
    assert quoted == (["  import torch"] if place == "<string>:1" and sys.version_info >= (3, 13) else [])


def test_a_warning_that_is_an_error_is_a_line_on_stderr(plain: Interpreter) -> None:
    done = plain.run(["-W", "error", "-c", "import torch; print('ran')"], env=UNKNOWN)
    assert done.stdout.strip() == "ran" and done.stderr.startswith(TEXT)


def test_a_warning_is_filtered_by_the_module_of_the_program(plain: Interpreter, tmp_path: Path) -> None:
    (tmp_path / "library.py").write_text("import torch")
    (tmp_path / "program.py").write_text(
        "import warnings\nwarnings.filterwarnings('ignore', module='library')\nimport library"
    )
    assert plain.run([str(tmp_path / "program.py")], env=UNKNOWN).stderr == ""


def test_warn_once_warns_once_through_the_hooks_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_warnings, "_said", {})
    monkeypatch.delenv("TORCHADA_STRICT")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            _warnings.warn_once("something")
    (warning,) = caught
    assert str(warning.message) == "torchada: something" and warning.category is TorchadaWarning
    assert warning.filename == __file__
    assert _warnings.said() == ["something"]


def test_strict_mode_raises_in_place_of_every_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHADA_STRICT", "1")
    cause = ValueError("the cause")
    for _ in range(2):
        with pytest.raises(TorchadaError, match=r"^torchada: something$") as raised:
            _warnings.warn_once("something", cause)
        assert raised.value.__cause__ is cause


@pytest.mark.parametrize(
    ("variable", "value"),
    [("TORCHADA_SKIP_AREAS", "precison.amp"), ("TORCHADA_NOBODY_KNOWS", "1"), ("TORCHADA_PLATFORM", "npu")],
)
def test_an_import_under_strict_mode_raises_what_it_would_warn_of(
    plain: Interpreter, variable: str, value: str
) -> None:
    done = plain.run(
        "import torch", env={"TORCHADA_STRICT": "1", "TORCHADA_SIMULATE": "1", variable: value}, check=False
    )
    assert done.returncode == 1 and "TorchadaError: torchada: TORCHADA_" in done.stderr.splitlines()[-1], done.stderr
