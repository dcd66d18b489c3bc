"""Import hooks that evaluate annotations leave torchada in force: our modules pass by them, whenever they come.

A stand-in has the shape of typeguard's hook: a finder in front of all others, whose loader derives from the standard library's and
changes the code. Here it ends the process. The real typeguard and beartype are in test_strangers.py.
"""

from __future__ import annotations

import pytest

from support.interpreter import Interpreter

HOOK = """
import os, sys, types
from importlib.machinery import PathFinder, SourceFileLoader
from types import ModuleType

class Loader(SourceFileLoader):
    def exec_module(self, module):
        if module.__name__ not in MAY_BE_READ:
            print("instrumented:", module.__name__, flush=True)
            os._exit(1)
        super().exec_module(module)

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in ("torchada", "musasim", "_torchada_cache"):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = Loader(name, spec.loader.path)
        return spec

# What has to be imported before the remedy is there.
MAY_BE_READ = ("torchada", "torchada.hooks", "torchada.hooks.uninstrumented")
Loader.__module__ = "typeguard._importhook"
sys.modules["typeguard._importhook"] = ModuleType("typeguard._importhook")
"""
CHECK = """
assert torchada.is_patched()
assert torch.zeros(1, device="cuda").is_cuda
"""


@pytest.mark.musa
@pytest.mark.full
@pytest.mark.once
@pytest.mark.parametrize(
    "program",
    [
        "sys.meta_path.insert(0, Finder()); import torch, torchada",
        "import torchada; sys.meta_path.insert(0, Finder()); torchada.is_patched(); import torch",
        "import torchada; sys.meta_path.insert(0, Finder()); import torch; torchada.disable(); torchada.enable()",
    ],
    ids=["before torchada", "before its first function", "before torch"],
)
def test_a_hook_that_evaluates_annotations_reads_none_of_ours(musa: Interpreter, program: str) -> None:
    musa.run(HOOK + program + CHECK)


def test_modules_of_others_are_left_to_the_hook(plain: Interpreter) -> None:
    plain.run(
        HOOK
        + """
sys.meta_path.insert(0, Finder())
import torchada
from torchada.hooks.uninstrumented import Uninstrumented
finder = sys.meta_path[0]
assert isinstance(finder, Uninstrumented)
assert finder.find_spec("json") is None and finder.find_spec("torch") is None
assert finder.find_spec("torchada.nothing", torchada.__path__) is None
assert type(finder.find_spec("torchada.control", torchada.__path__).loader) is SourceFileLoader
"""
    )


def test_without_such_a_hook_there_is_no_other_finder(plain: Interpreter) -> None:
    plain.run("import sys, torchada; torchada.is_patched(); assert 'torchada.hooks.uninstrumented' not in sys.modules")
