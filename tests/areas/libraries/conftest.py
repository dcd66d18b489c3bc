"""Programs as CUDA users of other people's libraries write them: on the simulator or the host, and without, "cpu" being "cuda".

They need no network: models are made from configurations. Each prints one line of JSON: `numbers` and `same` must agree between the
two devices, `rough` (lower precision) nearly so, `devices` are where tensors were found,
and `took` says which way the library went on the device.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from support.interpreter import Interpreter
from support.launch import CONTROL
from support.library_ways import HOST, SIMULATED

PROGRAMS = Path(__file__).parent / "programs"
OFFLINE = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "MPLBACKEND": "agg"}
KNOW_MUSA = {"accelerate_loop.py"}  # whose library therefore sees the CPU on the host
Start = Callable[..., CompletedProcess[str]]
Check = Callable[..., dict[str, Any]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "libraries" in item.path.parts:
            item.add_marker(pytest.mark.musa)
            if not getattr(getattr(item, "module", None), "QUICK", False):
                item.add_marker(pytest.mark.slow)
            for needed in getattr(getattr(item, "module", None), "NEEDS", ()):
                if find_spec(needed) is None:
                    item.add_marker(pytest.mark.skip(reason=f"{needed} is not installed"))


@pytest.fixture(params=list(SIMULATED))
def begin(request: pytest.FixtureRequest, musa: Interpreter, tmp_path: Path) -> Start:
    """Runs a program under some switches, and returns what it has printed."""
    host = Interpreter(env={"TORCHADA_STRICT": "1", "CUDA_VISIBLE_DEVICES": "0,1"}, cwd=tmp_path)

    def run(program: str, *arguments: str, ranks: int = 1) -> CompletedProcess[str]:
        env = {**OFFLINE, **SIMULATED.get(request.param, {})}
        words = ["-m", *request.param.split()] if request.param.startswith("torchada") else []
        interpreter = host if request.param == HOST else musa
        return interpreter.run([*words, *started(program, ranks), *arguments], env=env, timeout=900)

    return run


@pytest.fixture
def agrees(begin: Start, request: pytest.FixtureRequest) -> Check:
    """Runs a program under some switches, holds it to what the CPU gave, and returns what it printed."""

    def check(program: str, *arguments: str, ranks: int = 1, **took: object) -> dict[str, Any]:
        done = begin(program, "cuda", *arguments, ranks=ranks)
        found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
        on_host = request.node.callspec.params.get("begin") == HOST
        more = {"cpu"} if on_host and program in KNOW_MUSA else set()
        compare(found, on_cpu(program, *arguments, ranks=ranks), more)
        assert found.get("took", {}) == took
        unsupported = [line for line in done.stderr.splitlines() if " unsupported " in line]
        assert not unsupported, "\n".join(unsupported)
        return found

    return check


def started(program: str, ranks: int) -> list[str]:
    """The words after `python` that start a program, by torchrun if it has several ranks."""
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"] if ranks > 1 else []
    return [*launcher, str(PROGRAMS / program)]


@cache
def on_cpu(program: str, *arguments: str, ranks: int = 1) -> dict[str, Any]:
    """The same program on the CPU of a machine without torchada."""
    plain = Interpreter(env={**OFFLINE, "TORCHADA_DISABLE": "1"})
    *launcher, program = started(program, ranks)
    done = plain.run([*launcher, str(CONTROL), program, "cpu", *arguments], timeout=900)
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    assert set(found["devices"]) == {"cpu"}
    return found


def compare(found: dict[str, Any], wanted: dict[str, Any], more: Collection[str] = ()) -> None:
    """The work was done on the device, and it is the CPU's. A program that knows MUSA prints other names of devices: `more` too."""
    names = {name.replace("musa", "cuda") for name in found["devices"]}
    assert "cuda:0" in names and names <= {"cuda", "cuda:0", "cuda:1", *more}
    assert found["allocated"] > 10_000
    assert numbers(found["numbers"]) == pytest.approx(numbers(wanted["numbers"]), rel=1e-3, abs=1e-4)
    assert numbers(found.get("rough", [])) == pytest.approx(numbers(wanted.get("rough", [])), rel=0.03, abs=0.03)
    assert found["same"] == wanted["same"]


def numbers(tree: Any) -> list[float]:
    """The leaves, in order."""
    if isinstance(tree, dict):
        tree = [tree[key] for key in sorted(tree)]
    if isinstance(tree, list):
        return [leaf for branch in tree for leaf in numbers(branch)]
    return [float(tree)]
