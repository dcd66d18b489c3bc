"""Compiled code gives the answer of eager code through every patch in force, and that of a native MUSA program compiled alike.

The programs and the reasons not to have one are in `compiled/`; every applied patch needs one of them. CUDA's spelling runs in a
redirected process with every lazy area applied, the native one beside it in a process without torchada.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Collection
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from support.compiled import accounts, compare, report
from support.compiled.applied import groups
from support.compiled.outside import NOT_EVERYWHERE, OUTSIDE
from support.interpreter import ROOT, TORCH, clean_environment
from torchada.redirect.engine import Applied, Patch
from torchada.redirect.owners import owner_of

# What the programs list is what the newest torch.compile does. An older one may refuse more, and is held to native code.
OLDER = TORCH < (2, 13)
OF_OLDER = {
    "handles": "torch 2.7 takes CUDA's events into graphs, and loses what it did with them before its graph breaks",
}
if TORCH == (2, 9):
    OF_OLDER["events"] = "after a graph break it goes on with the events of its tracing, which no graph has recorded"
# What the newest torch does that the ones before it do not: its faults, so native code has them as well, and is what counts.
OF_NEWER = {
    "generic_event": "torch 2.15 answers with the device that an event has before it is recorded, which has no index",
    "old_autocast": "torch 2.15 asks for the signature of a deprecated class, which CPython 3.13.0 does not tell, on the CPU too",
}
# As device_context_with_break says; native code is broken into graphs there, by calls that torch.compile does not know.
_LEFT = "torch.compile takes CUDA's contexts of a device into its graph, and the graph for autograd loses them"
_FORGOTTEN = "graphs for autograd forget that a precision was set, on the CPU from the second call on"
IN_GRAPHS_FOR_AUTOGRAD = {
    "current_device": _LEFT,
    "device_context_by_name": _LEFT,
    "device_that_is_not_there": "the errors of operators that are called as torch.ops are made by pybind11, and keep MUSA's words",
    "default_tensor_type": "graphs for autograd forget the default dtype, on the CPU of torch 2.7 too",
    "precision": _FORGOTTEN,
}
OF_INDUCTOR = {
    "precision": _FORGOTTEN,
    "device_that_is_not_there": "Inductor asks the device for its properties, and torch wraps the error",
}
# Inductor's kernels draw random numbers in an order of their own, so only their types are those of eager code.
DRAWN_BY_INDUCTOR = {"rand", "rand_like", "randint", "randint_like", "randn", "randn_like"}
pytestmark = [pytest.mark.musa, pytest.mark.once]


def _start(spelling: str, backend: str, *names: str) -> subprocess.Popen[str]:
    """`python -m support.compiled`; the native programs run as if torchada were not installed."""
    env = {**clean_environment(), "MUSASIM_RELEASE": "2.7.1"}  # the release that needs every patch
    path = [str(ROOT / "src"), str(ROOT / "tests"), str(ROOT)]
    if spelling == "cuda":
        env |= {"TORCHADA_STRICT": "1", "TORCHADA_SIMULATE": "1"}
        env |= {name: os.environ[name] for name in ("TORCHADA_NATIVE",) if name in os.environ}
        path.insert(0, str(ROOT / "sitecustomize"))
    else:
        env |= {"TORCHADA_DISABLE": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    env |= {"MUSASIM_INDUCTOR": "triton"} if backend == "inductor" else {}
    env["PYTHONPATH"] = os.pathsep.join(path)
    command = [sys.executable, "-W", "ignore", "-m", "support.compiled", spelling, backend, *names]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _result(process: subprocess.Popen[str]) -> Any:
    try:
        out, errors = process.communicate(timeout=550)
    finally:
        process.kill()  # who has taken too long is not to go on; nothing to one that has ended
    assert process.returncode == 0, errors[-4000:]
    return json.loads(out.splitlines()[-1])


def _both(backend: str, *names: str) -> tuple[Any, Any]:
    processes = _start("cuda", backend, *names), _start("musa", backend, *names)
    cuda, native = (_result(process) for process in processes)
    return cuda, native


def _problems(cuda: Any, native: Any, known: Collection[str] = (), *, by_inductor: bool = False) -> list[str]:
    programs = {program.name: program for program in report.programs("cuda")}
    if by_inductor:
        programs |= {f"torch.{each}": replace(programs[f"torch.{each}"], volatile=True) for each in DRAWN_BY_INDUCTOR}
    found = []
    for name, seen in cuda["programs"].items():
        other = native["programs"].get(name)
        if other is None and programs[name].native:
            found.append(f"{name}: there is no native program of that name")
        if name not in known and not (OLDER and name in OF_OLDER):
            found += [
                f"{name}: {text}"
                for text in compare.differences(programs[name], seen, other, older=_held(name), rounded=by_inductor)
            ]
    return found


def _held(name: str) -> bool:
    """Whether the program is held to native code, and not to eager code."""
    return OLDER or (name in OF_NEWER and TORCH >= (2, 15))


def _account_for_every_patch(cuda: Any) -> None:
    assert cuda["left"] == [], "patches without a program, and without a reason in compiled/outside.py"
    if OLDER:
        return
    assert cuda["unused"] == [], "patches that their programs do not use"
    if cuda["mechanism"] == "portable":
        assert cuda["stale"] == [], "programs that cover no patch"
        assert set(cuda["stale_outside"]) <= NOT_EVERYWHERE, "reasons that no patch answers to"


# What a graph makes of devices, autocast, modules, streams and kernels: the rest of the programs differ by what is around graphs.
QUICK = (
    "to to_default on_device device_type new_filled operators module_to device device_as_context device_context_with_break "
    "stream_context autocast custom_function checkpoint custom_op library_kernel torch.zeros torch.rand torch.arange "
)


@pytest.mark.full
def test_every_patch_is_accounted_for_and_graphs_agree() -> None:
    cuda, native = _both("eager", *QUICK.split())
    problems = _problems(cuda, native)
    assert not problems, "\n".join(problems)
    _account_for_every_patch(cuda)


@pytest.mark.slow
def test_every_patch_in_compiled_code() -> None:
    cuda, native = _both("eager")
    problems = _problems(cuda, native)
    assert not problems, "\n".join(problems)
    _account_for_every_patch(cuda)


@pytest.mark.full
def test_no_program_and_no_reason_is_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the portable mechanism, which has patches in all places: the native one does without some of them."""
    monkeypatch.setenv("TORCHADA_NATIVE", "0")
    cuda = _result(_start("cuda", "eager", "to"))
    assert cuda["mechanism"] == "portable"
    _account_for_every_patch(cuda)


