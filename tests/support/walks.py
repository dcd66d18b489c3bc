"""`python -m support.walks cuda|cpu`: what PyTorch's tools make of each function that makes a tensor, and of what is replaced.

For each tool and each function, how its outcome differs from that of eager code, as JSON. On "cpu", where nothing is replaced, that
is the control.
"""

from __future__ import annotations

import copy
import json
import pickle
import re
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.fx
from torch.fx.experimental.proxy_tensor import make_fx

Function = Callable[[torch.Tensor], Any]


def functions(device: str) -> Iterator[tuple[str, Function]]:
    """A function of a tensor for each function of torch that takes a device, and one for each method that does."""
    from support.compiled import schemas

    for public, _, text in schemas.calls():
        if public == "torch._assert_tensor_metadata":
            continue  # it makes nothing, and compares a device that has no number with one that has: the CPU cannot show that
        yield public, _function(public, text.replace("'cuda'", repr(device)))
    for method in (
        "to('D')",
        "to(device='D')",
        "new_zeros(2, device='D')",
        "new_tensor([1.0], device='D')",
        "D()",
        "type_as(x)",
    ):
        yield f"x.{method}", _function(method, f"x.{method}".replace("D", device))


def _function(name: str, text: str) -> Function:
    space: dict[str, Any] = {"torch": torch}
    exec(compile(f"def function(x):\n    return {text}\n", f"<{name}>", "exec"), space)
    made: Function = space["function"]
    return made


class _Module(torch.nn.Module):
    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(x)


def _as_number(value: torch.Tensor) -> torch.Tensor:
    """Something that depends on the value's place and type alone, because some values are random or not initialised."""
    return torch.zeros((), device=value.device) * value.dim()


def _traced(function: Function, x: torch.Tensor) -> Any:
    return torch.fx.symbolic_trace(function)(x)


def _traced_and_sent(function: Function, x: torch.Tensor) -> Any:
    return copy.deepcopy(pickle.loads(pickle.dumps(torch.fx.symbolic_trace(_Module(function)))))(x)


def _exported(function: Function, x: torch.Tensor) -> Any:
    return torch.export.export(_Module(function), (x,)).module()(x)


def _each_row(function: Function, x: torch.Tensor) -> Any:
    # Each row asks for the same, so it gets what a whole tensor gets.
    return torch.vmap(lambda row: _as_number(function(row)), randomness="same")(torch.stack([x, x]))[0]


def _gradient(function: Function, x: torch.Tensor) -> Any:
    gradient = torch.func.grad(lambda y: (y * 3).sum() + _as_number(function(y)).real.to(y.dtype))(x)
    assert gradient.tolist() == [3.0] * len(gradient)
    return _as_number(function(x))


def _forward(function: Function, x: torch.Tensor) -> Any:
    value, _ = torch.func.jvp(lambda y: (y * 3).sum() + _as_number(function(y)).real.to(y.dtype), (x,), (x,))
    return _as_number(function(x)) if value.device == x.device else value


TOOLS: dict[str, Callable[[Function, torch.Tensor], Any]] = {
    "torch.fx.symbolic_trace": _traced,
    "a graph of torch.fx that is pickled and copied": _traced_and_sent,
    "make_fx": lambda function, x: make_fx(function)(x)(x),
    "torch.export": _exported,
    "torch.func.functionalize": lambda function, x: torch.func.functionalize(function)(x),
    "torch.vmap": _each_row,
    "torch.func.grad": _gradient,
    "torch.func.jvp": _forward,
}


def _kind(value: Any) -> str:
    if not isinstance(value, torch.Tensor):
        return repr(value)
    return f"{type(value).__name__} {value.device} {value.dtype} {value.layout} {value.dim()}"


def _difference(
    tool: Callable[[Function, torch.Tensor], Any], function: Function, x: torch.Tensor, number: bool
) -> str:
    """Empty where the tool's function answers as the function does, or raises where it does."""
    try:
        expected = _as_number(function(x)) if number else function(x)
    except Exception:
        return ""
    try:
        seen = tool(function, x)
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:300]
    return "" if _kind(seen) == _kind(expected) else f"{_kind(seen)}, and not {_kind(expected)}"


def differences(device: str, names: list[str]) -> dict[str, dict[str, str]]:
    """By tool and by function, where its outcome is another one."""
    x = torch.arange(4.0, device=device)
    found: dict[str, dict[str, str]] = {}
    for tool_name in names:
        tool = TOOLS[tool_name]
        number = tool in (_each_row, _gradient, _forward)
        seen = {name: _difference(tool, function, x, number) for name, function in functions(device)}
        found[tool_name] = {name: text for name, text in seen.items() if text}
    return found


def replaced() -> dict[str, Any]:
    """By its public name, each function of torch that is in the place of a builtin of torch."""
    from torchada.redirect.engine import ENGINE

    first: dict[tuple[types.ModuleType, str], Any] = {}  # what torch itself had there
    for applied in (record for records in ENGINE.applied().values() for record in records):
        if isinstance(applied.patch.owner, types.ModuleType):
            first.setdefault((applied.patch.owner, applied.patch.name), applied.before)
    places = [place for place, before in first.items() if isinstance(before, types.BuiltinFunctionType)]
    # Builds without CUDA, as the backend's are, do not have these, and nobody hands them on.
    of_cuda = re.compile("cuda|nccl|_hash_tensors", re.IGNORECASE)
    places = [place for place in places if not of_cuda.search(first[place].__name__)]
    return {f"{owner.__name__}.{name}": getattr(owner, name) for owner, name in places}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(differences(sys.argv[1], sys.argv[2:] or list(TOOLS))))
