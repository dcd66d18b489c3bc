"""What is raised while a view is decided reaches the program that asks, and no answer is remembered for it."""

from __future__ import annotations

import pytest

from support.interpreter import Interpreter

pytestmark = pytest.mark.musa

PROGRAM = """
import sys, types, torch
from torchada.views.decider import Decider

device = torch.zeros(1, device="cuda").device
QUESTIONS = {{
    "type": "device.type",
    "str": "str(device)",
    "repr": "repr(device)",
    "available": "torch.cuda.is_available()",
}}
decides = Decider.view_of

def failing(self, *rest):
    raise {error}

for name, question in QUESTIONS.items():
    asker = types.ModuleType("asker_" + name)
    asker.__file__ = "/nowhere/" + name + ".py"
    exec("import torch; ask = lambda device: " + question, vars(asker))
    Decider.view_of = failing
    try:
        answer = asker.ask(device)
    except BaseException as error:
        answer = type(error).__name__
    Decider.view_of = decides
    right = asker.ask(device)
    print(name, answer, right in ("cuda", "cuda:0", "device(type='cuda', index=0)", True))
"""


@pytest.mark.parametrize("error", ["KeyboardInterrupt", "SystemExit", "RecursionError"])
def test_what_is_raised_reaches_the_program(musa: Interpreter, error: str) -> None:
    done = musa.run(PROGRAM.format(error=error), env={"TORCHADA_STRICT": "0"}, forked=True)
    assert done.stdout.splitlines() == [f"{name} {error} True" for name in ("type", "str", "repr", "available")]
    assert done.stderr == ""


def test_a_fault_is_raised_under_strict_mode(musa: Interpreter) -> None:
    done = musa.run(PROGRAM.format(error="OSError('stale file handle')"), env={"TORCHADA_STRICT": "1"}, forked=True)
    assert done.stdout.splitlines() == [f"{name} OSError True" for name in ("type", "str", "repr", "available")]


def test_a_fault_shows_cuda_otherwise(musa: Interpreter) -> None:
    done = musa.run(PROGRAM.format(error="OSError('stale file handle')"), env={"TORCHADA_STRICT": "0"}, forked=True)
    answers = [line.split()[1] for line in done.stdout.splitlines()]
    assert answers[:2] == ["cuda", "cuda:0"] and answers[3] == "True" and "stale file handle" in done.stderr


def test_an_interrupt_in_the_middle_of_a_decision_reaches_the_program(musa: Interpreter) -> None:
    code = """
import signal, torch, types
from torchada.views.rules import Rules

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits that it is ignored
decide = Rules.decide
def interrupted(self, who):
    signal.raise_signal(signal.SIGINT)
    return decide(self, who)
Rules.decide = interrupted
asker = types.ModuleType("asker")
asker.__file__ = "/nowhere/asker.py"
exec("ask = lambda device: device.type", vars(asker))
device = torch.zeros(1, device="cuda").device
try:
    print(asker.ask(device))
except KeyboardInterrupt:
    Rules.decide = decide
    print("interrupted", asker.ask(device))
"""
    assert musa.run(code, forked=True).stdout.split() == ["interrupted", "cuda"]