@pytest.mark.full
def test_graphs_for_autograd() -> None:
    problems = _problems(*_both("aot_eager", *QUICK.split()))
    assert not problems, "\n".join(problems)


@pytest.mark.slow
def test_all_graphs_for_autograd() -> None:
    problems = _problems(*_both("aot_eager"), IN_GRAPHS_FOR_AUTOGRAD)
    assert not problems, "\n".join(problems)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("triton") is None, reason="triton is not installed")
def test_tritons_kernels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Inductor generates Triton kernels, as it does on hardware, and the simulator interprets them."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "inductor"))
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    cuda, native = _both("inductor")
    problems = _problems(cuda, native, OF_INDUCTOR, by_inductor=True)
    assert not problems, "\n".join(problems)
    assert len(cuda["programs"]) > 300 and len(native["programs"]) > 200


@pytest.mark.full
def test_an_ordinary_proxy_is_noticed() -> None:
    """An ordinary wrapt proxy is looked through: eager code is right, and compiled code bypasses the patch without a word."""
    name = "cast"
    cuda = _result(_start("cuda", "eager", name))
    (program,) = (program for program in report.programs("cuda") if program.name == name)
    bypassed = {**cuda["programs"][name], "compiled": cuda["mutants"][name]}
    assert len(list(compare.differences(program, bypassed, None))) == 1


def _place() -> None:
    """Where nobody has patched anything."""


def test_a_patch_without_a_program_is_noticed() -> None:
    module = sys.modules[__name__]
    record = Applied(Patch(module, "_place", lambda: None, "a new patch"), owner_of(module), _place)
    found = groups([record])
    assert [group.names for group in found] == [[f"{__name__}._place"]]
    assert accounts.left_over(found, {}) == [f"{__name__}._place"]


def test_one_function_in_several_places_is_one() -> None:
    module, replacement = sys.modules[__name__], lambda: None
    records = [Applied(Patch(module, name, replacement, "why"), owner_of(module), None) for name in ("_b", "a", "c.d")]
    assert [group.names for group in groups(records)] == [[f"{__name__}.a", f"{__name__}.c.d", f"{__name__}._b"]]


def test_a_difference_is_noticed() -> None:
    (program, *_) = report.programs("cuda")
    right = {"eager": ["int", "1"], "compiled": ["int", "1"], "full": True, "why": ""}
    assert list(compare.differences(program, right, right)) == []
    assert len(list(compare.differences(program, {**right, "compiled": ["int", "2"]}, right))) == 1
    assert len(list(compare.differences(program, {**right, "full": False}, right))) == 1
    assert len(list(compare.differences(program, right, {**right, "eager": ["int", "2"]}))) == 1


def test_the_last_digits_are_no_difference_where_code_is_compiled_to_kernels() -> None:
    (program, *_) = report.programs("cuda")
    eager = ["tensor", "torch.float32", "musa:0", "[0.30000001192092896, 2.0]"]
    entry = {"eager": eager, "compiled": [*eager[:3], "[0.3000000417232513, 2.0]"], "full": True, "why": ""}
    assert list(compare.differences(program, entry, entry, rounded=True)) == []
    assert list(compare.differences(program, entry, entry))
    for other in ([*eager[:3], "[0.3001, 2.0]"], [*eager[:2], "musa:1", eager[3]], [*eager[:3], "[0.3]"]):
        assert list(compare.differences(program, {**entry, "compiled": other}, entry, rounded=True))


def test_an_older_compiler_may_refuse_but_give_no_answer_of_its_own() -> None:
    (program, *_) = report.programs("cuda")
    right = {"eager": ["int", "1"], "compiled": ["int", "1"], "full": True, "why": ""}
    wrong, refused = (
        {**right, "compiled": ["int", "2"]},
        {**right, "compiled": ["raised", "InternalTorchDynamoError", ""]},
    )
    assert list(compare.differences(program, wrong, wrong, older=True)) == []
    assert list(compare.differences(program, refused, None, older=True)) == []
    assert list(compare.differences(program, wrong, None, older=True))
    assert list(compare.differences(program, wrong, right, older=True))


def test_reasons_are_of_a_known_kind() -> None:
    assert {kind for kind, _ in OUTSIDE.values()} == {"definition", "process", "table"}
