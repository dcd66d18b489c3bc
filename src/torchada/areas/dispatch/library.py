"""torch.library: kernels registered for CUDA serve the backend's device.

Of two kernels for one operator, one for a CUDA key and one for the backend's own key, the latter is used, whichever came first,
because its author meant this device. Kernels that were registered before torchada was active are the backend's, and a program's
kernel replaces them as it replaces CUDA's on CUDA.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING

from torchada.redirect import deferred
from torchada.redirect.calls import disguise, method, positional
from torchada.redirect.context import Context
from torchada.redirect.dispatch_keys import DispatchKeys, with_key
from torchada.redirect.engine import Patch
from torchada.redirect.entry_point import translating
from torchada.redirect.unsupported import error

if TYPE_CHECKING:
    from torch._C import DispatchKey
    from torch._library.custom_ops import CustomOpDef
    from torch._ops import OpOverload
    from torch.library import Library

Function = Callable[..., object]
Decorator = Callable[[Function], object]


def patches(context: Context) -> Iterator[Patch]:
    keys = DispatchKeys(context)
    library, own = context.torch.library, keys.names["CUDA"]
    yield from _dispatcher(context, keys)
    impl = _impl(context, keys, library.Library.impl)
    yield Patch(library.Library, "impl", impl, 'torch.library.Library.impl(..., "CUDA")', to=own)
    yield from _custom_ops(context)
    yield from _autocast(context)


def _dispatcher(context: Context, keys: DispatchKeys) -> Iterator[Patch]:
    """Where torch.library passes a key to C++. Names given to torch.library itself stay CUDA's in its records and errors."""
    c, own = context.torch._C, keys.names["CUDA"]
    create = with_key(c._dispatch_library, keys.registered, 2)
    yield Patch(c, "_dispatch_library", create, 'torch.library.Library(ns, kind, "CUDA")', to=own)
    module = c._DispatchModule
    for name, position in {"impl": 2, "impl_t_t": 2, "def_name_t_t": 2, "impl_with_aoti_compile": 3}.items():
        if name in vars(module):
            call = with_key(getattr(module, name), keys.registered, position, f"_C._DispatchModule.{name}")
            yield Patch(module, name, call, None, to=own, note=f"torch.library.Library for keys of CUDA: {name}")
    fallback = _fallback(context, keys, module.fallback)
    yield Patch(module, "fallback", fallback, 'torch.library.Library.fallback(fn, "CUDA")', to=own)


def _fallback(context: Context, keys: DispatchKeys, original: Function) -> Function:
    """A key has one fallback. CUDA's has none until a program registers one; the backend may have registered one for its key."""
    taken, key_type = context.torch._C._dispatch_has_backend_fallback, context.torch._C.DispatchKey

    def fallback(self: object, dispatch: str | DispatchKey, *args: object, **kwargs: object) -> object:
        key = keys.registered(dispatch)
        if isinstance(key, str):
            deferred.begin(key)
        if key is not dispatch and isinstance(dispatch, str):
            members = key_type.__members__
            if taken(members[key]) and not taken(members[dispatch]):
                raise error(context, f"Library.fallback(fn, {dispatch!r})", f"{key} has the backend's own fallback")
        return original(self, key, *args, **kwargs)

    return disguise(fallback, original, "_C._DispatchModule.fallback")


def _impl(context: Context, keys: DispatchKeys, original: Function) -> Function:
    library, signature = context.torch.library, inspect.signature(original)
    before_us = _registered_before(library)

    def impl(*args: object, **kwargs: object) -> object:
        given = signature.bind(*args, **kwargs).arguments
        key = given.get("dispatch_key") or given["self"].dispatch_key
        place = _place(given["self"], given["op_name"])
        own = f"{place}{keys.names[key]}" if key in keys.names else None
        if own in library._impls and own not in before_us:
            return None  # the backend's own kernel is in place
        with warnings.catch_warnings():
            if key in keys.cuda and f"{place}{keys.cuda[key]}" in library._impls:
                # It replaces the kernel for CUDA, as the module's docstring says, and torch would warn.
                warnings.filterwarnings("ignore", "Warning only once for all operators", UserWarning)
            return original(*args, **kwargs)

    return disguise(impl, original)


def _place(library: Library, op_name: str | OpOverload) -> str:
    """The operator as torch.library._impls writes it, up to the key."""
    name = op_name if isinstance(op_name, str) else getattr(op_name, "_name", "")
    return f"{library.ns}/{name.split('::')[-1]}/"


@cache
def _registered_before(library: ModuleType) -> frozenset[str]:
    return frozenset(library._impls)


def _custom_ops(context: Context) -> Iterator[Patch]:
    definition = context.torch.library.CustomOpDef
    api = 'torch.library.CustomOpDef.register_kernel("cuda")'
    yield Patch(definition, "register_kernel", _register_kernel(context, definition.register_kernel), api)
    enable = _set_kernel_enabled(context, definition.set_kernel_enabled)
    yield Patch(definition, "set_kernel_enabled", enable, 'torch.library.CustomOpDef.set_kernel_enabled("cuda")')


def _autocast(context: Context) -> Iterator[Patch]:
    library, devices = context.torch.library, context.devices
    definition, custom_ops = library.CustomOpDef, context.torch._library.custom_ops
    api = 'torch.library.register_autocast(op, "cuda")'
    if "cuda" in library.register_autocast.__code__.co_consts:
        # Up to torch 2.7 it accepts only the names "cpu" and "cuda", and the key is translated on its way to C++. What remains is
        # the decision which tensors are cast.
        cast = positional(custom_ops._cast, devices, 1, "device_type")
        for module in (custom_ops, library):
            yield Patch(module, "_cast", cast, None, until="torch 2.8", note=api)
        return
    call = translating(library.register_autocast, devices, "device_type", 1)
    yield Patch(library, "register_autocast", call, api)
    register = method(definition.register_autocast, devices, "device_type")
    yield Patch(definition, "register_autocast", register, 'torch.library.CustomOpDef.register_autocast("cuda")')


def _register_kernel(context: Context, original: Callable[..., Decorator]) -> Function:
    """Kernels for "cuda" are also kept under the device type that tensors have, because they are chosen by that."""
    own = context.backend.computes_on or context.backend.device_type

    def register_kernel(
        self: CustomOpDef, device_types: str | Iterable[str] | None, fn: Function | None = None, /
    ) -> object:
        if not (device_types is None or isinstance(device_types, str)):
            device_types = list(device_types)
        types = (device_types,) if isinstance(device_types, str) else device_types or ()
        register = original(self, device_types)

        def inner(fn: Function) -> object:
            kernels = self._backend_fns
            shared = own not in kernels or _is_shared(self, own)
            if shared and own in types:
                kernels.pop(own, None)
            result = register(fn)
            if shared and "cuda" in types and own not in types:
                kernels[own] = kernels["cuda"]
            return result

        return inner if fn is None else inner(fn)

    return disguise(register_kernel, original)


def _set_kernel_enabled(context: Context, original: Function) -> Function:
    own = context.backend.computes_on or context.backend.device_type

    def set_kernel_enabled(self: CustomOpDef, device_type: str, *args: object, **kwargs: object) -> object:
        if device_type in ("cuda", own) and own in self._backend_fns:
            device_type = "cuda" if _is_shared(self, own) else own
        return original(self, device_type, *args, **kwargs)

    return disguise(set_kernel_enabled, original)


def _is_shared(definition: CustomOpDef, own: str) -> bool:
    """Whether the kernel for the backend's device is the one for "cuda"."""
    kernels = definition._backend_fns
    return own in kernels and kernels[own] is kernels.get("cuda")
