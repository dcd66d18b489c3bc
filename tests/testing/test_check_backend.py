"""The contract of an adapter: the simulated torch_musa and the toy fulfil it, and what is broken on purpose is found."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

from support.interpreter import Interpreter
from support.platforms import ENVIRONMENT
from support.toy import IS_POSSIBLE, toy_interpreter
from torchada.report import schemas

pytestmark = [pytest.mark.once, pytest.mark.skipif(not IS_POSSIBLE, reason="this torch has no devices in Python")]

CHECK = ["-m", "torchada.testing"]
# What each fault is called, what breaks the toy, and the check that has to find it.
FAULTS = {
    "current_device is no number": ("namespace.current_device = lambda: '0'", "devices.current"),
    "current_device is a device that is not there": ("namespace.current_device = lambda: 3", "devices.current"),
    "no device is counted": ("namespace.device_count = lambda: 0", "devices.count"),
    "device_count is missing": ("del namespace.device_count", "devices.count"),
    "is_available is False": ("namespace.is_available = lambda: False", "devices.available"),
    "synchronize takes no device": ("namespace.synchronize = lambda: None", "registration.signatures"),
    "manual_seed is ignored": ("namespace.manual_seed = lambda seed: None", "random.device"),
    "torch.manual_seed is ignored": ("namespace.manual_seed_all = lambda seed: None", "random.torch"),
    "manual_seed_all is missing": ("del namespace.manual_seed_all", "random.torch"),
    "the seed does not matter": ("namespace.manual_seed = lambda seed: draw.manual_seed(5)", "random.device"),
    "the state is not restored": ("namespace.set_rng_state = lambda state: None", "random.states"),
    "the context manager is missing": ("del namespace.device", "devices.context"),
    "memory_allocated stands still": ("namespace.memory_allocated = lambda device=None: 0", "memory.allocated"),
    "mem_get_info is the wrong way round": ("namespace.mem_get_info = lambda device=None: (8, 4)", "memory.free"),
    "memory_stats is empty": ("namespace.memory_stats = lambda device=None: {}", "memory.statistics"),
    "a kernel adds what is not there": (
        "torch_toy.kernels.memory.on_toy = lambda t: on_toy(t + 1)",
        "tensors.arithmetic",
    ),
    "a copy loses data": (
        "torch_toy.kernels._lent = lambda v: lent(v)[:1] if rank(v) == 2 else lent(v)",
        "tensors.copies",
    ),
    "devices may be mixed": ("torch_toy.kernels._check_devices = lambda *a: None", "tensors.mixed"),
    "a device that is not there is accepted": ("torch_toy.kernels._check_devices = lambda *a: None", "devices.refused"),
    "autocast casts to float64": ("torch_toy.kernels._cast = lambda v, t: v.double()", "autocast.operations"),
    "names of the descriptor are not there": ("names['cudart'] = 'toyrt'", "registration.renames"),
    "the dispatch key is unknown": ("keys['CUDA'] = 'PrivateUse9'", "dispatch.keys"),
    "the variable hides nothing": ("variable = 'NOBODY_READS_IT'", "devices.visible"),
}
# One fault after the other, each in an adapter that is whole otherwise.
BREAK = """
import json, sys
from dataclasses import replace
import torch, torch_toy
from torch_toy import namespace
from torch_toy_torchada.backend import TOY
from torchada.testing import check_backend

modules = [namespace, torch_toy.kernels, torch_toy.memory]
whole = [dict(vars(module)) for module in modules]
lent, on_toy, draw = torch_toy.kernels._lent, torch_toy.memory.on_toy, namespace.generator()
rank = lambda value: value.dim() if isinstance(value, torch.Tensor) else 0

def faults(fault, only):
    names, keys, variable = {}, dict(TOY.names.dispatch_keys), TOY.visible_devices
    space = {**globals(), **locals()}
    exec(fault, space)
    own = replace(TOY.names, renames=names, dispatch_keys=keys)
    report = check_backend(replace(TOY, names=own, visible_devices=space["variable"]), only)
    for module, entries in zip(modules, whole):
        vars(module).clear()
        vars(module).update(entries)
    return [result.name for result in report.faults]

