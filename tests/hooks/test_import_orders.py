"""Every order of imports, with or without torch's autoload, from one thread or from eight, leads to the same end state."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pytest

from support.interpreter import Interpreter
from support.tiers import rarely, revision

pytestmark = pytest.mark.musa

MODULES = (
    "torch",
    "torch.cuda",
    "torch.distributed",
    "torch._inductor",
    "torch.utils.cpp_extension",
    "torch_musa",
    "torchada",
)
# The state that must be the same at the end.
STATE = """
import json, sys
import torch, torch_musa, torchada, torch.distributed, torch._inductor, torch.utils.cpp_extension
from torchada.control import status
from torchada.redirect.engine import ENGINE

found = status.report()
device = torch.device("cuda", 1)
tensor = torch.zeros(2, device="cuda")
state = {
    "areas": sorted((a["name"], a["outcome"], a["patches"], a["reason"]) for a in found["areas"]),
    "in_force": {area: sum(r.is_in_force for r in done) for area, done in ENGINE.applied().items()},
    "patches": sorted(f"{area} {r.patch.text}" for area, done in ENGINE.applied().items() for r in done),
    "problems": found["problems"],
    "platform": found["platform"],
    "mechanism": found["device_strings"],
    "devices": [str(tensor.device), str(device), str(torch.zeros(2).cuda().device), str(tensor.to("cuda:1").device)],
    "types": [
        type(device) is torch.device, type(tensor) is torch.Tensor, isinstance(device, torch.device), tensor.is_cuda,
        torch.cuda is sys.modules["torch.cuda"], torch.musa is sys.modules.get("torch.musa", torch.musa),
        torch.cuda.synchronize is torch.musa.synchronize, torch.cuda.is_available(),
        sys.modules["torch"].__spec__.loader is torch.__loader__, type(torch.__loader__).__name__,
        type(torch_musa.__loader__).__name__, type(torch_musa.__spec__.loader).__name__,
    ],
    "finder": [found["finder"]["installed"], found["finder"]["position"]],
}
print(json.dumps(state))
"""
# Eight threads at once, each with an order of its own; the end state is read when all are done. setuptools comes first, because at
# its import it takes a finder off sys.meta_path (_distutils_hack.shim): an import in another thread that is walking over the list
# then skips the next finder and fails, with or without torchada. torch.utils.cpp_extension imports setuptools, and torch._inductor
# cProfile, so "No module named '_lsprof'" was the error.
THREADS = """
import faulthandler, setuptools, threading
faulthandler.dump_traceback_later(120, exit=True)
from importlib import import_module
start, failed = threading.Barrier({count}), []

def work(order):
    start.wait()
    try:
        for name in order:
            __import__(name)
    except BaseException as error:
        failed.append((order, error))
        raise

