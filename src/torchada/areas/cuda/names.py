"""torch.cuda: the objects that torch.musa has under the same names are put into the module itself, so calls cost the same there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING

from torchada.areas.cuda._device_count import device_count
from torchada.redirect.calls import disguise, plain, unwrappable
from torchada.redirect.context import Context
from torchada.redirect.engine import Kind, Patch
from torchada.redirect.namespaces import holders

if TYPE_CHECKING:
    from torchada.redirect.types import AnyFunction

# Private names that well-known callers use.
_PRIVATE = (
    "_is_in_bad_fork",
    "_lazy_call",
    "_lazy_init",
    "_maybe_exchange_device",
    "_set_stream_by_id",
    "_sleep",
)
# Public in both, but with different meanings, or handled by areas of their own, as the classes of tensors and storages are.
_OWN_AREA = frozenset({"is_available", "amp", "nccl", "cudart", "get_device_properties", "check_error"})
# Python code of torch over other names of torch.cuda. Unchanged, they accept every argument of the installed torch. `device` and
# `device_of` do nothing for -1, as documented, which those of torch_musa 2.7.1 do not support, and its old names for the reset of
# the peaks raise NameError; the warnings of all old names say what torch.cuda has instead.
_AS_THEY_ARE = frozenset(
    {
        "caching_allocator_enable",
        "device",
        "device_of",
        "graph",
        "make_graphed_callables",
        "max_memory_cached",
        "memory_cached",
        "memory_snapshot",
        "reset_max_memory_allocated",
        "reset_max_memory_cached",
    }
)


def patches(context: Context) -> Iterator[Patch]:
    cuda = context.torch.cuda
    replaced = dict(_aliases(context))
    adapted: dict[str, AnyFunction] = {
        "_get_device_index": _get_device_index(context, cuda._get_device_index),
        "device_count": device_count(context),
    }
    if "ipc_collect" in replaced:
        adapted["ipc_collect"] = _ipc_collect(replaced["ipc_collect"], cuda.ipc_collect)
    if hasattr(context.namespace, "_maybe_exchange_device"):
        adapted["_exchange_device"] = _exchange_device(context, cuda._exchange_device)
    yield from _everywhere(context, {**replaced, **adapted}, frozenset(replaced.keys() - adapted.keys()))
    yield from _submodules(context)


def _everywhere(context: Context, replaced: dict[str, AnyFunction], same: frozenset[str]) -> Iterator[Patch]:
    """Patches of torch.cuda, and of the modules (torch.cuda.memory, .random) that hold the same objects under their own names."""
    cuda, space = context.torch.cuda, f"torch.{context.backend.namespace}"
    name_of = {id(vars(cuda)[name]): name for name in replaced}
    # torch.cuda first, because a report calls a function by its first name.
    places = sorted(holders(vars(cuda)[name] for name in replaced), key=lambda holder: holder[0] is not cuda)
    for module, name, original in places:
        if _is_the_backends(context, module):
            continue
        cuda_name = name_of[id(original)]
        kind: Kind = "same" if cuda_name in same else "adapted"
        to = f"{space}.{cuda_name}" if kind == "same" else ""
        yield Patch(module, name, replaced[cuda_name], f"{module.__name__}.{name}", kind=kind, to=to)


def _aliases(context: Context) -> Iterator[tuple[str, AnyFunction]]:
    """Functions and classes that exist on both sides, under the same name or, as functions, under the backend's own."""
    cuda, renames = context.torch.cuda, context.backend.names.renames
    for name in (*cuda.__all__, *_PRIVATE):
        own = getattr(context.namespace, renames.get(name, name), None)
        if (
            name in _OWN_AREA | _AS_THEY_ARE
            or name.endswith(("Tensor", "Storage"))
            or not callable(own)
            or not callable(vars(cuda).get(name))
        ):
            continue
        if _is_torchs(context) and isinstance(own, FunctionType):
            # Dynamo knows the functions of PyTorch's own devices by identity, and has other rules for some than for torch.cuda's.
            yield name, unwrappable(disguise(plain(own), vars(cuda)[name]), own)
        elif name not in renames or isinstance(own, FunctionType):
            yield name, own


def _is_torchs(context: Context) -> bool:
    """Whether the namespace is a part of PyTorch: torch.xpu, torch.mps."""
    return context.backend.adapter.startswith("torch.")


def _submodules(context: Context) -> Iterator[Patch]:
    """What torch.cuda.memory and other submodules define and torch.cuda does not re-export."""
    for name in ("memory", "random", "streams", "graphs"):
        cuda_module = getattr(context.torch.cuda, name, None)
        own_module = getattr(context.namespace, name, context.namespace)
        for entry in getattr(cuda_module, "__all__", ()):
            own = getattr(own_module, entry, None)
            if callable(own) and entry not in vars(context.torch.cuda):
                to = f"torch.{context.backend.namespace}.{entry}"
                yield Patch(cuda_module, entry, own, f"torch.cuda.{name}.{entry}", kind="same", to=to)


def _is_the_backends(context: Context, module: ModuleType) -> bool:
    return str(getattr(module, "__name__", "")).partition(".")[0] == context.backend.adapter


def _ipc_collect(own: AnyFunction, original: AnyFunction) -> AnyFunction:
    """Without a result, as CUDA's; torch_musa's says whether there was anything to free."""

    def ipc_collect() -> None:
        own()

    return disguise(ipc_collect, original)


def _exchange_device(context: Context, original: Callable[[int], int]) -> Callable[[int], int]:
    """A negative index changes nothing. A new function, because dynamo distinguishes the two of torch.cuda by identity."""
    exchange = context.namespace._maybe_exchange_device

    def _exchange_device(device: int) -> int:
        return exchange(device)

    return disguise(_exchange_device, original)


def _get_device_index(context: Context, original: Callable[..., int]) -> Callable[..., int]:
    """torch.cuda's function for devices of the backend: an int, a string or a device, or, if `optional`, anything else for the
    current one: CUDA takes numpy's numbers for that, too.
    """
    torch, namespace, device_type = context.torch, context.namespace, context.backend.device_type

    def _get_device_index(device: object, optional: bool = False, allow_cpu: bool = False) -> int:
        if isinstance(device, int):
            return device
        if isinstance(device, str):
            device = torch.device(device)
        if isinstance(device, torch.cuda.device):
            return int(device.idx)
        if isinstance(device, torch.device):
            if device.type not in (device_type, "cpu") or (device.type == "cpu" and not allow_cpu):
                raise ValueError(f"Expected a cuda{' or cpu' if allow_cpu else ''} device, but got: {device}")
            if device.type == "cpu":
                return -1
            if device.index is not None:
                return int(device.index)
        if not optional:
            given = str(device).replace(device_type, "cuda")
            raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{given}")
        return int(namespace.current_device())

    return disguise(_get_device_index, original)
