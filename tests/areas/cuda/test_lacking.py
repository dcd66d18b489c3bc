"""Every public name of torch.cuda on a backend that has hardly any of them: it works, or says what is lacking."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.interpreter import ROOT, Interpreter
from support.toy import IS_POSSIBLE, toy_interpreter
from torchada.areas.cuda.unimplemented import HARMLESS

pytestmark = [
    pytest.mark.once,  # the fixture sets the mechanism
    pytest.mark.skipif(not IS_POSSIBLE, reason="this torch has no devices in Python"),
]

# What torch itself needs, and nothing else.
MINIMAL = """
import contextlib
def device_count(): return 1
def current_device(): return 0
def manual_seed_all(seed): pass
def _is_in_bad_fork(): return False
class device(contextlib.nullcontext):
    def __init__(self, device): super().__init__()
def generator():
    import torch
    return torch.Generator("cpu")
"""
# Calls every name with arguments of several kinds. What a user's mistake raises is his; what speaks of the insides is ours.
WALK = """
import importlib, inspect, json, sys, warnings
import torch
from torchada import UnsupportedError

warnings.simplefilter("ignore")
INSIDES = ("torch._C", "not compiled with CUDA", "compiled without CUDA", "dummy base", "torch_toy.", "_cuda_", "libcud",
           "'NoneType' object has no", "is not defined", "out of range", "pynvml")
ARGUMENTS = ((), (0,), (0, 0), ("cuda",), (torch.zeros(1, device="cuda"),), (b"x",), (torch.device("cuda"),))
walked, unsupported, bad = 0, {}, []

def try_one(path, value, arguments):
    try:
        made = value(*arguments)
        if hasattr(made, "__enter__"):
            with made:
                pass
    except UnsupportedError as error:
        unsupported.setdefault(path, str(error))
    except BaseException as error:
        if any(text in str(error) for text in INSIDES):
            bad.append([path, repr(arguments), type(error).__name__, str(error)[:100]])

for name in ("", ".memory", ".random", ".streams", ".graphs", ".profiler", ".nvtx", ".amp", ".nccl", ".tunable", ".gds"):
    module = importlib.import_module(f"torch.cuda{name}")
    for entry in sorted(getattr(module, "__all__", [])) if name else sorted(dir(module)):
        value = getattr(module, entry)
        home = str(getattr(value, "__module__", "torch.cuda"))
        if entry.startswith("_") or not callable(value) or not home.startswith(("torch.cuda", "torch_toy", "torchada")):
            continue
        walked += 1
        for arguments in ARGUMENTS:
            try_one(f"torch.cuda{name}.{entry}", value, arguments)
print(json.dumps({"walked": walked, "unsupported": unsupported, "bad": bad}))
"""


@pytest.fixture(params=["0", "1"], ids=["portable", "native"])
def minimal(tmp_path: Path, request: pytest.FixtureRequest) -> Interpreter:
    """An interpreter with a backend whose namespace has what torch itself needs."""
    toy = toy_interpreter(tmp_path)
    (tmp_path / "torch_toy" / "namespace.py").write_text(MINIMAL)
    toy.env.update(TORCHADA_NATIVE=request.param, TORCHADA_SKIP_AREAS="toy")
    return toy


@pytest.mark.full
@pytest.mark.parametrize("env", [{}, {"TORCHADA_FORCE_CUDA_AVAILABLE": "1"}], ids=["honest", "available"])
def test_no_public_name_of_torch_cuda_ends_in_torchs_insides(minimal: Interpreter, env: dict[str, str]) -> None:
    found = minimal.json(WALK, env=env)
    assert found["bad"] == [] and found["walked"] > 120
    names = found["unsupported"]
    for name in ("memory_stats", "Stream", "Event", "mem_get_info", "current_stream", "manual_seed", "utilization"):
        assert names[f"torch.cuda.{name}"].startswith(f"torch.cuda.{name} has no counterpart on TOY: ")
    assert "torch.toy has no memory_stats" in names["torch.cuda.memory_stats"]


@pytest.mark.full
def test_what_harms_nobody_is_answered(minimal: Interpreter) -> None:
    names = [name for name in HARMLESS if name != "is_initialized"]
    code = f"""
    import json, torch
    print(json.dumps([getattr(torch.cuda, name)() for name in {names}]))
    torch.cuda.set_device(0), torch.cuda.set_device("cuda:0")
    with torch.cuda.device(0), torch.cuda.device(None):
        print(torch.cuda.current_device())
    """
    out = minimal.run(code).stdout.splitlines()
    assert json.loads(out[0]) == [HARMLESS[name] for name in names] and out[1] == "0"


@pytest.mark.full
def test_undoing_leaves_torch_cuda_as_it_was(minimal: Interpreter) -> None:
    code = """
    import torch, torch.cuda.memory as memory
    import torch_toy
    before = [dict(vars(each)) for each in (torch.cuda, memory, torch.cuda.Stream, torch.cuda.MemPool)]
    import torchada
    torchada.enable()
    assert vars(torch.cuda) != before[0]
    torchada.disable()
    for each, entries in zip((torch.cuda, memory, torch.cuda.Stream, torch.cuda.MemPool), before):
        assert {name for name in entries if vars(each).get(name) is not entries[name]} == set()
        assert vars(each).keys() == entries.keys()
    """
    minimal.run(code, env={"TORCHADA_DISABLE": "1"})


def test_the_page_lists_what_harms_nobody() -> None:
    page = (ROOT / "docs" / "extending.md").read_text()
    for name, answer in HARMLESS.items():
        assert name.startswith("_") or f"| `{name}()` | {'nothing' if answer is None else f'`{answer!r}`'} |" in page
