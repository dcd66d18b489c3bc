"""TORCHADA_LOG: which APIs of CUDA were used, from which line of whose code; and nothing at all where nobody asks."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from support.interpreter import TORCH, Interpreter

pytestmark = [pytest.mark.musa, pytest.mark.once]

SUMMARY = {"TORCHADA_LOG": "summary"}
CALLS = {"TORCHADA_LOG": "calls"}
# Counts by API, kind, line, function, package and the function of torch on the way; printed by the process itself.
COUNTS = """
def counts():
    from torchada.hooks.state import STATE
    found = STATE.telemetry._recorder._counts
    return [
        [use.api, use.kind, use.to, site.line, site.function, site.package, site.through, n.total()]
        for (use, site), n in found.items()
    ]
"""


@pytest.fixture
def recorded(musa: Interpreter, tmp_path: Path) -> Any:
    """Run a script with recording on; returns what was counted, in the order of first use."""

    def run(code: str, **options: Any) -> list[list[Any]]:
        script = tmp_path / "program.py"
        script.write_text(code + COUNTS + "import json; print(json.dumps(counts()))\n")
        found: list[list[Any]] = musa.json([str(script)], env=SUMMARY, **options)
        return found

    return run


def of(found: list[list[Any]], api: str) -> list[list[Any]]:
    return [entry[1:] for entry in found if entry[0] == api]


def test_a_call_is_recorded_with_its_answer_and_its_line(recorded: Any) -> None:
    found = recorded(
        "import torch\n"
        "def make():\n"
        "    return torch.zeros(2, device='cuda')\n"
        "for _ in range(3):\n"
        "    x = make()\n"
        "torch.cuda.synchronize()\n"
        "x.cuda(); x.cuda()\n"
    )
    assert of(found, 'torch.zeros(device="cuda")') == [
        ["adapted", 'torch.zeros(device="musa")', 3, "make", "__main__", "", 3]
    ]
    assert of(found, "torch.cuda.synchronize") == [["same", "torch.musa.synchronize", 6, "<module>", "__main__", "", 1]]
    assert [entry[-1] for entry in of(found, "Tensor.cuda()")] == [2], "two calls in one line"


def test_the_cpu_is_no_use_of_cuda(recorded: Any) -> None:
    found = recorded(
        "import os, torch\n"
        "x = torch.zeros(2, device='cpu').to('cpu').to(torch.device('cpu'))\n"
        "torch.empty(2, device=torch.device('meta')); torch.tensor(['cuda'.count('u')])\n"
        "with torch.autocast('cpu'): pass\n"
        "os.environ['SOMETHING'] = 'else'\n"
        "torch.save(x, 'cuda_net.pt'); torch.load('cuda_net.pt', map_location='cpu')\n"
    )
    asked_for_every_device = ["torch.cuda.amp.amp_definitely_not_available"] if TORCH < (2, 8) else []
    assert [entry[0] for entry in found] == asked_for_every_device


@pytest.mark.full
def test_the_backend_is_not_the_program(recorded: Any) -> None:
    """Native code, and what the backend and torchada ask of torch.cuda themselves."""
    assert recorded("import torch\nx = torch.ones(2, device='musa')\ntorch.musa.synchronize()\nx.to('musa')\n") == []
    found = recorded("import torch\ntorch.ones(2).cuda('cuda:0')\n")
    assert [entry[0] for entry in found] == ["Tensor.cuda()"], "the device that it asks for is not one more use"


def test_through_torch(recorded: Any) -> None:
    found = recorded(
        "import torch\n"
        "net = torch.nn.Linear(2, 2, device='cuda')\n"
        "net.cuda()\n"
        "with torch.cuda.amp.autocast():\n"
        "    pass\n"
    )
    assert of(found, 'torch.empty(device="cuda")') == [
        ["adapted", 'torch.empty(device="musa")', 2, "<module>", "__main__", _through("linear.Linear.__init__"), 2]
    ]
    moves = of(found, "Tensor.cuda()")
    assert [(entry[2], entry[-1]) for entry in moves] == [(3, 2)]
    assert moves[0][-2] == _through("module.Module.cuda")
    assert [entry[2] for entry in of(found, 'torch.autocast("cuda")')] == [4]


def _through(name: str) -> str:
    full = f"torch.nn.modules.{name}"
    module, _, function = full.rpartition(".")
    return full if sys.version_info >= (3, 11) else f"{module.rpartition('.')[0]}.{function}"


def test_default_arguments_and_indices(recorded: Any) -> None:
    found = recorded(
        "import torch\n"
        "torch.amp.GradScaler()\n"
        "torch.amp.GradScaler('cpu', enabled=False)\n"
        "torch.device('cuda', 1); torch.device(type='cuda', index=1)\n"
        "torch.load(torch.save([1], 'x.pt') or 'x.pt', map_location={'cuda:0': 'cuda:1'})\n"
    )
    assert [entry[-1] for entry in of(found, 'torch.amp.GradScaler("cuda")')] == [1]
    assert [entry[-1] for entry in of(found, 'torch.device("cuda")')] == [2]


@pytest.mark.full
def test_whose_code(recorded: Any, tmp_path: Path) -> None:
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "__init__.py").write_text("")
    (tmp_path / "library" / "deep.py").write_text("import torch\ndef go():\n    torch.cuda.synchronize()\n")
    found = recorded(
        "import contextlib, functools, torch\n"
        "from library.deep import go\n"
        "go()\n"
        "functools.reduce(lambda a, b: torch.cuda.synchronize(), [1, 2])\n"
        "with contextlib.ExitStack() as stack:\n"
        "    stack.callback(torch.cuda.synchronize)\n"
    )
    places = [(entry[2], entry[3], entry[4]) for entry in of(found, "torch.cuda.synchronize")]
    assert places[0] == (3, "go", "library")
    assert places[1][0] == 4 and places[2][0] in (5, 6), "what the standard library calls, somebody had it called"
    assert {place[2] for place in places[1:]} == {"__main__"}


def test_classes_stay_classes_and_constructors_count(recorded: Any) -> None:
    found = recorded(
        "import pickle, copy, torch\n"
        "assert torch.cuda.Stream is torch.musa.Stream and isinstance(torch.cuda.Stream(), torch.cuda.Stream)\n"
        "class Own(torch.cuda.Event): pass\n"
        "assert isinstance(Own(enable_timing=True), torch.cuda.Event)\n"
        "for f in (torch.zeros, torch.cuda.synchronize, torch.random.fork_rng):\n"
        "    assert pickle.loads(pickle.dumps(f)) is f and copy.deepcopy(f) is f\n"
        "assert type(torch.device('cuda')) is torch.device\n"
        "assert torch.zeros is torch._C._VariableFunctions.zeros\n"
    )
    assert [entry[-1] for entry in of(found, "torch.cuda.Stream")] == [1]
    assert [entry[-1] for entry in of(found, "torch.cuda.Event")] == [1]


def test_an_api_that_is_not_redirected_is_recorded_as_untouched(recorded: Any) -> None:
    """torch's own questions tell nothing of the program."""
    found = recorded("import torch\ntorch.cuda.memory_snapshot()\ntorch.manual_seed(0)\n")
    assert of(found, "torch.cuda.memory_snapshot") == [["untouched", "torch itself", 2, "<module>", "__main__", "", 1]]
    assert not [entry for entry in found if entry[0].rpartition(".")[2].startswith("_")]


