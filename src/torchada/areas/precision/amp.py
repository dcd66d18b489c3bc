"""Automatic mixed precision: autocast, GradScaler, custom_fwd / custom_bwd, and the functions that read and set autocast's state.

torch.autocast, torch.amp.autocast and torch.cuda.amp.autocast are one class and its subclass under several names. The __init__ of
the class is replaced, and so every name is redirected.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from torchada.redirect.calls import disguise, method
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.entry_point import translating
from torchada.redirect.kept_names import kept_name

if TYPE_CHECKING:
    from torchada.redirect.types import AnyFunction, DeviceLike, DType

_STATE = (
    "is_autocast_enabled",
    "set_autocast_enabled",
    "get_autocast_dtype",
    "set_autocast_dtype",
    "_is_autocast_available",
)
# Those that may be called without a device type.
_OF_ANY_TYPE = frozenset({"is_autocast_enabled", "set_autocast_enabled"})


def patches(context: Context) -> Iterator[Patch]:
    torch, devices = context.torch, context.devices
    mode, scaler = torch.amp.autocast_mode, torch.amp.GradScaler
    yield Patch(mode.autocast, "__init__", _init(context, mode.autocast.__init__), 'torch.autocast("cuda")')
    yield Patch(scaler, "__init__", _scaler_init(context, scaler.__init__), 'torch.amp.GradScaler("cuda")')
    yield Patch(scaler, "_device", kept_name(context, scaler, "_device"), None, note="GradScaler._device by who asks")
    for name in ("custom_fwd", "custom_bwd"):
        call = translating(getattr(mode, name), devices, "device_type", 1)
        for owner in (mode, torch.amp):
            yield Patch(owner, name, call, f'torch.amp.{name}(device_type="cuda")')
    # What custom_fwd casts by; torch.cuda.amp.autocast_mode._cast(x, dtype), which apex calls, gives it "cuda".
    yield Patch(mode, "_cast", _cast(context, mode._cast), 'torch.amp.autocast_mode._cast("cuda")')
    made: dict[int, AnyFunction] = {}
    for owner in (torch._C, torch):
        yield from _state(context, owner, made)
    yield from _availability(context)


def _cast(context: Context, original: AnyFunction) -> AnyFunction:
    table = context.devices.table

    # Not calls.positional: torch.compile of torch 2.9 and 2.11 cannot trace a dictionary's method that is a variable.
    def cast(value: object, device_type: str, dtype: DType) -> object:
        return original(value, table.get(device_type, device_type), dtype)

    return disguise(cast, original)


def _availability(context: Context) -> Iterator[Patch]:
    """Gradient scalers, torch's own too, call it and switch themselves off if it answers True.

    torch's own calls is_available(), which stays honest, and looks for XLA. torch_musa's is False without a device, too.
    """
    amp, name = context.torch.cuda.amp, "amp_definitely_not_available"
    answer = disguise(_has_no_device(context), amp.common.amp_definitely_not_available)
    for owner in (amp, amp.common):
        if name in vars(owner):
            yield Patch(
                owner, name, answer, f"{owner.__name__}.{name}", to=f"torch.{context.backend.namespace}.is_available"
            )


def _has_no_device(context: Context) -> Callable[[], bool]:
    namespace = context.namespace
    is_available = getattr(namespace, "is_available", lambda: namespace.device_count() > 0)

    def amp_definitely_not_available() -> bool:
        return not is_available()

    return amp_definitely_not_available


def _state(context: Context, owner: ModuleType, made: dict[int, AnyFunction]) -> Iterator[Patch]:
    """Patches for the functions of `owner`.

    A function that torch and torch._C share gets one replacement (`made`), because torch.compile knows functions by identity.
    """
    for name in _STATE:
        original = vars(owner).get(name)
        call = None if original is None else _asked(context, name, original)
        if call is not None:
            call = made.setdefault(id(original), call)
            # Not the adapter's names: it replaces two in torch alone, where pickle is to find ours.
            call.__name__ = call.__qualname__ = name
            call.__module__ = owner.__name__
            yield Patch(owner, name, call, f'torch.{name}("cuda")')
    yield from _gpu_dtype(context, owner, made)


def _asked(context: Context, name: str, original: AnyFunction) -> AnyFunction | None:
    """What takes the place of `original`, one of _STATE; None where the native mechanism translates what it is given."""
    call = original
    # An adapter's own function means its device already.
    if name in _OF_ANY_TYPE and isinstance(original, BuiltinFunctionType):
        call = _of_the_device(original, context, sets=name.startswith("set_"))
    if not context.mechanism.native:
        call = _by_device_type(call, context, sets=name.startswith("set_"))
    return None if call is original else call


def _of_the_device(original: AnyFunction, context: Context, *, sets: bool) -> AnyFunction:
    """`original`, which without a device type means CUDA's autocast, as code of PyTorch 2.3 and older writes."""
    own = context.backend.device_type

    def ask(*args: object, **kwargs: object) -> object:
        return original(*args, **kwargs) if args or kwargs else original(own)

    def put(*args: object, **kwargs: object) -> object:
        return original(own, *args, **kwargs) if len(args) + len(kwargs) == 1 else original(*args, **kwargs)

    return disguise(put if sets else ask, original)


