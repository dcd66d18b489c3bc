"""CUDA graph trees, where the backend has a module of its own for them: the step that a program begins must begin there.

torch.compiler.cudagraph_mark_step_begin(), torch._dynamo.reset() and Inductor's backward ask torch's module, by its functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib import import_module
from typing import Any

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip


def patches(context: Context) -> Iterator[Patch]:
    import torch._inductor.cudagraph_trees as trees

    own = _counterpart(context)
    if hasattr(own, "local"):
        yield Patch(
            trees, "local", own.local, "CUDA graph trees of this thread", refresh=partial(_stash, context, trees)
        )
    for name, value in list(vars(trees).items()):
        found = getattr(own, _spelled(name, context.backend.device_type), None)
        if callable(value) and found is not None and getattr(value, "__module__", None) == trees.__name__:
            yield Patch(
                trees, name, found, f"torch._inductor.cudagraph_trees.{name}", to=f"{own.__name__}.{found.__name__}"
            )


def _counterpart(context: Context) -> Any:
    module = context.backend.graphs.trees
    if module is None:
        raise Skip(f"{context.backend.adapter} has no graph trees of its own")
    try:
        return import_module(module)
    except ImportError as missing:
        raise Skip(f"this {context.backend.adapter} has no graph trees: {missing}") from missing


def _stash(context: Context, trees: Any) -> None:
    """Give autograd's threads the trees of the module in force; torch's puts its own there when it is imported."""
    for name in ("tree_manager_containers", "tree_manager_locks"):
        if hasattr(trees.local, name):
            context.torch._C._stash_obj_in_tls(name, getattr(trees.local, name))


def _spelled(name: str, device_type: str) -> str:
    return name.replace("cuda", device_type).replace("CUDA", device_type.upper())
