"""CUDA graph trees (`mode="reduce-overhead"`), where the backend has a module of its own for them."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

# What a program calls that ends in torch's module of trees.
_API = {"mark_step_begin": "torch.compiler.cudagraph_mark_step_begin"}
# Where Inductor asks for the trees in a backward; torch 2.7 does so within the latter.
_BACKWARD = ("maybe_handle_backward_generation", "cudagraph_post_compile")


def steps(context: Context) -> Iterator[Patch]:
    """The step that a program begins must begin in the backend's trees.

    torch.compiler.cudagraph_mark_step_begin(), torch._dynamo.reset() and Inductor's backward ask torch's module, by its functions.
    """
    import torch._inductor.cudagraph_trees as trees

    own = _counterpart(context)
    if hasattr(own, "local"):
        yield Patch(
            trees,
            "local",
            own.local,
            None,
            note="CUDA graph trees of this thread",
            refresh=partial(_stash, context, trees),
        )
    for name, value in list(vars(trees).items()):
        found = getattr(own, _spelled(name, context.backend.device_type), None)
        if callable(value) and found is not None and getattr(value, "__module__", None) == trees.__name__:
            yield Patch(trees, name, found, _API.get(name), to=f"{own.__name__}.{found.__name__}")


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


def backward(context: Context) -> Iterator[Patch]:
    """A backward that runs beside the graph trees of its forward takes them to be imported, as on CUDA they are by then."""
    import torch._inductor.output_code as output_code

    name = next(name for name in _BACKWARD if hasattr(output_code, name))
    replacement = _with_graph_trees(getattr(output_code, name))
    yield Patch(output_code, name, replacement, None, note="a backward beside the graph trees of its forward")


def _with_graph_trees(original: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        import torch._inductor.cudagraph_trees  # noqa: F401

        return original(*args, **kwargs)

    return disguise(call, original)


def stash(context: Context) -> Iterator[Patch]:
    """torch 2.7 takes no reference to what Inductor leaves for the threads of autograd.

    There an object dies once another one takes its place, though the module that left it still holds it. One module of graph
    trees never notices; the backend's and torch's own, which use the same places, end in a crash.
    """
    stash = context.torch._C._stash_obj_in_tls
    if _takes_a_reference(stash):
        raise Skip("this torch takes a reference to what it is given")
    yield Patch(
        context.torch._C,
        "_stash_obj_in_tls",
        _with_a_reference(stash),
        None,
        until="torch 2.8",
        note="what is left for autograd's threads is held",
    )


def _takes_a_reference(stash: Callable[[str, Any], None]) -> bool:
    probe: list[Any] = []
    before = sys.getrefcount(probe)
    stash("torchada", probe)
    taken = sys.getrefcount(probe) > before
    if not taken:
        _take_a_reference(probe)
    return taken


def _with_a_reference(original: Callable[[str, Any], None]) -> Callable[[str, Any], None]:
    def stash(key: str, value: Any) -> None:
        _take_a_reference(value)
        original(key, value)

    return disguise(stash, original)


def _take_a_reference(value: Any) -> None:
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))
