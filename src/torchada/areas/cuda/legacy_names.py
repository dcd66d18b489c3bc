"""Names that torchada 0.1 gave to torch.cuda: the backend's own ones, beside CUDA's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import signature

from torchada.base.warnings import warn
from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

_NOTE = "a name of torchada 0.1"


def patches(context: Context) -> Iterator[Patch]:
    cuda, own = context.torch.cuda, context.backend.names.own
    graph = getattr(context.namespace, own("CUDAGraph"), None)
    if graph is not None and not hasattr(cuda, own("CUDAGraph")):
        yield Patch(cuda, own("CUDAGraph"), graph, None, note=_NOTE)
    if own("nccl") != "nccl" and not hasattr(cuda, own("nccl")):
        module = getattr(context.namespace, own("nccl"), cuda.nccl)
        yield Patch(cuda, own("nccl"), module, None, note=_NOTE)
    if graph is not None:
        init = _with_own_keyword(f"{context.backend.device_type}_graph", vars(cuda.graph)["__init__"])
        yield Patch(cuda.graph, "__init__", init, None, note=_NOTE)
    yield from _own_context_manager(context)


def _own_context_manager(context: Context) -> Iterator[Patch]:
    """torch.musa.graph takes the graph by CUDA's name for it: in 0.1 it was torch.cuda.graph as well, and SGLang calls it so."""
    own, keyword = getattr(context.namespace, "graph", None), f"{context.backend.device_type}_graph"
    init = vars(own).get("__init__") if isinstance(own, type) else None
    if init is not None and "cuda_graph" not in signature(init).parameters:
        note = f"torch.{context.backend.namespace}.graph(cuda_graph=)"
        yield Patch(own, "__init__", _with_cudas_keyword(keyword, init), None, to=f"{keyword}=", note=note)


def _with_cudas_keyword(keyword: str, original: Callable[..., None]) -> Callable[..., None]:
    def __init__(self: object, *args: object, **kwargs: object) -> None:
        if "cuda_graph" in kwargs:
            kwargs[keyword] = kwargs.pop("cuda_graph")
        original(self, *args, **kwargs)

    return disguise(__init__, original)


def _with_own_keyword(keyword: str, original: Callable[..., None]) -> Callable[..., None]:
    """torch.cuda.graph, whose graph may also be given by the name that the backend's own context manager has for it."""

    def __init__(self: object, *args: object, **kwargs: object) -> None:
        if keyword in kwargs:
            warn(f"torch.cuda.graph({keyword}=) is of torchada 0.1; use cuda_graph=", DeprecationWarning)
            kwargs["cuda_graph"] = kwargs.pop(keyword)
        original(self, *args, **kwargs)

    return disguise(__init__, original)