threads = [threading.Thread(target=work, args=(order,), daemon=True) for order in {orders}]
[thread.start() for thread in threads]
[thread.join(100) for thread in threads]
assert not any(thread.is_alive() for thread in threads), "deadlock"
assert not failed, failed
"""
# How torch finds the adapter when it imports plug-ins itself.
AUTOLOADED = "[torch.backends]\ntorch_musa = torch_musa:_autoload\n"


def end_state(musa: Interpreter, before: str, autoload: str = "1") -> dict[str, Any]:
    found: dict[str, Any] = musa.json(before + "\n" + STATE, env={"TORCH_DEVICE_BACKEND_AUTOLOAD": autoload})
    return found


def imports(order: tuple[str, ...]) -> str:
    return "".join(f"import {name}\n" for name in order)


def threads(count: int, seed: int, *, autoload: bool = False) -> str:
    """Code that imports in `count` threads, each in an order of its own, with torch before its submodules.

    Without torchada, too, torch breaks when one thread imports, for example, torch.cuda while another imports torch: the former
    holds the submodule and waits for the package, the latter the reverse. With autoload, the same goes for torch and its plug-ins.
    """
    orders = [order for order in itertools.permutations(MODULES) if _torch_is_there(order)]
    if autoload:
        orders = [order for order in orders if order.index("torch") < order.index("torch_musa")]
    return THREADS.format(count=count, orders=random.Random(seed).sample(orders, count))


def _torch_is_there(order: tuple[str, ...]) -> bool:
    first_submodule = min(order.index(name) for name in MODULES if name.startswith("torch."))
    return min(order.index("torch"), order.index("torch_musa")) < first_submodule


def permutations(count: int, seed: str = "") -> list[tuple[str, ...]]:
    """A sample of all the orders, the same for the same seed."""
    return random.Random(seed).sample(list(itertools.permutations(MODULES)), count)


_expected: dict[str, dict[str, Any]] = {}


def expected(musa: Interpreter) -> dict[str, Any]:
    """The end state of the simplest program."""
    if "torch" not in _expected:
        _expected["torch"] = end_state(musa, "import torch")
    return _expected["torch"]


@pytest.fixture
def autoloaded(musa: Interpreter, tmp_path: Path) -> Interpreter:
    """torch_musa as a plug-in that torch loads at the end of its own import, like an installed torch_musa."""
    info = tmp_path / "torch_musa-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch_musa\nVersion: 0\n")
    (info / "entry_points.txt").write_text(AUTOLOADED)
    return musa


@pytest.mark.full
def test_the_simplest_program_is_redirected(musa: Interpreter) -> None:
    state = expected(musa)
    assert state["devices"] == ["musa:0", "musa:1", "musa:0", "musa:1"] and state["problems"] == []


# Orders that begin with each module; the rest of an order changes little, or nothing.
@pytest.mark.full
@pytest.mark.once
@pytest.mark.parametrize("first", rarely(MODULES, "torch.distributed", "torch._inductor", "torch.utils.cpp_extension"))
def test_each_module_may_be_imported_first(musa: Interpreter, first: str) -> None:
    assert end_state(musa, f"import {first}", autoload="0") == expected(musa)


@pytest.mark.full
@pytest.mark.parametrize("order", [("torch",), ("torch_musa",)], ids="-".join)
@pytest.mark.parametrize("autoload", rarely("01", "1"))
def test_the_end_state_does_not_depend_on_autoload(
    autoloaded: Interpreter, order: tuple[str, ...], autoload: str
) -> None:
    assert end_state(autoloaded, imports(order), autoload) == expected(autoloaded)


@pytest.mark.full
@pytest.mark.parametrize("order", permutations(2), ids="-".join)
def test_sampled_orders_end_in_the_same_state(musa: Interpreter, order: tuple[str, ...]) -> None:
    assert end_state(musa, imports(order)) == expected(musa)


@pytest.mark.full
@pytest.mark.once
@pytest.mark.parametrize("seed", range(2))
def test_eight_threads_end_in_the_same_state(musa: Interpreter, seed: int) -> None:
    assert end_state(musa, threads(8, seed)) == expected(musa)


@pytest.mark.full
@pytest.mark.once
@pytest.mark.parametrize("names", [("torch", "torch_musa"), ("torch_musa", "torch")], ids="-".join)
def test_two_threads_that_wait_for_each_other_end_in_the_same_state(musa: Interpreter, names: tuple[str, ...]) -> None:
    """One thread imports torch and waits for the adapter, the other imports the adapter and waits for torch."""
    orders = [(name,) for name in names]
    assert end_state(musa, THREADS.format(count=2, orders=orders)) == expected(musa)


@pytest.mark.slow
@pytest.mark.parametrize("autoload", ["0", "1"])
@pytest.mark.parametrize("order", list(itertools.permutations(MODULES, 2)), ids="-".join)
def test_all_pairs_end_in_the_same_state(autoloaded: Interpreter, order: tuple[str, ...], autoload: str) -> None:
    assert end_state(autoloaded, imports(order), autoload) == expected(autoloaded)


@pytest.mark.slow
@pytest.mark.parametrize("order", permutations(60, revision()), ids="-".join)
def test_orders_of_this_revision_end_in_the_same_state(musa: Interpreter, order: tuple[str, ...]) -> None:
    assert end_state(musa, imports(order)) == expected(musa)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 140))
def test_eight_threads_many_times(autoloaded: Interpreter, seed: int) -> None:
    assert end_state(autoloaded, threads(8, seed, autoload=True)) == expected(autoloaded)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200, 240))
def test_eight_threads_many_times_without_autoload(musa: Interpreter, seed: int) -> None:
    assert end_state(musa, threads(8, seed)) == expected(musa)
