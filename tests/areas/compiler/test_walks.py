"""PyTorch's tools take each function that is replaced for what it was: torch.fx, torch.export, functorch, pickle, data loaders.

What is replaced is asked of the engine, and what makes tensors of PyTorch's schemas, so that no list is to be kept. TorchScript is
walked through by test_script_builtins.py, and torch.compile by test_compiled_patches.py.
"""

from __future__ import annotations

import json

import pytest

from support.interpreter import ROOT, Interpreter

pytestmark = pytest.mark.musa
HERE = {"PYTHONPATH": f"{ROOT / 'tests'}:{ROOT}"}
CONTROL = {"TORCHADA_DISABLE": "1", **HERE}
# What these make of a function, on "cuda" and, as a control, on the CPU in a process without torchada.
TOOLS = (
    "torch.fx.symbolic_trace",
    "a graph of torch.fx that is pickled and copied",
    "make_fx",
    "torch.export",
    "torch.func.functionalize",
    "torch.vmap",
    "torch.func.grad",
    "torch.func.jvp",
)


@pytest.mark.full
@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_makes_of_each_function_what_it_makes_of_it_on_the_cpu(
    musa: Interpreter, plain: Interpreter, tool: str
) -> None:
    seen = musa.json(["-m", "support.walks", "cuda", tool], env=HERE)[tool]
    control = plain.json(["-m", "support.walks", "cpu", tool], env=CONTROL)[tool]
    assert {name: text for name, text in seen.items() if name.replace("cuda", "cpu") not in control} == {}


COPIED = """
import copy, json, pickle, torch
from support.walks import replaced
torch.zeros(1, device="cuda")
wrong = {}
for name, function in replaced().items():
    try:
        same = pickle.loads(pickle.dumps(function)) is function and copy.deepcopy(function) is function
        if not same:
            wrong[name] = "another function"
    except Exception as error:
        wrong[name] = f"{type(error).__name__}: {error}"[:200]
print(json.dumps([len(replaced()), wrong]))
"""


# Of the functions named on stdin, those that torch itself lets be pickled: older ones in C cannot be.
PICKLED = """
import json, pickle, pkgutil, sys, torch
def is_pickled(name):
    try:
        return bool(pickle.dumps(pkgutil.resolve_name(name)))
    except TypeError:
        return False
print(json.dumps([name for name in json.load(sys.stdin) if is_pickled(name)]))
"""


def test_each_is_copied_and_pickled_by_its_name(musa: Interpreter, plain: Interpreter) -> None:
    count, wrong = musa.json(COPIED, env=HERE)
    assert count > 30
    if wrong:
        pickled = json.loads(plain.run(PICKLED, env=CONTROL, stdin=json.dumps([*wrong])).stdout)
        assert {name: wrong[name] for name in pickled} == {}


LOADED = """
import json, sys, torch
from torch.utils.data import DataLoader
from support.walks import replaced

class Functions(torch.utils.data.Dataset):
    def __init__(self, functions):
        self.names, self.functions = list(functions), list(functions.values())

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        owner, _, name = self.names[index].rpartition(".")
        module = sys.modules[owner] if owner in sys.modules else __import__(owner, fromlist=["x"])
        return self.names[index], getattr(module, name) is self.functions[index]

def collate(pairs):
    return [name for name, same in pairs if not same]

if __name__ == "__main__":
    functions = replaced()
    loaders = [DataLoader(Functions(functions), 64, num_workers=1, collate_fn=collate, multiprocessing_context=way) for way in WAYS]
    print(json.dumps([len(functions), [name for loader in loaders for names in loader for name in names]]))
"""


@pytest.mark.full
@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_each_reaches_the_worker_of_a_data_loader(musa: Interpreter, way: str) -> None:
    assert musa.cwd is not None
    (musa.cwd / "program.py").write_text(LOADED.replace("WAYS", repr([way])), encoding="utf-8")
    count, wrong = musa.json(["program.py"], env=HERE)
    assert count > 30
    assert wrong == []
