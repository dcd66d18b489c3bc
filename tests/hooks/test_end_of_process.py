"""The end of the process: exit handlers still find everything in force, and can undo it."""

from __future__ import annotations

import pytest

from support.interpreter import Interpreter

PROGRAM = """
import atexit

def last():
    import torch, torchada
    assert torchada.is_patched() and torch.zeros(1, device="cuda").is_cuda
    before = vars(torch.Tensor)["cuda"]
    torchada.disable()
    assert not torchada.is_patched() and "cuda" not in vars(torch.Tensor)
    torchada.enable()
    assert torchada.is_patched() and vars(torch.Tensor)["cuda"] is before
    print("undone and done again")

atexit.register(last)
import torch
"""


@pytest.mark.full
@pytest.mark.musa
def test_a_handler_that_was_registered_before_torch_can_undo(musa: Interpreter) -> None:
    assert musa.run(PROGRAM).stdout.strip() == "undone and done again"


@pytest.mark.once
def test_what_is_kept_is_dropped_after_every_handler(plain: Interpreter) -> None:
    code = """
    import atexit
    atexit.register(lambda: print("handler"))
    from torchada.base.ending import as_modules_go
    as_modules_go(lambda: print("first"))
    as_modules_go(lambda: print("second"))
    """
    assert plain.run(code).stdout.split() == ["handler", "first", "second"]
