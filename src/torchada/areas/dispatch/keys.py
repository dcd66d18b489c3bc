"""Dispatch keys of CUDA in queries, sets, guards and Python kernels: they mean the keys of the backend's device.

Names and members of torch._C.DispatchKey stay what they are, because tables that have an entry for CUDA and one for the backend's
key need both. What a program does with a CUDA key is translated: it looks a kernel up, puts the key into a set, excludes it,
registers a kernel for it. What torch returns are the backend's keys: `highestPriorityTypeId()` is never CUDA.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.dispatch_keys import DispatchKeys, with_key
from torchada.redirect.engine import Patch
from torchada.redirect.namespaces import forget_functions

if TYPE_CHECKING:
    from torch._ops import OperatorBase

Kernel = Callable[..., object]
Decorator = Callable[[Kernel], Kernel]

# Functions of torch._C that take a dispatch key, with its position. Some of them do not exist in every version of torch.
_QUERIES = {
    "_dispatch_has_kernel_for_dispatch_key": 1,
    "_dispatch_has_computed_kernel_for_dispatch_key": 1,
    "_dispatch_get_computed_kernel_for_dispatch_key": 1,
    "_dispatch_kernel_for_dispatch_key_is_fallthrough": 1,
    "_dispatch_get_registrations_for_dispatch_key": 0,
    "_dispatch_print_registrations_for_dispatch_key": 0,
    "_dispatch_has_backend_fallback": 0,
    "_dispatch_get_backend_keyset_from_autograd": 0,
    "_dispatch_keyset_full_after": 0,
    "_dispatch_tls_is_dispatch_key_excluded": 0,
    "_dispatch_tls_is_dispatch_key_included": 0,
    "_dispatch_tls_set_dispatch_key_excluded": 0,
    "_dispatch_tls_set_dispatch_key_included": 0,
}
# Methods that take a key after self. Guards that take a set need no translation: the set has the right keys.
_METHODS = (
    ("DispatchKeySet", "__init__"),
    ("DispatchKeySet", "has"),
    ("DispatchKeySet", "add"),
    ("DispatchKeySet", "remove"),
    ("_IncludeDispatchKeyGuard", "__init__"),
    ("_SetExcludeDispatchKeyGuard", "__init__"),
)


def patches(context: Context) -> Iterator[Patch]:
    keys = DispatchKeys(context)
    c = context.torch._C
    for name, position in _QUERIES.items():
        if name in vars(c):
            call = with_key(getattr(c, name), keys.translate, position)
            yield Patch(c, name, call, f'torch._C.{name}("CUDA")', refresh=forget_functions, to=keys.names["CUDA"])
    for owner, name in _METHODS:
        if name in vars(getattr(c, owner, object)):
            call = with_key(getattr(getattr(c, owner), name), keys.translate, 1, f"_C.{owner}.{name}")
            yield Patch(getattr(c, owner), name, call, f"torch._C.{owner}(DispatchKey.CUDA)", to=keys.names["CUDA"])
    yield from _device_key(context)
    yield from _python_kernels(context, keys)
    yield from _higher_order_operators(context, keys)
    yield from _random_operators(context)


def _device_key(context: Context) -> Iterator[Patch]:
    """The key for "cuda" is called CUDA under both mechanisms, so that a kernel registered by device is known to be CUDA's."""
    c = context.torch._C
    original = c._dispatch_key_for_device

    def _dispatch_key_for_device(device_type: str) -> str:
        return "CUDA" if device_type == "cuda" else str(original(device_type))

    if context.mechanism.native:  # the parser would return the backend's key
        call = disguise(_dispatch_key_for_device, original)
        api = 'torch._C._dispatch_key_for_device("cuda")'
        yield Patch(c, "_dispatch_key_for_device", call, api, refresh=forget_functions)


def _python_kernels(context: Context, keys: DispatchKeys) -> Iterator[Patch]:
    base = context.torch._ops.OperatorBase
    own = keys.names["CUDA"]
    yield Patch(base, "py_impl", _py_impl(keys, base.py_impl), "OpOverload.py_impl(DispatchKey.CUDA)", to=own)
    has_kernel = with_key(base.has_kernel_for_dispatch_key, keys.translate, 1)
    api = "OpOverload.has_kernel_for_dispatch_key(DispatchKey.CUDA)"
    yield Patch(base, "has_kernel_for_dispatch_key", has_kernel, api, to=own)


def _py_impl(keys: DispatchKeys, original: Callable[..., Decorator]) -> Callable[..., Decorator]:
    """A Python kernel for a CUDA key is kept under that key, and serves the backend's key too unless that has its own kernel."""
    to_own = keys.members
    to_cuda = {own: cuda for cuda, own in to_own.items()}

    def py_impl(self: OperatorBase, k: Any) -> Decorator:
        register = original(self, k)
        own = to_own.get(k)
        if own is None and k not in to_cuda:
            return register

        def inner(fn: Kernel) -> Kernel:
            kernels = self.py_kernels
            if own is None and k in kernels and kernels[k] is kernels.get(to_cuda[k]):
                del kernels[k]  # it was CUDA's
            result = register(fn)
            if own is not None and own not in kernels:
                original(self, own)(fn)
            return result

        return inner

    return disguise(py_impl, original)


def _higher_order_operators(context: Context, keys: DispatchKeys) -> Iterator[Patch]:
    """Higher-order operators that torch has already defined: torch.cond and similar ones fall through CUDA's autocast key.

    Without this they find no kernel under torch.autocast. Those that are defined later use the calls redirected above.
    """
    for name, operator in context.torch._ops._higher_order_ops.items():
        kernels, mask = operator.py_kernels, operator.non_fallthrough_keys
        # The names come from our own table: a member of DispatchKey looks its name up among all the others.
        for (cuda, own), (cuda_name, own_name) in zip(keys.members.items(), keys.names.items()):
            if own in kernels:
                continue
            if cuda in kernels:
                note = f"torch.ops.higher_order.{name}: {cuda_name}"
                yield Patch(
                    kernels, own, kernels[cuda], None, note=note, refresh=operator._dispatch_cache.clear, to=own_name
                )
            elif not mask.has(cuda):
                mask = mask.remove(own)
        if mask != operator.non_fallthrough_keys:
            note = f"torch.ops.higher_order.{name} falls through the same keys as on CUDA"
            yield Patch(operator, "non_fallthrough_keys", mask, None, note=note, refresh=operator._dispatch_cache.clear)


def _random_operators(context: Context) -> Iterator[Patch]:
    """Operators that save and restore a generator's state, for checkpointing under torch.compile, choose it by this function."""
    module, torch, device_type = context.torch._prims.rng_prims, context.torch, context.backend.device_type
    original = module.get_device

    def get_device(args: tuple[object, ...], kwargs: dict[str, object]) -> str | None:
        device: str | None = original(args, kwargs)
        if device is None and any(isinstance(arg, torch.Tensor) and arg.device.type == device_type for arg in args):
            device = device_type  # torch 2.7 looks only for the types it knows
        return "cuda" if device == device_type else device

    yield Patch(module, "get_device", disguise(get_device, original), None, note="random operators under torch.compile")