def _gpu_dtype(context: Context, owner: ModuleType, made: dict[int, AnyFunction]) -> Iterator[Patch]:
    """The older names, which take no device type and always mean CUDA's autocast."""
    torch, device_type = context.torch, context.backend.device_type

    def get_autocast_gpu_dtype() -> DType:
        dtype: DType = torch.get_autocast_dtype(device_type)
        return dtype

    def set_autocast_gpu_dtype(dtype: DType) -> None:
        torch.set_autocast_dtype(device_type, dtype)

    for call in (get_autocast_gpu_dtype, set_autocast_gpu_dtype):
        original = vars(owner).get(call.__name__)
        if original is not None:
            replacement = made.setdefault(id(original), disguise(call, original))
            yield Patch(owner, call.__name__, replacement, f"torch.{call.__name__}")


def _init(context: Context, original: AnyFunction) -> AnyFunction:
    """The __init__ of autocast. A training step calls it in every iteration, and named parameters spare it the unpacking.

    Afterwards its `device` says what the program wrote: the functions that autocast gives it to translate it.
    """
    if [*inspect.signature(original).parameters] != ["self", "device_type", "dtype", "enabled", "cache_enabled"]:
        return method(original, context.devices, "device_type")
    get, usual = context.devices.get, (None, context.torch.float16, context.torch.bfloat16)

    def __init__(
        self: Any, device_type: object, dtype: object = None, enabled: object = True, cache_enabled: object = None
    ) -> None:
        if isinstance(device_type, str) and (own := get(device_type, device_type)) is not device_type:
            if dtype in usual:
                original(self, own, dtype, enabled, cache_enabled)
            else:  # CUDA takes any; the backend has a list
                original(self, own, None, enabled, cache_enabled)
                self.fast_dtype = dtype
            self.device = device_type
            # The backend's module, which only __init__ reads: contexts can be copied and pickled, as on CUDA.
            vars(self).pop("custom_device_mod", None)
        else:
            original(self, device_type, dtype, enabled, cache_enabled)

    return disguise(__init__, original)


def _by_device_type(original: AnyFunction, context: Context, *, sets: bool) -> AnyFunction:
    """`original`, whose first argument is a device type, with that argument translated.

    Entering and leaving autocast makes seven such calls. They pass the very string object that autocast's __init__ was given, and
    the value by position; for these the fast path costs one Python frame and no packing or look-up. The keyword for a setter's
    value is `enabled` or `dtype`.
    """
    get, unset = context.devices.get, object()
    own = get("cuda")

    def ask(device_type: object = unset) -> object:
        if device_type is own:
            return original(own)
        return original() if device_type is unset else original(get(device_type, device_type))

    def put(
        device_type: object = unset, value: object = unset, enabled: object = unset, dtype: object = unset
    ) -> object:
        if device_type is own and enabled is dtype and value is not unset:
            return original(own, value)
        places = (get(device_type, device_type), value)
        names = {"enabled": enabled, "dtype": dtype}
        return original(
            *(argument for argument in places if argument is not unset),
            **{name: argument for name, argument in names.items() if argument is not unset},
        )

    return disguise(put if sets else ask, original)


def _scaler_init(context: Context, original: AnyFunction) -> AnyFunction:
    # The default of `device` is "cuda". Without a device it stays so, and torch warns and switches the scaler off.
    translate, has_no_device = context.devices.translate, _has_no_device(context)

    def __init__(self: object, device: DeviceLike = "cuda", *args: object, **kwargs: object) -> None:
        is_left = device == "cuda" and has_no_device()
        original(self, device if is_left else translate(device), *args, **kwargs)

    return disguise(__init__, original)