print(json.dumps([faults(*each) for each in json.load(sys.stdin)]))
"""
# Without torchada's patches, which keep functions of the namespace that are broken later.
ALONE = {"TORCHADA_PLATFORM": "cpu"}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The checks that have found each fault, only its own being tried."""
    toy = toy_interpreter(tmp_path_factory.mktemp("faults"))
    return dict(zip(FAULTS, toy.json(BREAK, env=ALONE, stdin=json.dumps(list(FAULTS.values())))))


@pytest.fixture
def toy(tmp_path: Path) -> Interpreter:
    return toy_interpreter(tmp_path)


@pytest.mark.full
@pytest.mark.musa
def test_torch_musa_has_no_fault(musa: Interpreter) -> None:
    done = musa.run([*CHECK, "musa"])
    assert done.stdout.strip().endswith(": 0 faults") and "lacks" not in done.stdout
    # A CUDA build of torch says the former on a machine with nvcc.
    assert [line for line in done.stderr.splitlines() if "No CUDA runtime is found" not in line] == []


# On the host, the CPU's allocator, autograd and rules for mixed tensors answer, and torchada itself sees tensors on the CPU. The
# simulator's faces have no fault.
OTHERWISE = {
    "host": {
        "tensors.made",
        "tensors.mixed",
        "tensors.gradients",
        "streams.graphs",
        "memory.allocated",
        "memory.peak",
        "distributed.collectives",
    },
    "npu": set(),
    "mlu": set(),
}

LACKED = {"registration.native", "build.tools", "management.library"}


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERWISE)
def test_the_other_platforms_that_can_be_run_here(plain: Interpreter, name: str) -> None:
    done = plain.run([*CHECK, name, "--json"], env=ENVIRONMENT[name], check=False)
    found = json.loads(done.stdout)["checks"]
    wrong = {each["name"]: each["detail"] for each in found if each["outcome"] == "wrong"}
    assert wrong.keys() == OTHERWISE[name], wrong
    assert {each["name"] for each in found if each["outcome"] == "lacks"} <= LACKED


def test_what_the_toy_lacks_is_named(toy: Interpreter) -> None:
    out = toy.run([*CHECK, "toy", "--only", "streams"]).stdout
    assert out.strip().endswith(": 0 faults")
    assert "lacks   streams.current             torch.toy has no Stream, stream, current_stream" in out


@pytest.mark.full
def test_the_toy_has_no_fault_and_its_report_as_json_fits_the_schema(toy: Interpreter) -> None:
    found = json.loads(toy.run([*CHECK, "torch_toy_torchada.backend:TOY", "--json"]).stdout)
    schema = json.loads(files(schemas).joinpath("backend-check.json").read_text())
    assert [fault.message for fault in jsonschema.Draft202012Validator(schema).iter_errors(found)] == []
    assert found["ok"] is True and found["backend"] == "toy" and len(found["checks"]) > 40


@pytest.mark.full
def test_the_adapter_alone_is_checked_where_nothing_is_redirected(toy: Interpreter) -> None:
    assert toy.run([*CHECK, "toy", "--only", "tensors"], env=ALONE).stdout.strip().endswith(": 0 faults")


@pytest.mark.full
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(found: dict[str, list[str]], fault: str) -> None:
    assert FAULTS[fault][1] in found[fault]


def test_without_a_device_the_other_checks_are_left_out(toy: Interpreter) -> None:
    (faults,) = toy.json(BREAK, env=ALONE, stdin=json.dumps([("namespace.device_count = lambda: 0", "")]))
    assert faults == ["devices.count"]


def test_a_fault_ends_in_exit_code_1(toy: Interpreter) -> None:
    (toy.cwd / "broken.py").write_text(  # type: ignore[operator]
        "from torch_toy import namespace\nfrom torch_toy_torchada.backend import TOY\nnamespace.current_device = lambda: 3\n"
    )
    done = toy.run([*CHECK, "broken:TOY", "--only", "devices.current"], check=False)
    assert done.returncode == 1
    assert "WRONG   devices.current             current_device() is 3, which is no device" in done.stdout


@pytest.mark.full
@pytest.mark.parametrize("name", ["nobody", "nobody:NAME", "torch_toy:__version__"])
def test_what_cannot_be_checked_ends_in_exit_code_2(toy: Interpreter, name: str) -> None:
    done = toy.run([*CHECK, name], check=False)
    assert done.returncode == 2 and f"{name} cannot be checked" in done.stderr