@pytest.mark.full
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_regions(recorded: Any, backend: str) -> None:
    """No graph break; a line that is traced is told as that line."""
    found = recorded(
        "import torch\n"
        f"@torch.compile(backend='{backend}', fullgraph=True)\n"
        "def step(x):\n"
        "    y = x + torch.ones(3, device='cuda')\n"
        "    z = y.cpu().cuda() + torch.zeros(3, device=torch.device('cuda'))\n"
        "    with torch.autocast('cuda', dtype=torch.bfloat16):\n"
        "        return z * (2 if x.is_cuda else 3) + torch.cuda.current_device()\n"
        "x = torch.ones(3, device='cuda')\n"
        "assert step(x).tolist() == step(x).tolist() == [4.0] * 3\n"
    )
    assert 4 in [entry[2] for entry in of(found, 'torch.ones(device="cuda")')]
    assert 5 in [entry[2] for entry in of(found, "Tensor.cuda()")]


@pytest.mark.full
def test_what_torch_does_while_it_is_imported_is_not_the_programs(recorded: Any) -> None:
    """The optimizer imports torch._dynamo, which registers kernels for CUDA and asks for its dispatch keys."""
    found = recorded(
        "import sys, torch\n"
        "x = torch.ones(1, device='cuda', requires_grad=True)\n"
        "assert 'torch._dynamo' not in sys.modules\n"
        "torch.optim.AdamW([x])\n"
        "assert 'torch._dynamo' in sys.modules\n"
    )
    assert [entry[0] for entry in found] == ['torch.ones(device="cuda")']


