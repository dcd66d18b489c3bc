"""Loads the compiled modules beside this package, which the fused optimizers call."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from types import ModuleType


def load_ext(name: str, funcs: str | Sequence[str] | None = None) -> ModuleType:
    """The module `torch_musa.<name>`, which must have each of `funcs`."""
    module = importlib.import_module("torch_musa." + name)
    for function in [funcs] if isinstance(funcs, str) else funcs or ():
        assert hasattr(module, function), f"{function} not found in module {name}"
    return module
