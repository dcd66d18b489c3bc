"""Automatic mixed precision: autocast, GradScaler, custom_fwd / custom_bwd, and the questions about autocast's state.

torch.autocast, torch.amp.autocast and torch.cuda.amp.autocast are one class and its subclass under several names, so what
changes is the class's __init__, and every name sees it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.calls import disguise, method
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.entry_point import translating

_STATE = (
    "is_autocast_enabled",
    "set_autocast_enabled",
    "get_autocast_dtype",
    "set_autocast_dtype",
    "_is_autocast_available",
)


def patches(context: Context) -> Iterator[Patch]:
    torch, devices = context.torch, context.devices
    mode, scaler = torch.amp.autocast_mode, torch.amp.GradScaler
    yield Patch(mode.autocast, "__init__", _init(context, mode.autocast.__init__), 'torch.autocast("cuda")')
    yield Patch(scaler, "__init__", _scaler_init(context, scaler.__init__), 'torch.amp.GradScaler("cuda")')
    for name in ("custom_fwd", "custom_bwd"):
        call = translating(getattr(mode, name), devices, "device_type", 1)
        for owner in (mode, torch.amp):
            yield Patch(owner, name, call, f'torch.amp.{name}(device_type="cuda")')
    made: dict[int, Callable[..., Any]] = {}
    for owner in (torch._C, torch):
        yield from _state(context, owner, made)
    yield from _availability(context)


def _availability(context: Context) -> Iterator[Patch]:
    """Scalers outside torch switch themselves off by it. torch's asks is_available(), which stays honest, and looks for XLA."""
    amp, name = context.torch.cuda.amp, "amp_definitely_not_available"
    own = getattr(context.namespace, name, None)
    for owner in (amp, amp.common):
        if own is not None and name in vars(owner):
            to = f"torch.{context.backend.namespace}.{name}"
            yield Patch(owner, name, own, f"{owner.__name__}.{name}", kind="same", to=to)


def _state(context: Context, owner: Any, made: dict[int, Callable[..., Any]]) -> Iterator[Patch]:
    """The functions of `owner`. One function in torch and torch._C stays one (`made`): torch.compile knows it by its place."""
    # Each of them parses a device string.
    for name in () if context.mechanism.native else _STATE:
        if name in vars(owner):
            original = getattr(owner, name)
            call = made.setdefault(id(original), _by_device_type(original, context, sets=name.startswith("set_")))
            yield Patch(owner, name, call, f'torch.{name}("cuda")')
    yield from _gpu_dtype(context, owner, made)


def _gpu_dtype(context: Context, owner: Any, made: dict[int, Callable[..., Any]]) -> Iterator[Patch]:
    """The older names, which mean CUDA's autocast by their names alone."""
    torch, device_type = context.torch, context.backend.device_type

    def get_autocast_gpu_dtype() -> Any:
        return torch.get_autocast_dtype(device_type)

    def set_autocast_gpu_dtype(dtype: Any) -> None:
        torch.set_autocast_dtype(device_type, dtype)

    for call in (get_autocast_gpu_dtype, set_autocast_gpu_dtype):
        original = vars(owner).get(call.__name__)
        if original is not None:
            call = made.setdefault(id(original), disguise(call, original))
            yield Patch(owner, call.__name__, call, f"torch.{call.__name__}")


def _init(context: Context, original: Callable[..., Any]) -> Callable[..., Any]:
    """autocast's, which a training step runs in every iteration: parameters that have names need no unpacking."""
    if [*inspect.signature(original).parameters] != ["self", "device_type", "dtype", "enabled", "cache_enabled"]:
        return method(original, context.devices, "device_type")
    get = context.devices.get

    def __init__(
        self: Any, device_type: Any, dtype: Any = None, enabled: Any = True, cache_enabled: Any = None
    ) -> None:
        if isinstance(device_type, str):
            device_type = get(device_type, device_type)
        original(self, device_type, dtype, enabled, cache_enabled)

    return disguise(__init__, original)


def _by_device_type(original: Callable[..., Any], context: Context, *, sets: bool) -> Callable[..., Any]:
    """`original`, with a device type as its first argument; entering and leaving autocast makes seven such calls.

    autocast asks with the very string that its __init__ was given, and the value in its place: such a call costs no more than a
    frame; what has to be packed or looked up costs more. A setter's value has one of two names.
    """
    get, unset = context.devices.get, object()
    own = get("cuda")

    def ask(device_type: Any = None) -> Any:
        if device_type is own:
            return original(own)
        return original() if device_type is None else original(get(device_type, device_type))

    def put(device_type: Any = unset, value: Any = unset, enabled: Any = unset, dtype: Any = unset) -> Any:
        if device_type is own and enabled is dtype and value is not unset:
            return original(own, value)
        places = (get(device_type, device_type), value)
        names = {"enabled": enabled, "dtype": dtype}
        return original(
            *(each for each in places if each is not unset),
            **{name: each for name, each in names.items() if each is not unset},
        )

    return disguise(put if sets else ask, original)


def _scaler_init(context: Context, original: Callable[..., Any]) -> Callable[..., Any]:
    # The default of `device` is "cuda".
    translate = context.devices.translate

    def __init__(self: Any, device: Any = "cuda", *args: Any, **kwargs: Any) -> None:
        original(self, translate(device), *args, **kwargs)

    return disguise(__init__, original)
