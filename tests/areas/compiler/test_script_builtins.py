"""torch.jit.script compiles an operator for each builtin of torch, also where a Python function is in its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.interpreter import Interpreter

pytestmark = [pytest.mark.musa, pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated")]

TABLE = """
import json, torch
from torch.jit import _builtins
table = _builtins._get_builtin_table()
names = {
    f"{module.__name__}.{name}": table[id(value)]
    for module in _builtins._modules_containing_builtins
    for name, value in list(vars(module).items())
    if id(value) in table and torch._C._jit_get_schemas_for_operator(table[id(value)])
}
for module, name in ((torch.backends.cudnn, "is_acceptable"), (torch.nn.init, "_no_grad_fill_"), (torch.autograd, "grad")):
    names[f"{module.__name__}.{name}"] = table.get(id(getattr(module, name)))
"""


@pytest.mark.full
def test_what_is_a_builtin_for_torchscript_without_torchada_is_one(plain: Interpreter, musa: Interpreter) -> None:
    """The table is keyed by identity, and knows of a replacement what it knows of the builtin, where there is an operator."""
    stock = plain.json(TABLE + "print(json.dumps(names))", env={"TORCHADA_DISABLE": "1"}, forked=True)
    ours = musa.json(TABLE + "print(json.dumps(names))", forked=True)
    assert len(stock) > 700
    assert {name: ours.get(name) for name in stock} == stock


SCRIPT_EACH = """
import json, sys, torch
from pathlib import Path
from types import FunctionType

def function(path, number, schema):
    # Arguments with a default are left out, but `device` is given, because it is what most replacements are there for.
    given = [argument for argument in schema.arguments if not argument.has_default_value() or argument.name == "device"]
    parameters, arguments = [], []
    for letter, argument in zip("abcdefgh", given):
        kind = argument.type.annotation_str.replace("number", "float")
        parameters.append(f"{letter}: {kind.replace('Device', 'device')}")
        is_named = argument.kwarg_only or argument.name == "device"
        arguments.append(f"{argument.name}={letter}" if is_named else letter)
    return f"def function_{number}({', '.join(parameters)}):\\n    return {path}({', '.join(arguments)})\\n"

replaced = {}
for module in torch.jit._builtins._modules_containing_builtins:
    for name, value in vars(module).items():
        stands_in = isinstance(value, FunctionType) and name not in torch.functional.__all__
        schemas = torch._C._jit_get_schemas_for_operator(f"aten::{name}") if stands_in else []
        of_torch = hasattr(torch._C._VariableFunctionsClass, name) or hasattr(torch._C, name) or module is not torch
        if schemas and of_torch:
            replaced[f"{module.__name__}.{name}"] = schemas[0]
head = "import torch\\nfrom torch import Tensor, device\\nfrom typing import List, Optional\\n"
Path("scripted.py").write_text(head + "".join(function(path, i, replaced[path]) for i, path in enumerate(replaced)))
sys.path.insert(0, ".")
import scripted
failed = {}
for i, path in enumerate(replaced):
    try:
        torch.jit.script(getattr(scripted, f"function_{i}"))
    except Exception as error:
        failed[path] = str(error)[-300:]
print(json.dumps([list(replaced), failed]))
"""


def test_each_replaced_builtin_compiles_in_a_scripted_function(musa: Interpreter) -> None:
    replaced, failed = musa.json(SCRIPT_EACH, forked=True)
    assert "torch.is_autocast_enabled" in replaced
    assert ("torch.zeros" in replaced) == (musa.env.get("TORCHADA_NATIVE") == "0")
    assert failed == {}


AUTOCAST = """
import torch
a, b = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2)

@torch.jit.script
def named(a, b, on: bool):
    with torch.autocast("PLACE", dtype=torch.bfloat16):
        product = torch.mm(a, b)
    return product, torch.mm(a, b)

@torch.jit.script
def product(a, b):
    with torch.autocast("PLACE", dtype=torch.bfloat16):
        return torch.mm(a, b)

@torch.jit.script
def disabled(a, b):
    with torch.autocast("PLACE", enabled=False):
        return torch.mm(a, b)

@torch.jit.script
def of_default_type(a, b):
    with torch.autocast("PLACE"):
        return torch.mm(a, b)

@torch.jit.script
def widened(a, b):
    with torch.autocast("PLACE", dtype=torch.bfloat16):
        return torch.softmax(torch.mm(a, b), 0)

@torch.jit.script
def asked(a):
    if torch.is_autocast_enabled():
        return a + 1
    return a
"""
CASES = """
a, b = a.detach().to("PLACE").requires_grad_(), b.to("PLACE")
for _ in range(3):  # interpreted, profiled, optimized
    inside, outside = named(a, b, True)
    assert (inside.dtype, outside.dtype) == (torch.bfloat16, torch.float32), (inside.dtype, outside.dtype)
    assert inside.tolist() == [[2, 2], [2, 2]]
inside.float().sum().backward()
assert a.grad.tolist() == [[2, 2], [2, 2]] and a.grad.dtype == torch.float32
assert disabled(a, b).dtype == torch.float32
assert of_default_type(a, b).dtype == torch.get_autocast_dtype("PLACE")
assert widened(a, b).dtype == (torch.bfloat16 if "PLACE" == "cpu" else torch.float32)  # the CPU has no rule for softmax
assert asked(b).tolist() == b.tolist()
with torch.inference_mode():
    assert product(b, b).dtype == torch.bfloat16
"""


@pytest.mark.full
@pytest.mark.parametrize("place", ["cpu", "cuda"])
def test_autocast_in_a_scripted_function(place: str, musa: Interpreter, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text((AUTOCAST + CASES).replace("PLACE", place))
    musa.run(["-W", "ignore", str(path)])


@pytest.mark.full
def test_autocast_of_torch_cuda_amp_in_a_scripted_function(musa: Interpreter, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("""
import torch
from torch.cuda.amp import autocast

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    def forward(self, x):
        with autocast():
            return self.layer(x)

model = torch.jit.script(Model().cuda())
assert model(torch.ones(1, 2, device="cuda")).dtype == torch.float16
model.save("model.pt")
assert torch.jit.load("model.pt")(torch.ones(1, 2, device="cuda")).dtype == torch.float16
""")
    musa.run(["-W", "ignore", str(path)])


PICKLE = """
import json, pickle, torch
named = {f"{owner.__name__}.{name}": value for owner in (torch, torch._C) for name, value in vars(owner).items()}
found = []
for name, value in named.items():
    try:
        found += [name] if callable(value) and pickle.loads(pickle.dumps(value)) is value else []
    except Exception:
        pass
print(json.dumps(found))
"""


@pytest.mark.full
def test_functions_that_pickle_takes_without_torchada_it_takes_with_it(plain: Interpreter, musa: Interpreter) -> None:
    """A data set, a DataLoader's worker or a saved graph may hold one; pickle looks for it by its module and name."""
    stock = set(plain.json(PICKLE, env={"TORCHADA_DISABLE": "1"}, forked=True))
    replaced_in_one_place = {  # by the adapter, and the two that read TorchScript files, which only torch.jit.load calls
        "torch._C._conv_determine_backend_memory_format",
        *(f"torch._C.{name}" for name in ("is_autocast_enabled", "set_autocast_enabled")),
        *(f"{owner}.import_ir_module{end}" for owner in ("torch", "torch._C") for end in ("", "_from_buffer")),
    }
    assert {"torch.is_autocast_enabled", "torch._C._accelerator_emptyCache"} <= stock
    assert stock - set(musa.json(PICKLE, forked=True)) - replaced_in_one_place == set()
