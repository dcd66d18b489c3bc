"""Names that torchada 0.1 gave to torch.cuda: the backend's own ones, beside CUDA's."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from torchada._warnings import warn
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


def _with_own_keyword(keyword: str, original: Callable[..., None]) -> Callable[..., None]:
    """torch.cuda.graph, whose graph may also be given by the name that the backend's own context manager has for it."""

    def __init__(self: object, *args: object, **kwargs: object) -> None:
        if keyword in kwargs:
            warn(f"torch.cuda.graph({keyword}=) is of torchada 0.1; use cuda_graph=", DeprecationWarning)
            kwargs["cuda_graph"] = kwargs.pop(keyword)
        original(self, *args, **kwargs)

    return disguise(__init__, original)
