"""Fallbacks: what torch calls for every operator that has no kernel of its own for a dispatch key."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Protocol

from torchada.areas.kernels._overloads import overload
from torchada.redirect.context import Context
from torchada.redirect.dispatch_keys import DispatchKeys
from torchada.redirect.engine import Skip
from torchada.redirect.owners import MISSING

if TYPE_CHECKING:
    from torch._ops import OpOverload
    from torch.library import Library


class Fallback(Protocol):
    """`composed` names operators of aten for which torch has something for every key, which it would call before a fallback."""

    @property
    def composed(self) -> Collection[str]: ...

    def __call__(self, operator: OpOverload, *args: Any, **kwargs: Any) -> Any: ...


def free_key(context: Context, of_cuda: str, needed: str) -> str:
    """The backend's key for one of CUDA's. Skip if the operator `needed` has a kernel there, or a fallback has been registered."""
    native = context.torch._C
    key = DispatchKeys(context).names.get(of_cuda)
    if key is None:
        raise Skip(f"{context.backend.name} has no dispatch key for {of_cuda}")
    try:
        has_kernel = native._dispatch_has_kernel_for_dispatch_key(f"aten::{needed}", key)
    except RuntimeError as unknown:  # torch 2.7 has SparseMPS among its keys, and cannot read the name
        raise Skip(str(unknown)) from None
    if has_kernel:
        raise Skip(f"{context.backend.name} has kernels for {key}")
    if native._dispatch_has_backend_fallback(getattr(native.DispatchKey, key)):
        raise Skip(f"{context.backend.name} has a fallback for {key}")
    return key


def composed(context: Context, of_cpu: str, key: str, without: Collection[str] = ()) -> list[str]:
    """The operators with a kernel for the CPU's key, and for `key` only what torch composes of others for any key."""
    native = context.torch._C
    has, computed = native._dispatch_has_kernel_for_dispatch_key, native._dispatch_has_computed_kernel_for_dispatch_key
    found = native._dispatch_get_registrations_for_dispatch_key(of_cpu)
    names = (name for name in found if name.startswith("aten::") and computed(name, key) and not has(name, key))
    return sorted({name.removeprefix("aten::") for name in names} - set(without))


def with_tensors(torch: Any, operator: OpOverload, args: Sequence[Any]) -> list[Any]:
    """`args`, with tensors again where PyTorch has made numbers of them for the call of a Python function."""
    return [
        torch.scalar_tensor(value, dtype=torch.result_type(value, value)) if is_number else value
        for value, is_number in zip(args, _numbers(operator, args))
    ]


def holds_numbers(operator: OpOverload, args: Sequence[Any]) -> bool:
    """Whether PyTorch has made a number of a tensor that `operator` takes."""
    return any(_numbers(operator, args))


def _numbers(operator: OpOverload, args: Sequence[Any]) -> list[bool]:
    types = (str(argument.type) for argument in operator._schema.arguments)
    return [kind == "Tensor" and isinstance(value, (bool, int, float, complex)) for kind, value in zip(types, args)]


class Fallbacks:
    """An owner of patches: fallbacks by the dispatch key."""

    __torchada_owner__ = True

    def __init__(self, context: Context) -> None:
        self._context = context
        self._in_force: dict[str, tuple[Fallback, list[Library]]] = {}

    def get(self, key: str) -> Any:
        return self._in_force[key][0] if key in self._in_force else MISSING

    def set(self, key: str, fallback: Fallback) -> None:
        def call(operator: OpOverload, *args: Any, **kwargs: Any) -> Any:
            return fallback(operator, *args, **kwargs)

        make = self._context.torch.library.Library
        for_all, by_name = make("_", "IMPL"), make("aten", "IMPL")
        for_all.fallback(call, key)
        for name in fallback.composed:
            # Not by Library.impl: its checks of a hundred names, and finding the operators, would make `import torch` longer.
            by_name.m.impl(name, key, _bound(fallback, cache(partial(overload, self._context.torch, name))), False)
        self._in_force[key] = fallback, [for_all, by_name]

    def delete(self, key: str) -> None:
        for library in self._in_force.pop(key)[1]:
            library._destroy()  # type: ignore[no-untyped-call]


def _bound(fallback: Fallback, operator: Callable[[], OpOverload]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return fallback(operator(), *args, **kwargs)

    return call
