"""torch.cuda: what torch.musa has under the same name is written into the real module, and so costs what it costs there.

`is_available` stays as it is unless TORCHADA_FORCE_CUDA_AVAILABLE=1: programs tell the platforms apart by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.namespaces import holders

# Private names that well-known callers use.
_PRIVATE = (
    "_DeviceGuard",
    "_exchange_device",
    "_is_in_bad_fork",
    "_lazy_call",
    "_lazy_init",
    "_maybe_exchange_device",
    "_set_stream_by_id",
    "_sleep",
)
# Public in both, but of different meaning, or an area of their own.
# The last three are Python code over other names of torch.cuda: as they are, they know every argument of the installed torch.
_NOT_ALIASED = frozenset({"is_available", "amp", "nccl", "graph", "make_graphed_callables", "memory_snapshot"})


def patches(context: Context) -> Iterator[Patch]:
    cuda = context.torch.cuda
    replaced = dict(_aliases(context))
    replaced["get_device_properties"] = _get_device_properties(context, cuda.get_device_properties)
    replaced["_get_device_index"] = _get_device_index(context, cuda._get_device_index)
    if context.settings.force_cuda_available:
        replaced["is_available"] = context.namespace.is_available
    originals = {id(vars(cuda)[name]): vars(cuda)[name] for name in replaced}
    by_id = {id(vars(cuda)[name]): own for name, own in replaced.items()}
    for name, own in replaced.items():
        yield Patch(cuda, name, own, f"torch.cuda.{name}")
    # torch.cuda.memory, .random and others hold some of them under names of their own.
    for module, name, original in holders(originals):
        if module is not cuda and not _is_the_backends(context, module):
            yield Patch(module, name, by_id[id(original)], f"{module.__name__}.{name}")
    yield from _submodules(context)


def _aliases(context: Context) -> Iterator[tuple[str, Any]]:
    """Functions and classes that exist under the same name on both sides."""
    cuda, namespace = context.torch.cuda, context.namespace
    for name in (*cuda.__all__, *_PRIVATE):
        own = getattr(namespace, name, None)
        if callable(own) and callable(vars(cuda).get(name)) and name not in _NOT_ALIASED:
            yield name, own


def _submodules(context: Context) -> Iterator[Patch]:
    """What torch.cuda.memory and its like define and torch.cuda does not re-export."""
    for name in ("memory", "random", "streams", "graphs"):
        cuda_module = getattr(context.torch.cuda, name, None)
        own_module = getattr(context.namespace, name, context.namespace)
        for entry in getattr(cuda_module, "__all__", ()):
            own = getattr(own_module, entry, None)
            if callable(own) and entry not in vars(context.torch.cuda):
                yield Patch(cuda_module, entry, own, f"torch.cuda.{name}.{entry}")


def _is_the_backends(context: Context, module: Any) -> bool:
    return str(getattr(module, "__name__", "")).partition(".")[0] == context.backend.adapter


def _get_device_properties(context: Context, original: Callable[..., Any]) -> Callable[..., Any]:
    """torch_musa's has no default for `device`; CUDA's is the current device."""
    namespace = context.namespace

    def get_device_properties(device: Any = None) -> Any:
        return namespace.get_device_properties(namespace.current_device() if device is None else device)

    return disguise(get_device_properties, original)


def _get_device_index(context: Context, original: Callable[..., Any]) -> Callable[..., Any]:
    """torch.cuda's, for devices of the backend: an int, a string or a device, and None for the current one if `optional`."""
    torch, namespace, device_type = context.torch, context.namespace, context.backend.device_type

    def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
        if isinstance(device, int):
            return device
        if isinstance(device, str):
            device = torch.device(device)
        if isinstance(device, torch.device):
            if device.type not in (device_type, "cpu") or (device.type == "cpu" and not allow_cpu):
                raise ValueError(f"Expected a cuda{' or cpu' if allow_cpu else ''} device, but got: {device}")
            if device.type == "cpu":
                return -1
            if device.index is not None:
                return int(device.index)
        if device is not None and not isinstance(device, torch.device):
            raise ValueError(f"Expected a torch.device, a string, an int or None, but got: {device!r}")
        if not optional:
            raise ValueError(f"Expected a torch.device with a specified index or an integer, but got: {device}")
        return int(namespace.current_device())

    return disguise(_get_device_index, original)
