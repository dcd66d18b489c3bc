"""CUDA graphs: torch.cuda.CUDAGraph is the backend's graph class, to which the missing methods are added.

`torch.cuda.graph` and `make_graphed_callables` stay torch's own. They are Python code over torch.cuda, so they work with every
argument of the installed torch.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from torchada.areas.cuda._graph_class import (
    Construction,
    Dumps,
    Executables,
    InputCheck,
    capture_methods,
    rotation_methods,
)
from torchada.areas.cuda._graph_handles import Driver
from torchada.areas.cuda._graph_limit import executables_to_keep
from torchada.areas.cuda._graph_rotation import Rotation
from torchada.areas.cuda._graph_trial import Trial
from torchada.areas.cuda._native_names import native_module
from torchada.areas.cuda._signatures import Method, takes
from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.library_names import NativeLibraries
from torchada.redirect.unsupported import unsupported

if TYPE_CHECKING:
    from torchada.areas.cuda._graph_pools import Pools
    from torchada.areas.cuda._graph_types import Graph

# Programs create a graph through __new__; the __init__ that newer versions of torch call is not an API of its own.
_API = {"__new__": "torch.cuda.CUDAGraph", "__init__": None}
_RAW = ("raw_cuda_graph", "raw_cuda_graph_exec", "get_graph_data")
_NO_HANDLES = "its graphs are not CUDA's, and it has no handles for them; replay() runs them"


def patches(context: Context) -> Iterator[Patch]:
    graph: Any = getattr(context.namespace, context.backend.names.own("CUDAGraph"), None)
    if graph is None:
        raise Skip(f"{context.backend.adapter} has no graphs")
    yield from _names(context, graph)
    rotation = _rotation(context, graph)
    rotating = rotation_methods(graph, rotation, context.backend.device_type) if rotation is not None else {}
    for name, method in rotating.items():
        yield _method(graph, name, method)
    if not takes(graph.__new__, "keep_graph"):
        again: Method = rotating.get("reinstantiate_graph") or graph.reinstantiate_graph
        for name, entry in Construction(graph, again).methods().items():
            yield Patch(graph, name, entry, _API.get(name, f"torch.cuda.CUDAGraph.{name}"))
    yield from _captures(context, graph, rotation, rotating.get("replay", graph.replay))
    for name in _RAW:
        yield _raw(context, graph, name, rotating)


def _names(context: Context, graph: type) -> Iterator[Patch]:
    torch, namespace = context.torch, context.namespace
    to = f"{graph.__module__}.{graph.__qualname__}"
    for owner, name in ((torch.cuda, "torch.cuda"), (torch.cuda.graphs, "torch.cuda.graphs")):
        yield Patch(owner, "CUDAGraph", graph, f"{name}.CUDAGraph", to=to)
    for owner in (torch._C, torch.cuda.graphs):
        yield Patch(owner, "_graph_pool_handle", namespace.graph_pool_handle, "torch.cuda.graph_pool_handle")
    # Names that torch.cuda.graphs imports from torch._C, or defines itself if torch._C lacks them.
    graphs, asked = torch.cuda.graphs, namespace.is_current_stream_capturing
    yield Patch(graphs, "_CUDAGraph", graph.__base__, None, note="the base class of torch.cuda.CUDAGraph")
    yield Patch(graphs, "_cuda_isCurrentStreamCapturing", asked, "torch.cuda.is_current_stream_capturing")
    own = getattr(native_module(context), "_host_emptyCache", None)
    yield Patch(
        torch._C,
        "_host_emptyCache",
        own or _host_empty_cache,
        None,
        note="releasing pinned memory before a capture",
        kind="same" if own else "emulated",
    )


def _host_empty_cache() -> None:
    """torch.cuda.graph calls it before a capture. Pinned memory stays cached, because the adapter has no call to release it."""


def _rotation(context: Context, graph: Any) -> Rotation | None:
    """None where executables are not given up: the adapter is not known to allow it, or the user does not want it."""
    if not context.backend.graphs.holds_handles or not context.settings.graph_rotation:
        return None
    trial = Trial(context.torch, context.namespace, context.backend.device_type, graph)
    return Rotation(partial(_driver, context), partial(executables_to_keep, context), trial, context.torch.cuda.device)


def _driver(context: Context) -> Driver:
    libraries = NativeLibraries(context.backend)
    runtime = libraries.called("cudart")
    file = next(libraries.loaded(runtime), None) if runtime is not None else None
    if file is None:
        raise OSError("the runtime's library is not loaded")
    return Driver(ctypes.CDLL(file), lambda name: libraries.symbols(name)[0])


def _pools(context: Context, graph: Any) -> Pools | None:
    """None where graphs give their pools back themselves, as those of torch_musa do that take `keep_graph`."""
    if not context.backend.graphs.keep_pools or takes(graph.__new__, "keep_graph"):
        return None
    from torchada.areas.cuda._graph_pools import pools_for

    return pools_for(context, graph)


def _captures(context: Context, graph: type[Graph], rotation: Rotation | None, replay: Method) -> Iterator[Patch]:
    parts = SimpleNamespace(
        dumps=Dumps(context.settings.graph_dumps),
        executables=Executables(context.backend.graphs.executables),
        rotation=rotation,
        pools=_pools(context, graph),
        device=context.namespace.current_device,
    )
    inputs = InputCheck(context.torch, replay)
    native = takes(graph.capture_begin, "check_input_liveness")
    for name, method in capture_methods(graph, native, inputs, parts).items():
        yield _method(graph, name, method)


def _method(graph: type, name: str, method: Method) -> Patch:
    call = disguise(method, getattr(graph, name), f"{graph.__qualname__}.{name}")
    call.__module__ = graph.__module__
    is_own = name == "reinstantiate_graph" or name.startswith("raw_")  # a name that CUDA's class does not have
    api = None if is_own else f"torch.cuda.CUDAGraph.{name}"
    return Patch(graph, name, call, api, to=f"{graph.__qualname__}.{name}")


def _raw(context: Context, graph: type, name: str, rotating: dict[str, Method]) -> Patch:
    own_name = name.replace("cuda", context.backend.device_type)
    own = getattr(graph, own_name, None)
    if own_name in rotating:
        own = _method(graph, own_name, rotating[own_name]).replacement
    api = f"torch.cuda.CUDAGraph.{name}"
    if own is not None:
        return Patch(graph, name, own, api)
    return Patch(graph, name, unsupported(context, api, _NO_HANDLES), api, kind="unsupported")
