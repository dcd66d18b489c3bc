"""Ctrl-C after torch's own code has run: the program sees it, and its next `import torch` is redirected as the first had to be."""

from __future__ import annotations

import pytest

from support.interpreter import Interpreter

# Interrupts before or after the area of the given number, once.
PROGRAM = """
import sys
from torchada.hooks.area import Area
from torchada.hooks.state import STATE
apply, left = Area.apply, 0

def interrupted(self, *args):
    global left
    left -= 1
    if left == 0 and {before}:
        raise KeyboardInterrupt
    fault = apply(self, *args)
    if left == 0:
        raise KeyboardInterrupt
    return fault

Area.apply = interrupted
{first}
left = {number}
try:
    {statement}
except KeyboardInterrupt:
    print("interrupted")
{statement}
import torch, torchada
assert torch.zeros(2, device="cuda").is_cuda and torchada.is_patched()
assert len(STATE.areas) > 50 and {{area.outcome for area in STATE.areas.values()}} <= {{"applied", "skipped"}}
assert type(torch.__spec__.loader).__name__ == type(torch.__loader__).__name__ == "SourceFileLoader"
torchada.disable()
assert not torchada.is_patched()
"""


def check(musa: Interpreter, number: int, before: bool, statement: str = "import torch", first: str = "") -> None:
    done = musa.run(PROGRAM.format(number=number, before=before, statement=statement, first=first))
    # What a build of torch for CUDA says wherever there is no GPU of NVIDIA's.
    errors = [line for line in done.stderr.splitlines() if "No CUDA runtime is found" not in line]
    assert done.stdout == "interrupted\n" and errors == []


@pytest.mark.musa
@pytest.mark.full
@pytest.mark.parametrize(("number", "before"), [(1, True), (1, False), (40, False)])
def test_torch_is_there_and_redirected_at_the_next_import(musa: Interpreter, number: int, before: bool) -> None:
    check(musa, number, before)


@pytest.mark.musa
def test_so_is_a_module_of_torch_that_is_imported_later(musa: Interpreter) -> None:
    check(musa, 1, False, "import torch.utils.cpp_extension", "import torch")
