"""fully_shard on a mesh of the CPU, beside a backend that replaces methods of FSDP2 for its own device.

torch_musa replaces them for every mesh, at the first call of its fully_shard, and its own make streams of the device. What belongs
to another device's mesh is given PyTorch's when it is made, so that it does not matter when the backend replaces them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import MethodType
from typing import TYPE_CHECKING, Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

if TYPE_CHECKING:
    import torch

    Methods = dict[str, Callable[..., Any]]

_OF_STATES = ("_init_shared_state", "_pre_forward", "_root_post_backward_final_callback")
_OF_STREAMS = ("lazy_init",)
_OF_PARAMETERS = ("wait_for_unshard", "post_backward")


def states(context: Context) -> Iterator[Patch]:
    """A wrapped module's state, and the streams that its parts share."""
    from torch.distributed.fsdp._fully_shard._fsdp_param_group import FSDPCommContext
    from torch.distributed.fsdp._fully_shard._fsdp_state import FSDPState as state

    own, of_streams = _torchs(state, _OF_STATES), _torchs(FSDPCommContext, _OF_STREAMS)
    original = state.init

    def init(self: Any, modules: Any, device: torch.device, *args: Any, **kwargs: Any) -> None:
        if device.type != context.backend.device_type:
            _keep(self, own)  # before its hooks are registered
            _keep(self._comm_ctx, of_streams)
        original(self, modules, device, *args, **kwargs)

    yield Patch(state, "init", disguise(init, original), None, note="fully_shard on a mesh of the CPU")


def parameters(context: Context) -> Iterator[Patch]:
    """The parameters that are gathered together."""
    from torch.distributed.fsdp._fully_shard._fsdp_param_group import FSDPParamGroup as group

    own, original = _torchs(group, _OF_PARAMETERS), group.__init__

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if self.device.type != context.backend.device_type:
            _keep(self, own)

    yield Patch(group, "__init__", disguise(__init__, original), None, note="fully_shard on a mesh of the CPU")


def _torchs(owner: type, names: tuple[str, ...]) -> Methods:
    """PyTorch's methods of that class. Skips the area if somebody has replaced one already."""
    methods = {name: vars(owner)[name] for name in names if name in vars(owner)}
    for name, method in methods.items():
        if not getattr(method, "__globals__", {}).get("__name__", "torch.").startswith("torch."):
            raise Skip(f"{owner.__name__}.{name} was replaced before")
    return methods


def _keep(made: Any, methods: Methods) -> None:
    vars(made).update({name: MethodType(method, made) for name, method in methods.items()})