def test_a_key_that_the_program_asks_for_is_recorded(recorded: Any) -> None:
    found = recorded("import torch\ntorch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)\n")
    assert [entry[-1] for entry in of(found, "torch._C.DispatchKeySet(DispatchKey.CUDA)")] == [1]


# Patches as areas yield them, of every kind of replacement.
PATCHES = """
import sys, types, torch
from torchada.hooks.state import STATE
from torchada.redirect.engine import ENGINE, Patch
from torchada.redirect.unsupported import unsupported, unsupported_class, UnsupportedError, error
from torchada.redirect.entry_point import EntryPoint

context = STATE.context
library = types.ModuleType("library"); library.__dict__.update(values={}); sys.modules["library"] = library
class Thing:
    pass
class Made:
    def __init__(self, size=0): self.size = size
def original(device): return device
def picky(flag):
    if flag: raise error(context, "library.picky", "of the flag")
entry = EntryPoint(original, lambda device: ("redirected", device), "library:entry")
patches = [
    Patch(library, "refused", unsupported(context, "torch.cuda.refused", "none"), "torch.cuda.refused", kind="unsupported"),
    Patch(library, "Refused", unsupported_class(context, "torch.cuda.Refused", "none"), "torch.cuda.Refused", kind="unsupported"),
    Patch(library, "done", lambda: 1, "torch.cuda.done", kind="emulated"),
    Patch(library, "picky", picky, "torch.cuda.picky", to="library.picky"),
    Patch(library, "entry", entry, 'library.entry("cuda")'),
    Patch(library, "Made", Made, "torch.cuda.Made"),
    Patch(library, "number", 7, "torch.cuda.number"),
    Patch(library.values, "CUDA", lambda: 2, "torch.cuda.values"),
    Patch(Thing, "fixed", staticmethod(lambda: 3), "torch.cuda.Thing.fixed"),
    Patch(Thing, "of_class", classmethod(lambda cls: cls), "torch.cuda.Thing.of_class"),
    Patch(Thing, "on", property(lambda self: 4, lambda self, value: None), "torch.cuda.Thing.on"),
    Patch(Thing, "method", lambda self, x: x, "torch.cuda.Thing.method"),
    Patch(Thing, "length", len, "torch.cuda.Thing.length"),
]
ENGINE.apply("test", STATE.telemetry.observe("test", patches))
"""


