"""CUDA graph trees (`mode="reduce-overhead"`, `backend="cudagraphs"`), if the backend has its own module for them."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

if TYPE_CHECKING:
    import torch
    from torch.fx import GraphModule, Node

    from torchada.redirect.types import P, R

    Nodes = dict[torch.device, Node]

Stash = Callable[[str, object], None]

# Functions of torch's module of trees, with the API that a program calls.
_API = {"mark_step_begin": "torch.compiler.cudagraph_mark_step_begin"}
# Functions in which Inductor uses the trees for a backward; torch 2.7 has only the second.
_BACKWARD = ("maybe_handle_backward_generation", "cudagraph_post_compile")


def steps(context: Context) -> Iterator[Patch]:
    """A step that a program begins must begin in the backend's trees.

    torch.compiler.cudagraph_mark_step_begin(), torch._dynamo.reset() and Inductor's backward call the functions of torch's module.
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
        counterpart = getattr(own, _spelled(name, context.backend.device_type), None)
        if callable(value) and counterpart is not None and getattr(value, "__module__", None) == trees.__name__:
            yield Patch(trees, name, counterpart, _API.get(name), to=f"{own.__name__}.{counterpart.__name__}")


def _trees(context: Context) -> str:
    module = context.backend.graphs.trees
    if module is None:
        raise Skip(f"{context.backend.adapter} has no graph trees of its own")
    return module


def _counterpart(context: Context) -> ModuleType:
    module = _trees(context)
    try:
        return import_module(module)
    except ImportError as missing:
        raise Skip(f"this {context.backend.adapter} has no graph trees: {missing}") from missing


def _stash(context: Context, trees: ModuleType) -> None:
    """Give autograd's threads the trees of the module in use; torch's module puts its own there when it is imported."""
    for name in ("tree_manager_containers", "tree_manager_locks"):
        if hasattr(trees.local, name):
            context.torch._C._stash_obj_in_tls(name, getattr(trees.local, name))


def _spelled(name: str, device_type: str) -> str:
    return name.replace("cuda", device_type).replace("CUDA", device_type.upper())


def dynamos_backend(context: Context) -> Iterator[Patch]:
    """Dynamo's backend "cudagraphs" captures what is on one device, which has to be CUDA's."""
    import torch._dynamo.backends.cudagraphs as cudagraphs

    _trees(context)
    own = context.backend.device_type
    index = _index(own, cudagraphs.get_device_index, cudagraphs.get_device_node_mapping)
    note = 'torch.compile(backend="cudagraphs")'
    yield Patch(cudagraphs, "get_device_index", index, None, note=note)
    name = "check_multiple_devices_or_any_cpu_nodes"
    check = _accept(own, getattr(cudagraphs, name))
    yield Patch(cudagraphs, name, check, None, note=note)


def _index(
    own: str, original: Callable[[GraphModule], int], nodes: Callable[[GraphModule], Nodes]
) -> Callable[[GraphModule], int]:
    def get_device_index(gm: GraphModule) -> int:
        device = next(iter(nodes(gm)))
        return int(device.index) if device.type == own else original(gm)

    return disguise(get_device_index, original)


def _accept(own: str, original: Callable[[Nodes], str | None]) -> Callable[[Nodes], str | None]:
    def check_multiple_devices_or_any_cpu_nodes(device_node_mapping: Nodes) -> str | None:
        reason = original(device_node_mapping)  # which takes out the devices that do not matter
        return None if [device.type for device in device_node_mapping] == [own] else reason

    return disguise(check_multiple_devices_or_any_cpu_nodes, original)


def backward(context: Context) -> Iterator[Patch]:
    """A backward that runs outside the graph trees of its forward assumes that they are imported, as they are by then on CUDA."""
    import torch._inductor.output_code as output_code

    name = next(name for name in _BACKWARD if hasattr(output_code, name))
    replacement = _with_graph_trees(getattr(output_code, name))
    yield Patch(output_code, name, replacement, None, note="a backward outside the graph trees of its forward")


def _with_graph_trees(original: Callable[P, R]) -> Callable[P, R]:
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        import torch._inductor.cudagraph_trees  # noqa: F401

        return original(*args, **kwargs)

    return disguise(call, original)


def stash(context: Context) -> Iterator[Patch]:
    """torch 2.7 takes no reference to the objects that Inductor stores for the threads of autograd.

    An object is therefore freed when another one is stored in its place, although the module that stored it still uses it. This
    does no harm with one module of graph trees; the backend's and torch's own use the same places, and the process crashes.
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
        note="objects stored for autograd's threads are kept alive",
    )


def _takes_a_reference(stash: Stash) -> bool:
    probe: list[object] = []
    before = sys.getrefcount(probe)
    stash("torchada", probe)
    taken = sys.getrefcount(probe) > before
    if not taken:
        _take_a_reference(probe)
    return taken


def _with_a_reference(original: Stash) -> Stash:
    def stash(key: str, value: object) -> None:
        _take_a_reference(value)
        original(key, value)

    return disguise(stash, original)


def _take_a_reference(value: object) -> None:
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))
