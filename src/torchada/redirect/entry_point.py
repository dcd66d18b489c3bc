"""A wrapt proxy for Python functions of torch that need an argument translated, also under torch.compile.

dynamo looks through `__wrapped__`, so torch.compile silently bypasses a plain FunctionWrapper. This one hands dynamo a function
without `__wrapped__` that does the translation.
"""

from __future__ import annotations

from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any

import wrapt

from torchada.redirect.device_names import DeviceNames


class EntryPoint(wrapt.FunctionWrapper):  # type: ignore[type-arg]
    """A module-level function; `redirected` is the pure-Python function that stands in for it.

    Pickle takes it by reference to `place` ("torch.random:fork_rng"; default: where the original was defined), copies are the
    proxy itself, and signature, source, annotations and attributes are those of the original. Not for methods: dynamo refuses
    `_torchdynamo_inline` there, so these are replaced by the functions of `redirect.calls`.
    """

    def __init__(self, original: Callable[..., Any], redirected: Callable[..., Any], place: str | None = None) -> None:
        super().__init__(original, lambda wrapped, instance, args, kwargs: redirected(*args, **kwargs))
        self._self_redirected = redirected
        self._self_place = place or f"{original.__module__}:{original.__qualname__}"

    @property
    def _torchdynamo_inline(self) -> Callable[..., Any]:
        redirected: Callable[..., Any] = self._self_redirected
        return redirected

    def __reduce_ex__(self, protocol: Any) -> tuple[Callable[[str], Any], tuple[str]]:
        # This call also resolves in a process without torchada.
        return resolve_name, (self._self_place,)

    def __copy__(self) -> EntryPoint:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> EntryPoint:
        return self


def translating(
    original: Callable[..., Any], names: DeviceNames, argument: str, position: int, place: str | None = None
) -> EntryPoint:
    """`original` with one device argument translated, given as keyword `argument` or at `position`."""

    def redirected(*args: Any, **kwargs: Any) -> Any:
        if len(args) > position:
            args = (*args[:position], names.translate(args[position]), *args[position + 1 :])
        elif argument in kwargs:
            kwargs[argument] = names.translate(kwargs[argument])
        return original(*args, **kwargs)

    return EntryPoint(original, redirected, place)
