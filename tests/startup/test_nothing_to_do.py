"""Where there is nothing to redirect, torch is unchanged, name by name, and hardly any module of torchada is loaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.interpreter import Interpreter

pytestmark = pytest.mark.once

# Describes everything that an area might change, so that processes can be compared.
DESCRIBE = """
import json, sys
import torch, torch.cuda, torch.cuda.amp, torch.cuda.memory, torch.cuda.random, torch.cuda.streams, torch.utils.cpp_extension
import torch.random, torch.serialization, torch.amp, torch.distributed, torch.utils._device, torch._C
import os

def described(value):
    names = [getattr(value, name, None) for name in ("__module__", "__qualname__", "__name__")]
    return [type(value).__module__, type(value).__qualname__, *(name if isinstance(name, str) else None for name in names)]

OWNERS = [
    "torch", "torch.cuda", "torch.cuda.amp", "torch.cuda.memory", "torch.cuda.random", "torch.cuda.streams", "torch.device",
    "torch.Tensor", "torch._C", "torch._C.TensorBase", "torch._C._VariableFunctionsClass", "torch._C._nn", "torch._C.Generator",
    "torch.Generator", "torch.Stream", "torch.Event", "torch.UntypedStorage", "torch.TypedStorage", "torch.nn.Module",
    "torch.random", "torch.serialization", "torch.amp", "torch.amp.autocast_mode", "torch.amp.GradScaler", "torch.autocast",
    "torch.distributed", "torch.utils._device", "torch.utils.cpp_extension", "torch.jit._builtins", "os",
]

def find(path):
    head, *rest = path.split(".")
    value = sys.modules[head]
    for name in rest:
        value = getattr(value, name, None) if value is not None else None
    return value

found = {path: {name: described(value) for name, value in vars(find(path)).items()} for path in OWNERS if find(path)}
# Where the slots of C types have been written to, calling them shows another type's name or another path.
found["results"] = [
    str(torch.device("cuda", 1)), type(torch.device("cuda")).__name__, torch.cuda.is_available(), str(torch.version.cuda),
]
print(json.dumps(found, default=str))
"""
KINDS = ("_torchada_startup", "torchada", "torch_musa", "musasim")
OURS = f"import sys; print(sorted(name for name in sys.modules if name.split('.')[0] in {KINDS}))"
# The import of torch loads only the finder's second half where there is nothing to do.
LOADED = ["_torchada_startup", "torchada", "torchada.hooks", "torchada.hooks.importer"]


@pytest.fixture(scope="module")
def untouched() -> dict[str, Any]:
    """The description of torch under TORCHADA_DISABLE=1."""
    return _describe(Interpreter(env={"TORCHADA_DISABLE": "1"}))


def _describe(interpreter: Interpreter) -> dict[str, Any]:
    found: dict[str, Any] = interpreter.json(DESCRIBE)
    return found


def _assert_same(found: dict[str, Any], untouched: dict[str, Any]) -> None:
    assert found.keys() == untouched.keys()
    for owner, entries in untouched.items():
        assert found[owner] == entries, owner
    assert not [
        (owner, name)
        for owner, entries in found.items()
        if isinstance(entries, dict)
        for name, what in entries.items()
        if any(str(part).startswith(("torchada", "musasim")) for part in what)
    ]


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder with a torch_musa that must not be imported."""
    (tmp_path / "torch_musa.py").write_text("raise AssertionError('imported')")
    return tmp_path


def test_torch_is_what_it_is_without_torchada(plain: Interpreter, untouched: dict[str, Any]) -> None:
    _assert_same(_describe(plain), untouched)


def test_the_description_of_torch_is_not_empty(untouched: dict[str, Any]) -> None:
    assert {"torch.cuda", "torch.Tensor", "torch.device", "torch._C", "os"} <= untouched.keys()
    assert len(untouched["torch.cuda"]) > 200 and len(untouched["torch"]) > 1000


@pytest.mark.parametrize("platform", ["cuda", "cpu"])
def test_torch_is_unchanged_on_a_platform_that_is_left_alone(
    installed: Path, untouched: dict[str, Any], platform: str
) -> None:
    _assert_same(_describe(Interpreter(cwd=installed, env={"TORCHADA_PLATFORM": platform})), untouched)


@pytest.mark.full
@pytest.mark.parametrize("platform", ["cuda", "cpu"])
def test_the_adapter_can_be_imported_while_disabled(plain: Interpreter, tmp_path: Path, platform: str) -> None:
    (tmp_path / "torch_musa.py").write_text("import torch; answer = 42")
    code = (
        "import torch_musa, torch, torchada; print(torch_musa.answer, torchada.is_patched(), torch.device('cuda').type)"
    )
    done = Interpreter(cwd=tmp_path).run(code, env={"TORCHADA_PLATFORM": platform})
    assert done.stdout.strip() == "42 False cuda" and done.stderr == ""


def test_importing_torch_loads_the_start_of_torchada_alone(plain: Interpreter) -> None:
    assert plain.run(f"import torch; {OURS}").stdout.strip() == str(LOADED)


def test_start_up_loads_one_module(plain: Interpreter) -> None:
    assert plain.run(OURS).stdout.strip() == str(LOADED[:1])


def test_a_disabled_process_loads_one_module(plain: Interpreter) -> None:
    code = f"import torch, sys; print([f for f in sys.meta_path if 'torchada' in type(f).__module__]); {OURS}"
    lines = plain.run(code, env={"TORCHADA_DISABLE": "1"}).stdout.splitlines()
    assert lines == ["[]", str(LOADED[:1])]


@pytest.mark.full
def test_the_finder_watches_nothing_after_the_import_of_torch(plain: Interpreter) -> None:
    code = "import torch; from _torchada_startup import FINDER; print(FINDER.watched)"
    assert plain.run(code).stdout.strip() == "{}"
    assert plain.run(code, env={"TORCHADA_PLATFORM": "cpu"}).stdout.strip() == "{}"


def test_the_fast_path_knows_every_adapter() -> None:
    """Where no adapter is installed, settings and backends are not even loaded, so start-up must know the adapters' names."""
    from _torchada_startup import WATCHED_AT_START
    from torchada.backends.select import find
    from torchada.base.adapters import ADAPTERS

    backends = [find(name) for name in ADAPTERS]
    assert {name: backend.adapter for name, backend in zip(ADAPTERS, backends) if backend} == ADAPTERS
    assert all(backend and backend.name == backend.device_type for backend in backends)
    assert {backend.adapter: bool(backend.simulator) for backend in backends if backend} == {
        name: simulated for name, simulated in WATCHED_AT_START.items() if name != "torch"
    }


def test_the_environment_is_left_alone(plain: Interpreter) -> None:
    code = "import json, os, torch; print(json.dumps(dict(os.environ)))"
    env = {"CUDA_VISIBLE_DEVICES": "1"}
    assert plain.json(code, env=env) == plain.json(code.replace(", torch", ""), env=env)


@pytest.mark.full
@pytest.mark.parametrize("call", ["disable", "enable", "is_patched"])
def test_enable_and_disable_change_nothing(plain: Interpreter, untouched: dict[str, Any], call: str) -> None:
    found = json.loads(plain.run(f"import torchada, torch; torchada.{call}()\n{DESCRIBE}").stdout.splitlines()[-1])
    _assert_same(found, untouched)


@pytest.mark.cuda
def test_on_a_machine_with_an_nvidia_gpu(plain: Interpreter) -> None:
    plain.run("import torch, torchada; assert torch.zeros(2, device='cuda').is_cuda and not torchada.is_patched()")
