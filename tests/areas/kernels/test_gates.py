"""Gates in C++: calls that the device's kernel refuses or gets wrong go to torchada, all others straight to the device's kernel."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import pytest
import torch

from support.interpreter import Interpreter
from torchada.areas.kernels._gates.gates import GATES
from torchada.areas.kernels._gates.operators import OPERATORS

IN_CPP, IN_PYTHON = {"TORCHADA_CPP_GATES": "1"}, {"TORCHADA_CPP_GATES": "0"}

# A call for each rule, in a type that is the device's own and in one that is not.
PROGRAM = """
import torch, torch.nn.functional as F
from torchada.areas.kernels._gates.gates import GATES
torch.manual_seed(0)
x = torch.linspace(-3, 3, 12).reshape(3, 4)
same = lambda found, wanted: torch.testing.assert_close(found.cpu(), wanted)
for dtype in (torch.float32, torch.float64):
    a = x.to(dtype)
    same(a.cuda().clamp(0, 1), a.clamp(0, 1))
    same(a.cuda().clamp_(min=0), a.clone().clamp_(min=0))
    same(a.cuda()[:, ::2] @ a.cuda()[:2, 1:], a[:, ::2] @ a[:2, 1:])
    same(a.cuda() // 2, a // 2)
    same(F.selu(a.cuda()), F.selu(a))
    same(F.elu(a.cuda()), F.elu(a))
    same(torch.histc(a.cuda(), 4), torch.histc(a, 4))
    ours, wanted = torch.nn.Linear(4, 2).to(dtype), a.clone().requires_grad_()
    there = a.cuda().requires_grad_()
    F.softmax(F.linear(there, ours.weight.cuda()), -1)[:, 0].sum().backward()
    F.softmax(F.linear(wanted, ours.weight), -1)[:, 0].sum().backward()
    same(there.grad, wanted.grad)
powers = torch.tensor([3, -2, 7])
same(powers.cuda() ** torch.tensor([20, 5, 11]).cuda(), powers ** torch.tensor([20, 5, 11]))
same(powers.cuda().float() ** 2, powers.float() ** 2)
with torch.inference_mode():
    same(x.double().cuda().clamp(0, 1), x.double().clamp(0, 1))
try:
    torch.bucketize(torch.ones(1, dtype=torch.float64, device="cuda:0"), torch.ones(1, device="cuda:1"))
except RuntimeError as error:
    assert "Expected all tensors to be on the same device" in str(error), error
table = lambda name: torch._C._dispatch_dump_table(f"aten::{name}")
"""


@pytest.mark.full
def test_gates_in_cpp(musa: Interpreter) -> None:
    """They are compiled where that has not been done before, which takes about twelve seconds of a processor."""
    code = (
        PROGRAM
        + """
import torchada
assert GATES.state == "gates in C++", GATES.state
assert "torchada's gate" in table("mm") and "BackendSelect: registered at" not in table("mm"), table("mm")
torchada.disable()
assert "torchada's gate" not in table("mm") and "the device's own kernel" not in table("mm")
torchada.enable()
assert "torchada's gate" in table("mm")
same(x.double().cuda().clamp(0, 1), x.double().clamp(0, 1))
"""
    )
    musa.run(code, env=IN_CPP, timeout=550, forked=True)


@pytest.mark.full
def test_gates_in_python(musa: Interpreter) -> None:
    code = PROGRAM + 'assert GATES.state == "gates in Python: TORCHADA_CPP_GATES=0", GATES.state'
    musa.run(code, env=IN_PYTHON, forked=True)


@pytest.mark.full
def test_an_operator_whose_kernel_is_right_has_no_gate(musa: Interpreter, tmp_path: Path) -> None:
    """The simulator's maximum of nothing is an error, as CUDA's: the gate lets all calls pass once a probe has found that out."""
    code = """
    import torch
    x = torch.tensor([4], device="cuda")
    print("torchada's gate" in torch._C._dispatch_dump_table("aten::max"))
    assert x.max().item() == 4
    try:
        x[:0].max()
    except RuntimeError:
        pass
    """
    musa.run(code, env=IN_CPP, timeout=550, forked=True)
    assert musa.run(code, env=IN_CPP, timeout=550, forked=True).stdout == "False\n"


def test_before_the_device_is_used_nothing_is_registered(musa: Interpreter) -> None:
    code = """
    import torch, torchada
    tables = lambda: [torch._C._dispatch_dump_table(f"aten::{name}") for name in ("clamp", "histc")]
    before = tables()
    torchada.disable()
    assert tables() == before
    torchada.enable()
    torch.ones(3).clamp(0, 1)
    assert tables() == before
    torch.ones(3, device="cuda")
    assert not set(before) & set(tables())
    """
    musa.run(code, forked=True)


def test_every_gated_operator_is_in_the_table() -> None:
    torch.ones(1, device="cuda")
    assert GATES.operators == {name for name in OPERATORS if torch._C._dispatch_has_kernel(f"aten::{name}")}


def compiler(path: Path, script: str) -> str:
    path.write_text(f"#!/bin/sh\necho >> {path.parent / 'runs'}\n{script}\n")
    path.chmod(0o755)
    return str(path)


STATE = """
import torch
assert torch.arange(2, dtype=torch.float64, device="cuda").tolist() == [0, 1]
from torchada.areas.kernels._gates.gates import GATES
print(GATES.state)
"""


@pytest.mark.full
def test_they_are_compiled_in_the_background_for_later_processes(musa: Interpreter, tmp_path: Path) -> None:
    fast = compiler(tmp_path / "c++", 'while [ "$1" != -o ]; do shift; done; touch "$2"')
    env = {"CXX": fast, "TORCHADA_CACHE_DIR": str(tmp_path / "cache")}
    first = musa.run(STATE, env=env, forked=True).stdout
    assert first == "gates in Python: they are compiled in the background, for later processes\n"
    deadline = time.monotonic() + 120
    while not list((tmp_path / "cache" / "gates").glob("*/manifest*")) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert "file too short" in musa.run(STATE, env=env, forked=True).stdout, "what the compiler made is loaded"


@pytest.mark.full
def test_a_process_begins_no_second_compilation(musa: Interpreter, tmp_path: Path) -> None:
    """Of many ranks, each would have a process that waits for the only one that compiles."""
    slow = compiler(tmp_path / "c++", f"while [ ! -e {tmp_path / 'go'} ]; do sleep 0.05; done; exit 1")
    env = {"CXX": slow, "TORCHADA_CACHE_DIR": str(tmp_path / "cache")}
    musa.run(STATE, env=env, forked=True)
    deadline = time.monotonic() + 120
    while not (tmp_path / "runs").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    try:
        assert "they are compiled in the background" in musa.run(STATE, env=env, forked=True).stdout
        time.sleep(1)
        assert len(workers(tmp_path)) == 1
    finally:
        (tmp_path / "go").touch()


def workers(folder: Path) -> list[str]:
    """The processes in the background that compile into a cache in `folder`, by their command lines."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended
            found.append(file.read_bytes().decode(errors="replace"))
    return [line for line in found if "_gates.worker" in line and str(folder) in line]


@pytest.mark.full
def test_what_does_not_compile_is_not_compiled_again(musa: Interpreter, tmp_path: Path) -> None:
    env = {
        "CXX": compiler(tmp_path / "c++", "echo no; exit 1"),
        "TORCHADA_CACHE_DIR": str(tmp_path / "cache"),
        **IN_CPP,
    }
    printed = [musa.run(STATE, env=env, forked=True).stdout for _ in range(2)]
    assert printed[0] == printed[1] and printed[0].startswith("gates in Python: they do not compile: ")
    assert Path(printed[0].strip().rpartition(": ")[2]).read_text() == "no\n"
    assert (tmp_path / "runs").read_text() == "\n"


@pytest.mark.full
def test_without_a_compiler_the_gates_are_pythons(musa: Interpreter, tmp_path: Path) -> None:
    env = {"CXX": "there-is-none", "TORCHADA_CACHE_DIR": str(tmp_path)}
    assert "there is no C++ compiler (CXX=there-is-none)" in musa.run(STATE, env=env, forked=True).stdout