def test_every_sort_of_patch(recorded: Any) -> None:
    found = recorded(
        PATCHES
        + """
for refused in (library.refused, library.Refused, lambda: library.picky(True)):
    try: refused()
    except UnsupportedError: pass
    else: raise AssertionError(refused)
library.picky(False)
thing = Thing(); thing.on = 5
assert [library.done(), library.values["CUDA"](), Thing.fixed(), thing.on] == [1, 2, 3, 4]
assert [thing.method(6), thing.length("ab")] == [6, 2]
assert Thing.of_class() is Thing and library.number == 7 and library.Made is Made and library.Made(size=8).size == 8
assert library.entry("cuda") == library.entry(device="cuda") == ("redirected", "cuda")
assert library.entry("cpu") == ("redirected", "cpu")
ENGINE.revert("test")
assert not [name for name in vars(Thing) if not name.startswith("__")] and Made(9).size == 9 and "number" not in vars(library)
"""
    )
    kinds = {(entry[0].rpartition("torch.cuda.")[2], entry[1]): entry[-1] for entry in found}
    assert kinds == {
        ("refused", "unsupported"): 1,
        ("Refused", "unsupported"): 1,
        ("picky", "adapted"): 1,
        ("picky", "unsupported"): 1,
        ("done", "emulated"): 1,
        ('library.entry("cuda")', "adapted"): 2,
        ("Made", "adapted"): 1,
        ("values", "adapted"): 1,
        ("Thing.fixed", "adapted"): 1,
        ("Thing.of_class", "adapted"): 1,
        ("Thing.on", "adapted"): 1,
        ("Thing.method", "adapted"): 1,
        ("Thing.length", "adapted"): 1,
    }


def test_undone_exactly(musa: Interpreter) -> None:
    found = musa.json(
        """
import json, os, torch, torchada
from torchada.redirect.engine import ENGINE
recorded = [torch.zeros, torch.cuda.synchronize, torch.cuda.is_available, os._exit, torch.Tensor.cuda]
own = "__new__" in vars(torch.musa.Stream) and vars(torch.musa.Stream)["__new__"]
torchada.disable()
files = [getattr(f, "__code__", None) and f.__code__.co_filename for f in
         [torch.zeros, torch.cuda.synchronize, torch.cuda.is_available, os._exit, torch.Tensor.cuda, torch.musa.Stream.__new__]]
print(json.dumps([
    [f.__code__.co_filename.rpartition("/torchada/")[2] for f in recorded if hasattr(f, "__code__")],
    [file for file in files if file and "telemetry" in file], str(torch.musa.Stream().device.type)]))
""",
        env=SUMMARY,
        forked=True,
    )
    assert found == [["telemetry/observe.py"] * 3 + ["telemetry/process.py", "telemetry/observe.py"], [], "musa"]


def test_nothing_is_recorded_or_loaded_when_off(musa: Interpreter) -> None:
    """Nothing of the feature is loaded, and what is in place is what the areas themselves have made."""
    found = musa.json(
        """
import json, os, sys, torch
from torchada.hooks.state import STATE
from torchada.redirect.engine import ENGINE
values = [r.patch.replacement for done in ENGINE.applied().values() for r in done]
files = [getattr(getattr(value, "__func__", value), "__code__", None) for value in values]
print(json.dumps([
    [name for name in sys.modules if name.startswith("torchada.telemetry")],
    STATE.telemetry is None, "telemetry" in ENGINE.applied(),
    [code.co_filename for code in files if code and "telemetry" in code.co_filename], type(os._exit).__name__,
    torch.cuda.synchronize is torch.musa.synchronize,
]))
""",
        forked=True,
    )
    assert found == [[], True, False, [], "builtin_function_or_method", True]


@pytest.mark.full
def test_the_mechanism_is_portable_and_status_says_why(musa: Interpreter) -> None:
    ask = (
        "import json, torch; from torchada.control import status; print(json.dumps(status.report()['device_strings']))"
    )
    for native in ("auto", "1", "0"):
        found = musa.json(ask, env={**SUMMARY, "TORCHADA_NATIVE": native}, forked=True)
        assert found["mechanism"] == "portable"
        assert found["why"] == ("TORCHADA_NATIVE=0" if native == "0" else "TORCHADA_LOG records calls")


