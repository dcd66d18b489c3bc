"""A small function that uses something of CUDA, in two spellings: CUDA's, and that of a program for MUSA without torchada."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

Function = Callable[[torch.Tensor], Any]
# Names that do not follow from reading "cuda" as "musa". The first group stays: torch has these names on every platform.
_STAYS = r"import torch\.cuda\.\w+|torch\.backends\.cuda\b|torch\.profiler\.ProfilerActivity\.CUDA"
_RENAMED = {
    "torch.cuda.nccl": "torch.musa.mccl",
    "cudart": "musart",
    "CublasWorkspaces": "MublasWorkspaces",
    "CUDA": "MUSA",
    "cuda": "musa",
    "Cuda": "Musa",
}
_NAMES = re.compile("|".join([f"(?P<stays>{_STAYS})", *map(re.escape, sorted(_RENAMED, key=len, reverse=True))]))


def as_native(text: str) -> str:
    """`text`, a program for CUDA, written for torch_musa."""
    text = re.sub(r"torch\._C\.(?=_?\w*(?:cuda|Cuda|CUDA))", "torch.musa._MUSAC.", text)
    return _NAMES.sub(lambda found: found[0] if found["stays"] else _RENAMED[found[0]], text)


@dataclass(frozen=True)
class Program:
    """`covers` are places of patches. `native` False: torch_musa has nothing of the kind to compare with.

    `volatile`: the answer differs each time, so only its type is compared. `differs`: why compiled code gives another answer than
    eager code, if it does; these reasons are the list of known gaps.
    """

    name: str
    function: Function
    covers: tuple[str, ...] = ()
    native: bool = True
    volatile: bool = False
    differs: str = ""

    def of(self, function: Function) -> Program:
        return replace(self, function=function)


class Programs(list[Program]):
    """A module's programs; `@PROGRAMS.add("torch.Tensor.cuda")` adds one."""

    def add(
        self, *covers: str, native: bool = True, volatile: bool = False, differs: str = ""
    ) -> Callable[[Function], Function]:
        def register(function: Function) -> Function:
            self.append(Program(function.__name__, function, covers, native, volatile, differs))
            return function

        return register


def read(path: Path, spelling: str) -> Programs:
    """The programs of a file, in one spelling."""
    module = _module(f"compiled_{spelling}_{path.stem}")
    exec(compile(_spelled(path.read_text(), spelling), str(path), "exec"), vars(module))
    programs: Programs = module.PROGRAMS
    return programs


def expression(name: str, text: str, spelling: str, covers: tuple[str, ...], **options: Any) -> Program:
    """A program that evaluates `text` between two computations that belong in a graph."""
    source = f"def program(x):\n    y = x + 1\n    answer = {text}\n    return answer, y * 2\n"
    module = _module(f"compiled_{spelling}_" + re.sub(r"\W", "_", name))
    vars(module).update(torch=torch, within=within)
    # A file name of its own: torch.compile counts recompilations by code, which is compared by value.
    exec(compile(_spelled(source, spelling), f"<{name}>", "exec"), vars(module))
    return Program(name, module.program, covers, **options)


def _module(name: str) -> ModuleType:
    """A new module that can be found by its name, because torch.compile may look up where a function comes from."""
    module = sys.modules[name] = ModuleType(name)
    return module


def within(context: Any, answer: Any = None) -> Any:
    """Enter and leave."""
    with context:
        return answer


def _spelled(text: str, spelling: str) -> str:
    return text if spelling == "cuda" else as_native(text)
