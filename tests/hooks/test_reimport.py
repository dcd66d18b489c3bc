"""A module that is executed again: the one that the program gets is redirected, however it came about."""

from __future__ import annotations

import pytest

from support.interpreter import Interpreter

pytestmark = [pytest.mark.once, pytest.mark.musa]

BEGIN = """
import importlib, sys, torch, torchada, torch.utils.checkpoint
from torchada.hooks.state import STATE
old = sys.modules["torch.utils.checkpoint"]
def redirected(module):
    return hasattr(module._get_device_module, "__torchada_original__")
def executed_with(loader, more):
    source, own = loader.get_source(old.__name__), type(loader).get_code
    type(loader).get_code = lambda self, name: compile(source + more, old.__file__, "exec")
    try:
        importlib.reload(old)
    except ZeroDivisionError:
        pass
    finally:
        type(loader).get_code = own
assert redirected(old)
"""


def test_a_module_that_was_taken_out_and_imported_anew_is_redirected(musa: Interpreter) -> None:
    code = """
del sys.modules["torch.utils.checkpoint"]
new = importlib.import_module("torch.utils.checkpoint")
assert new is not old and redirected(new) and not redirected(old)
assert torch.utils.checkpoint is new
torchada.disable()
assert not redirected(new) and not redirected(old)
torchada.enable()
assert redirected(new) and not redirected(old)
"""
    musa.run(BEGIN + code, forked=True)


def test_a_reload_that_fails_leaves_the_new_definitions_redirected(musa: Interpreter) -> None:
    code = """
before = old._get_device_module
executed_with(old.__loader__, "\\n1/0\\n")
assert old._get_device_module is not before and redirected(old)
assert STATE.areas["tensors.checkpoint"].outcome == "applied"
"""
    musa.run(BEGIN + code, forked=True)


def test_an_import_that_fails_leaves_the_module_that_was_there_redirected(musa: Interpreter) -> None:
    code = """
loader = old.__loader__
own = type(loader).get_code
type(loader).get_code = lambda self, name: compile("1/0", old.__file__, "exec") if "checkpoint" in name else own(self, name)
del sys.modules["torch.utils.checkpoint"]
try:
    importlib.import_module("torch.utils.checkpoint")
except ZeroDivisionError:
    pass
type(loader).get_code = own
assert redirected(old)
"""
    musa.run(BEGIN + code, forked=True)
