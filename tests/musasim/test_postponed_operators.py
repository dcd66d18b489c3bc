"""MUSASIM_SEED: operators of PyTorch wait in their streams too, so a wait that is missing shows in a program without kernels."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from support.interpreter import TORCH, Interpreter

pytestmark = [pytest.mark.musa, pytest.mark.once]

PROGRAMS = (Path(__file__).parent / "streams" / "operators.py").read_text(encoding="utf-8")
SEEDS = [str(seed) for seed in range(1, 13)]
TWO_DEVICES = {"MUSASIM_DEVICE_COUNT": "2"}


def answers(musa: Interpreter, call: str, seed: str = "", **more: str) -> dict[str, Any]:
    code = f"{PROGRAMS}\nimport json\nprint(json.dumps({call}))\n"
    made: dict[str, Any] = musa.json(code, env={"MUSASIM_SEED": seed, **TWO_DEVICES, **more}, forked=True)
    return made


def test_without_a_seed_every_program_is_right(musa: Interpreter) -> None:
    assert set(answers(musa, "planted(False)").values()) == {True}


@pytest.mark.slow
def test_a_wait_that_is_missing_shows_with_some_seed(musa: Interpreter) -> None:
    found: set[str] = set()
    for seed in SEEDS:
        found.update(name for name, right in answers(musa, "planted(False)", seed).items() if not right)
    names = set(re.findall(r"^def (\w+)\(wait: bool\) -> Tensor:$", PROGRAMS, re.MULTILINE))
    assert len(names) >= 15
    assert found == names


@pytest.mark.full
def test_a_program_that_waits_is_right_with_every_seed(musa: Interpreter) -> None:
    for seed in SEEDS[:4]:
        assert [name for name, right in answers(musa, "planted(True)", seed).items() if not right] == []


@pytest.mark.full
def test_right_programs_give_the_same_with_every_seed(musa: Interpreter) -> None:
    plain = answers(musa, "right()")
    assert len(plain) >= 15
    for seed in SEEDS[:4]:
        seeded = answers(musa, "right()", seed)
        assert [name for name in plain if seeded[name] != plain[name]] == []


def test_the_same_number_gives_the_same_order(musa: Interpreter) -> None:
    assert answers(musa, "planted(False)", "3") == answers(musa, "planted(False)", "3")


@pytest.mark.full
@pytest.mark.parametrize("setting", ["MUSASIM_STREAMCHECK", "MUSA_LAUNCH_BLOCKING"])
def test_nothing_waits_with_a_checker_or_where_launches_block(musa: Interpreter, setting: str) -> None:
    for seed in SEEDS[:2]:
        assert set(answers(musa, "planted(False)", seed, **{setting: "1"}).values()) == {True}


WHAT_IS_RAISED = """
import torch

x, y = torch.ones(3, device="cuda"), torch.ones(4, device="cuda")
raised = {}
def note(name, *works):
    for work in works:
        try:
            work()
        except Exception as error:
            raised.setdefault(name, []).append(type(error).__name__)
note("shapes", lambda: x + y)
note("overlap", lambda: y[1:].add_(y[:-1]))
note("overlap of a copy", lambda: y[1:].copy_(y[:-1]))
note("sizes of a copy", lambda: y.copy_(x))
note("places", lambda: x[torch.tensor([9], device="cuda")])
note("types", lambda: x.add_(1j))
# At its launch or at the wait, and once.
for _ in range(6):
    wrong = lambda: torch.nn.functional.binary_cross_entropy(x * 2, x)
    note("values", wrong, torch.cuda.synchronize, torch.cuda.synchronize)
print(raised)
"""


@pytest.mark.full
def test_what_is_wrong_is_raised_at_the_launch_or_where_only_values_are_at_the_wait(musa: Interpreter) -> None:
    once = ["RuntimeError"]
    expected = {"shapes": once, "overlap": once, "overlap of a copy": once, "sizes of a copy": once}
    for seed in ["", *SEEDS[:3]]:
        said = musa.run(WHAT_IS_RAISED, env={"MUSASIM_SEED": seed}, forked=True).stdout
        assert ast.literal_eval(said) == {**expected, "places": ["IndexError"], "types": once, "values": once * 6}


WARNINGS = """
import torch, warnings

x = torch.ones(64, device="cuda")
torch.cuda.synchronize()
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    torch.mul(x, 2, out=torch.empty(3, device="cuda"))
    torch.std(x[:1])
    x.view(8, 8).to_sparse_csr()
    torch.cuda.synchronize()
print([str(each.message).split()[0] for each in said])
"""


@pytest.mark.full
def test_a_warning_is_said_once(musa: Interpreter) -> None:
    for seed in ["", *SEEDS[:3]]:
        env = {
            "MUSASIM_SEED": seed,
            "TORCHADA_CPU_FALLBACK": "silent",
        }  # not every torch makes sparse matrices on the device
        said = musa.run(WARNINGS, env=env, forked=True).stdout
        assert ast.literal_eval(said) == ["An", "std():", "Sparse"]


# Nothing else lets Python's lock go here: `mem_get_info` holds it while it lets all work run.
A_KERNEL_IN_PYTHON = """
import faulthandler
faulthandler.dump_traceback_later(60, exit=True)
import time, torch

def sinh(x):
    time.sleep(0.2)
    return (x.exp() - (-x).exp()) / 2

library = torch.library.Library("aten", "IMPL")
library.impl("sinh", sinh, "CPU", allow_override=True)
x = torch.ones(3, device="cuda")
torch.cuda.synchronize()
for _ in range(12):
    y = torch.sinh(x)
    time.sleep(0.3)  # long enough for the device to begin it by itself
    torch.cuda.mem_get_info()
torch.cuda.synchronize()
print(torch.allclose(y.cpu(), torch.ones(3).sinh()))
"""


@pytest.mark.full
@pytest.mark.skipif(TORCH < (2, 9), reason="this torch.library replaces no kernel")
def test_an_operator_that_is_written_in_python_runs_while_another_thread_has_its_lock(musa: Interpreter) -> None:
    assert musa.run(A_KERNEL_IN_PYTHON, env={"MUSASIM_SEED": "3"}).stdout == "True\n"


AN_OBJECT_THAT_GOES = """
import faulthandler
faulthandler.dump_traceback_later(60, exit=True)
import threading, torch

class Note:
    def __del__(self):
        gone.append(threading.current_thread().name)
        torch.cuda.mem_get_info()

gone = []
y = torch.ones(3, device="cuda")
torch.cuda.synchronize()
for i in range(40):
    x = torch.empty(0, device="cuda")
    x.note = Note()
    y = torch.cat([y, x])
    del x
    assert gone == ["MainThread"] * (i + 1), gone
    z = y * 2
torch.cuda.synchronize()
print(y.tolist())
"""


def test_a_tensor_without_memory_goes_when_the_program_lets_it_go(musa: Interpreter) -> None:
    for seed in ["", *SEEDS[:2]]:
        assert musa.run(AN_OBJECT_THAT_GOES, env={"MUSASIM_SEED": seed}, forked=True).stdout == "[1.0, 1.0, 1.0]\n"
