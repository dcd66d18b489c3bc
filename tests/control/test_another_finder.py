"""An import hook in front of torchada's that answers for torch: status says so, and enable() mends it."""

from __future__ import annotations

import pytest

from support.interpreter import Interpreter

PROGRAM = """
import sys
from importlib.machinery import PathFinder

class Impatient:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return PathFinder.find_spec(name, path, target) if name == "torch" else None

sys.meta_path.insert(0, Impatient())
import torch, torchada
from torchada.control.status import exit_code, report

assert not torchada.is_patched()
(problem,) = report()["problems"]
assert problem.startswith("another import hook (Impatient) has imported torch, so nothing is redirected")
assert exit_code(report()) == 2
torchada.enable()
assert torchada.is_patched() and report()["problems"] == []
"""


@pytest.mark.full
@pytest.mark.once
@pytest.mark.musa
def test_status_names_the_hook(musa: Interpreter) -> None:
    musa.run(PROGRAM)
