"""Statements that call each public name of torch.cuda repeatedly; `f` is the name itself, and `cuda` is torch.cuda.

SETUP makes beforehand whatever else a call needs. A name without an entry is used as in compatibility/samples.py, which is `f()`
for most. Nothing may grow from call to call: what is entered is left, what is pushed is popped.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

SETUP = """
import importlib
import torch
torch.set_num_threads(1)
torch.musa.set_device(0)
x = torch.zeros(4).to("musa:0")
x1 = x.to("musa:1") if torch.musa.device_count() > 1 else None
long = torch.zeros(8).to("musa:0")
long1 = long.to("musa:1") if x1 is not None else None
indices, values = torch.tensor([[0, 1], [1, 0]]), torch.ones(2)
stream = torch.musa.Stream()
handle = stream.musa_stream
graph = torch.musa.MUSAGraph()
pool = torch.musa.MemPool()
state, states = torch.musa.get_rng_state(), torch.musa.get_rng_state_all()
def function(*args): pass
for submodule in SUBMODULES:
    try:
        importlib.import_module(submodule)
    except ImportError:  # not there under another torchada, which its calls then show
        pass
"""

# By path below torch.cuda; the first pattern that matches counts.
USES: Mapping[str, str] = {
    "sparse.*Tensor": "f(indices, values)",
    "*Tensor": "f(2)",
    "*Storage": "f(2)",
    "*CudaError": "f(1)",
    "*DeferredCudaCallError": "f('')",
    "*ExternalStream": "f(handle)",
    "*StreamContext": "f(stream)",
    "amp.*autocast": "with f(): pass",
    "amp.*GradScaler": "f()",
    "amp.*custom_*": "f(function)",
    "device": "with f(0): pass",
    "device_of": "with f(x): pass",
    "get_device_properties": "f(0)",
    "get_stream_from_external": "f(handle)",
    "*graph": "f(graph)",
    "*MemPoolContext": "f(pool)",
    "*set_device": "f(0)",
    "*set_rng_state": "f(state)",
    "*set_rng_state_all": "f(states)",
    "*set_stream": "f(stream)",
    "set_sync_debug_mode": "f(0)",
    "stream": "with f(stream): pass",
    "*use_mem_pool": "with f(pool): pass",
    "comm.reduce_add": "f([x, x1])",
    "comm.reduce_add_coalesced": "f([[x], [x1]])",
    "comm.gather": "f([x, x1], destination=0)",
    "nccl.all_gather": "f([x, x1], [long, long1])",
    "nccl.all_reduce": "f([x, x1])",
    "nccl.broadcast": "f([x, x1])",
    "nccl.reduce": "f([x, x1])",
    "nccl.reduce_scatter": "f([long, long1], [x, x1])",
    "nvtx.range": "with f('range'): pass",
    "nvtx.range_pop": "cuda.nvtx.range_push('range'); f()",
    "nvtx.range_push": "f('range'); cuda.nvtx.range_pop()",
    "profiler.profile": "with f(): pass",
}

# Patterns of names that are left out, with the reason.
EXCLUDED: Mapping[str, str] = {
    "*make_graphed_callables": "captures graphs, in milliseconds",
    "*empty_cache": "changes what every later allocation costs",
    "*memory_snapshot": "takes as long as there are allocations",
    "*change_current_allocator": "can be done once in a process, and before any allocation",
    "*CUDAPluggableAllocator": "loads a library of the user's",
    "cudaStatus": "two constants",
    "*SMPartition": "a part of a device for GreenContext, which is unsupported",
}

# Reasons why some cost more than in the other process; by pattern again.
_DEPRECATED = "torch's own class: it warns that it is deprecated, each time it is made"
_MADE_ONCE = "torch's own function: it warns that it is deprecated, and is called where a class is defined"
WHY: Mapping[str, str] = {
    "is_available": "the answer depends on who asks; it is given in C since then: see [Benchmarks](benchmarks.md#questions)",
    "amp.*autocast": _DEPRECATED,
    "amp.*GradScaler": _DEPRECATED,
    "amp.*custom_*": _MADE_ONCE,
    "device": "does nothing for a negative index, as documented; torch_musa 2.7.1 hands it to the driver",
    "device_of": "does nothing for what is on no device, as documented; torch_musa 2.7.1 hands it to the driver",
    "*CUDAGraph": "knows `keep_graph`",
    "nvtx.*": "checks its argument and appears in torch's profiles; in 0.1.103 nothing happens",
}

KINDS = ("same", "adapted", "emulated")


@dataclass(frozen=True)
class Use:
    """A name and its statement written for CUDA; `native` are the places where torch_musa may have it, with the statement there."""

    path: str
    kind: str
    cuda: str
    native: tuple[tuple[str, str], ...]


def uses(only: list[str]) -> list[Use]:
    """Every public name of the installed torch that can be called repeatedly, and matches one of `only`, if there are any.

    Raises RuntimeError if the names of this torch are not on record, or there is no statement for one of them.
    """
    import torch
    from scripts.compatibility.names import is_in_private_module, names
    from scripts.compatibility.table import records

    version = torch.__version__.partition("+")[0]
    on_record = records().get(version)
    if on_record is None:
        raise RuntimeError(f"nothing is on record for torch {version}: run python -m scripts.compatibility")
    chosen = []
    for name in names():
        kind = on_record[name.path][0] if name.path in on_record else ""
        wanted = not only or any(fnmatchcase(_short(name), pattern) for pattern in only)
        if name.public and not is_in_private_module(name) and kind in KINDS and wanted:
            chosen += [Use(name.path, kind, *spelled) for spelled in _spellings(name)]
    return chosen


def submodules() -> list[str]:
    """The public submodules of torch.cuda; importing torch does not import them all."""
    from scripts.compatibility.names import modules

    return [module for module in modules() if not any(part.startswith("_") for part in module.split("."))]


def _short(name: Any) -> str:
    """The path below torch.cuda."""
    return str(name.path).partition("torch.cuda.")[2]


def _spellings(name: Any) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
    """The statement written for CUDA and those for MUSA; nothing for a name that is left out or not called."""
    value = getattr(sys.modules[name.module], name.name)
    if callable(value) and not any(fnmatchcase(_short(name), pattern) for pattern in EXCLUDED):
        statement = _statement(name, value)
        native = tuple((_spelled("f", place, True), _spelled(statement, place, True)) for place in _places(name, value))
        yield _spelled(statement, name.path, False), native


def _statement(name: Any, value: Any) -> str:
    from scripts.compatibility.samples import sample_of

    for pattern, statement in USES.items():
        if fnmatchcase(_short(name), pattern):
            return statement
    sample = sample_of(name, value)
    if sample is None:
        raise RuntimeError(f"there is no statement for {name.path}: add it to benchmarks/uses.py")
    return str(sample.expression)


def _places(name: Any, value: Any) -> list[str]:
    """Where to look for `name`. torch.musa has no submodule `random`: what is in torch.cuda, too, may be in torch.musa itself."""
    import torch

    also = [f"torch.cuda.{name.name}"] if vars(torch.cuda).get(name.name) is value else []
    return list(dict.fromkeys([name.path, *also]))


def _spelled(statement: str, path: str, native: bool) -> str:
    """`statement`, with `path` in place of `f`, and written for MUSA if `native`."""
    return ast.unparse(_Spelling(path, native).visit(ast.parse(statement)))


class _Spelling(ast.NodeTransformer):
    def __init__(self, path: str, native: bool) -> None:
        from torchada.backends.musa import MUSA

        self._written_out = {"f": path, "cuda": "torch.cuda"}
        self._renames = {"cuda": MUSA.namespace, **MUSA.names.renames} if native else {}
        self._device_type = MUSA.device_type if native else "cuda"

    def visit_Name(self, node: ast.Name) -> ast.AST:
        path = self._written_out.get(node.id)
        return node if path is None else self._renamed(path)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        whole: ast.expr = self._expression(
            f"{ast.unparse(self.visit(node.value))}.{self._renames.get(node.attr, node.attr)}"
        )
        return whole

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant(node.value.replace("cuda", self._device_type)) if isinstance(node.value, str) else node

    def _renamed(self, path: str) -> ast.expr:
        return self._expression(".".join(self._renames.get(part, part) for part in path.split(".")))

    def _expression(self, text: str) -> ast.expr:
        return ast.parse(text, mode="eval").body
