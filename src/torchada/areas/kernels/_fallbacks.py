"""Fallbacks: what torch calls for every operator that has no kernel of its own for a dispatch key.

The dispatcher hears of them when the program first uses the device, as torch.cuda's `_lazy_call` has it: there is no tensor of such
a key before, and for each fallback it goes through all operators, at its registration and once more at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels import _handles
from torchada.areas.kernels._overloads import overload
from torchada.redirect import deferred
from torchada.redirect.context import Context
from torchada.redirect.dispatch_keys import DispatchKeys
from torchada.redirect.engine import Skip
from torchada.redirect.owners import MISSING

if TYPE_CHECKING:
    from typing import Protocol

    from torch._ops import OpOverload

    class Fallback(Protocol):
        """`composed` names operators of aten for which torch has something for every key, which it would call before a fallback."""

        @property
        def composed(self) -> Callable[[], Collection[str]]: ...

        def __call__(self, operator: OpOverload, *args: Any, **kwargs: Any) -> Any: ...


def free_key(context: Context, of_cuda: str) -> str:
    """The backend's key for one of CUDA's. Skip if a fallback has been registered. Operators that have a kernel there keep it."""
    if context.backend.computes_on is not None:  # the key is the CPU's own, whose kernels a fallback would call
        raise Skip(f"{context.backend.name} has PyTorch's kernels")
    native = context.torch._C
    key = DispatchKeys(context).names.get(of_cuda)
    if key is None:
        raise Skip(f"{context.backend.name} has no dispatch key for {of_cuda}")
    try:
        native._dispatch_has_kernel_for_dispatch_key("aten::mm", key)
    except RuntimeError as unknown:  # torch 2.7 has SparseMPS among its keys, and cannot read the name
        raise Skip(str(unknown)) from None
    if native._dispatch_has_backend_fallback(getattr(native.DispatchKey, key)):
        raise Skip(f"{context.backend.name} has a fallback for {key}")
    return key


def lacks(context: Context, name: str, key: str) -> bool:
    """Whether the backend has no kernel of this operator of aten for `key`: torch_musa 2.9.1 has most of CUDA's."""
    return not context.torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", key)


def composed(context: Context, of_cpu: str, key: str, without: Collection[str] = ()) -> list[str]:
    """The operators that have a kernel for the CPU's key, but for `key` only what torch composes of others for every key."""
    native = context.torch._C
    has, computed = native._dispatch_has_kernel_for_dispatch_key, native._dispatch_has_computed_kernel_for_dispatch_key
    registered = native._dispatch_get_registrations_for_dispatch_key(of_cpu)
    names = (name for name in registered if name.startswith("aten::") and computed(name, key) and not has(name, key))
    return sorted({name.removeprefix("aten::") for name in names} - set(without))


def with_tensors(torch: Any, operator: OpOverload, args: Sequence[Any]) -> list[Any]:
    """`args`, with tensors again where PyTorch has made numbers of them for the call of a Python function."""
    tensors = [value for value in args if isinstance(value, torch.Tensor)]
    return [
        # Of the type that it gives the result beside the others: in single precision, 0.1 would be another number.
        torch.scalar_tensor(value, dtype=torch.result_type(tensors[0] if tensors else value, value))
        if is_number
        else value
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
        self._in_force: dict[str, _Registration] = {}

    def get(self, key: str) -> Any:
        return self._in_force[key].fallback if key in self._in_force else MISSING

    def set(self, key: str, fallback: Fallback) -> None:
        registration = self._in_force[key] = _Registration(self._context.torch, key, fallback)
        if deferred.defer(key, registration.begin):  # the namespace notes where a call comes from, which takes a while
            # A namespace without this is not initialised, so that its device may be in use.
            getattr(self._context.namespace, "_lazy_call", _call)(deferred.begin_all)

    def delete(self, key: str) -> None:
        self._in_force.pop(key).end()


class _Registration:
    """One fallback. It is registered by `begin`, at the first use of the device, which a program may never come to."""

    def __init__(self, torch: Any, key: str, fallback: Fallback) -> None:
        self.fallback = fallback
        self._torch, self._key = torch, key
        self._handles: list[Any] = []

    def begin(self) -> None:
        fallback, for_all, by_name = self.fallback, _handles.handle(self._torch, "_"), _handles.handle(self._torch)
        self._handles = [for_all, by_name]

        def call(operator: OpOverload, *args: Any, **kwargs: Any) -> Any:
            return fallback(operator, *args, **kwargs)

        composed = fallback.composed()
        for_all.fallback(self._key, call, False)
        for name in composed:
            by_name.impl(name, self._key, _bound(fallback, cache(partial(overload, self._torch, name))), False)

    def end(self) -> None:
        deferred.forget(self._key)
        while self._handles:
            self._handles.pop().reset()


def _call(do: Callable[[], None]) -> None:
    do()


def _bound(fallback: Fallback, operator: Callable[[], OpOverload]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return fallback(operator(), *args, **kwargs)

    return call
