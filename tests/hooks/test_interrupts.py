"""Ctrl-C and sys.exit while torchada is working reach the program, also where Python passes them on as the cause of an error.

Until Python 3.12, what is raised in `__set_name__` arrives as a RuntimeError.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import _torchada_startup
from support.interpreter import Interpreter
from torchada.base import faults

pytestmark = pytest.mark.once

INTERRUPTED = """
class Descriptor:
    def __set_name__(self, owner, name):
        raise {interrupt}
def make_class():
    class Owner:
        attribute = Descriptor()
"""
AREA = """
AREAS = {"torch": ("interrupted",)}
def interrupted(context):
    make_class()
    yield
"""
INTERRUPTS = ["KeyboardInterrupt", "SystemExit(3)"]
PROGRAM = """
import sys
try:
    import torch
except BaseException as error:
    print(type(error).__name__, getattr(error, "code", ""))
else:
    print("swallowed")
"""


def caused_by(*causes: BaseException) -> RuntimeError:
    """An error with a chain of causes, the nearest first."""
    error = RuntimeError()
    effect: BaseException = error
    for cause in causes:
        effect.__cause__ = effect = cause
    return error


@pytest.mark.parametrize("pass_on", [faults.pass_on_interrupt, _torchada_startup.pass_on_interrupt])
def test_start_up_and_the_rest_pass_on_the_same_causes(pass_on: Callable[[BaseException], None]) -> None:
    pass_on(caused_by())
    pass_on(caused_by(ValueError(), ImportError()))
    for interrupt in (KeyboardInterrupt(), SystemExit(3)):
        for causes in ((interrupt,), (ValueError(), interrupt), (ValueError(), interrupt, ValueError())):
            with pytest.raises(type(interrupt)) as raised:
                pass_on(caused_by(*causes))
            assert raised.value is interrupt


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="newer Pythons pass the interrupt on unchanged")
def test_python_hands_on_an_interrupt_as_a_cause(plain: Interpreter) -> None:
    done = plain.run(INTERRUPTED.format(interrupt="KeyboardInterrupt") + "make_class()", check=False)
    assert "RuntimeError: Error calling __set_name__" in done.stderr


def expected(interrupt: str) -> str:
    return "SystemExit 3" if interrupt.startswith("SystemExit") else "KeyboardInterrupt"


def plug_in(folder: Path, group: str, body: str) -> None:
    info = folder / "plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\ninterrupted = interrupted_plugin\n")
    (folder / "interrupted_plugin.py").write_text(body)


@pytest.mark.full
@pytest.mark.musa
@pytest.mark.parametrize("strict", ["0", "1"])
@pytest.mark.parametrize("interrupt", INTERRUPTS)
def test_an_interrupt_within_an_area_reaches_the_program(
    musa: Interpreter, tmp_path: Path, interrupt: str, strict: str
) -> None:
    plug_in(tmp_path, "torchada.areas", INTERRUPTED.format(interrupt=interrupt) + AREA)
    done = musa.run(PROGRAM, env={"TORCHADA_STRICT": strict})
    assert done.stdout.strip() == expected(interrupt) and done.stderr == ""


@pytest.mark.full
@pytest.mark.musa
@pytest.mark.parametrize("interrupt", INTERRUPTS)
def test_an_interrupt_within_an_entry_point_reaches_the_program(
    musa: Interpreter, tmp_path: Path, interrupt: str
) -> None:
    plug_in(tmp_path, "torchada.areas", INTERRUPTED.format(interrupt=interrupt) + "make_class()")
    assert musa.run(PROGRAM).stdout.strip() == expected(interrupt)


@pytest.mark.parametrize("interrupt", INTERRUPTS)
def test_an_interrupt_within_the_adapter_reaches_the_program(
    plain: Interpreter, tmp_path: Path, interrupt: str
) -> None:
    (tmp_path / "torch_musa.py").write_text(INTERRUPTED.format(interrupt=interrupt) + "make_class()")
    plain.cwd = tmp_path
    assert plain.run(PROGRAM).stdout.strip() == expected(interrupt)


@pytest.mark.parametrize("interrupt", INTERRUPTS)
def test_an_interrupt_within_an_import_of_torchada_reaches_the_program(
    plain: Interpreter, tmp_path: Path, interrupt: str
) -> None:
    (tmp_path / "torch_musa.py").write_text("")
    plain.cwd = tmp_path
    hook = """
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "torchada.hooks.choice":
            make_class()
sys.meta_path.insert(0, Finder())
"""
    assert plain.run(INTERRUPTED.format(interrupt=interrupt) + hook + PROGRAM).stdout.strip() == expected(interrupt)