def test_the_summary(musa: Interpreter, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        PATCHES + "\nfor _ in range(1200): torch.cuda.synchronize()\ntorch.zeros(1, device='cuda')\n"
        "try: library.refused()\nexcept UnsupportedError: pass\n"
    )
    lines = musa.run([str(script)], env=SUMMARY).stderr.splitlines()
    assert re.fullmatch(r"torchada: CUDA as used by process \d+, on musa( \(simulated\))?", lines[0])
    assert lines[1].split() == ["calls", "API", "of", "CUDA", "answered", "by", "called", "from"]
    assert lines[2].split()[:3] == ["1", "UNSUPPORTED", "torch.cuda.refused"], "first, and marked"
    assert lines[3].split()[:4] == ["1,200", "same", "torch.cuda.synchronize", "torch.musa.synchronize"]
    assert lines[3].endswith(f"train.py:{PATCHES.count(chr(10)) + 2}")
    assert lines[-1] == "  1,202 calls: 1 UNSUPPORTED, 1 adapted, 1,200 same"
    assert len({line.index("torch.") for line in lines[2:-1]}) == 1, "aligned"


def test_the_summary_ends_with_what_was_computed_on_the_cpu(musa: Interpreter) -> None:
    code = "import torch\nx = torch.ones(2, device='cuda')\nfor _ in range(3): torch.logcumsumexp(x, 0)\n"
    last = musa.run(
        code, env={**SUMMARY, "MUSASIM_RELEASE": "2.7.1", "TORCHADA_CPU_FALLBACK": "silent"}, forked=True
    ).stderr.splitlines()[-1]
    assert last == "  computed on the CPU, with copies there and back: aten::_logcumsumexp 3"


def test_calls_are_told_once_per_line(musa: Interpreter) -> None:
    done = musa.run(
        "import torch\nfor _ in range(3):\n    torch.cuda.synchronize()\ntorch.cuda.synchronize()\n",
        env=CALLS,
        forked=True,
    )
    assert done.stderr.splitlines() == [
        f"torchada: same: torch.cuda.synchronize -> torch.musa.synchronize, <string>:{line}" for line in (3, 4)
    ]


def test_nothing_used_nothing_said(musa: Interpreter) -> None:
    assert musa.run("import torch; torch.zeros(1)", env=SUMMARY, forked=True).stderr == ""


def test_threads_lose_no_count(recorded: Any) -> None:
    found = recorded(
        "import threading, sys, torch\n"
        "sys.setswitchinterval(1e-6)\n"
        "def work():\n"
        "    for _ in range(2000): torch.cuda.current_device()\n"
        "threads = [threading.Thread(target=work) for _ in range(8)]\n"
        "for thread in threads: thread.start()\n"
        "for thread in threads: thread.join()\n"
    )
    assert [entry[-1] for entry in of(found, "torch.cuda.current_device")] == [16000]


BROKEN = """
import torch
from torchada.hooks.state import STATE
def fail(*args): raise ValueError("broken")
STATE.telemetry._recorder._callers.find = fail
STATE.telemetry._recorder.drain = fail
torch.cuda.synchronize(); torch.cuda.synchronize()
print(torch.zeros(1, device="cuda").device)
"""


def test_a_fault_of_recording_is_not_the_programs(musa: Interpreter) -> None:
    done = musa.run(BROKEN, env={**SUMMARY, "TORCHADA_STRICT": "0"}, forked=True)
    assert done.stdout.strip() == "cuda:0"
    assert done.stderr.count("recording a call of torch.cuda.synchronize: ValueError: broken") == 1
    assert done.stderr.count("reporting which APIs of CUDA were used: ValueError: broken") == 1


def test_strict_raises(musa: Interpreter) -> None:
    done = musa.run(BROKEN, env=SUMMARY, check=False, forked=True)
    assert done.returncode == 1 and "TorchadaError" in done.stderr
