"""Kernels that take the place of the backend's own only where a probe on the device finds that one missing or wrong.

They are registered for the key BackendSelect, which the dispatcher asks last before it chooses a device's kernel: below autograd
and autocast, in inference mode too. The backend's own kernel can be called from there, so that nothing is replaced in order to ask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torchada.redirect.context import Context
from torchada.redirect.owners import MISSING
from torchada.redirect.probes import Function, Probe, Verdicts

if TYPE_CHECKING:
    from torch._C import DispatchKeySet
    from torch.library import Library

_KEY = "BackendSelect"


class Kernel:
    """One operator: the backend's kernel where it is right, `replacement` elsewhere. Other devices' kernels are left alone."""

    def __init__(self, context: Context, name: str, replacement: Function, probe: Probe, verdicts: Verdicts) -> None:
        self.name = name
        self._context, self._replacement, self._probe, self._verdicts = context, replacement, probe, verdicts
        packet, _, overload = name.partition(".")
        self._operator = getattr(getattr(context.torch.ops.aten, packet), overload or "default")
        self._select = context.torch._C.DispatchKey.BackendSelect

    @property
    def state(self) -> str:
        """What status says of it."""
        found = self._verdicts.known(self.name)
        adapter = self._context.backend.adapter
        if found is None:
            return f"{adapter}'s kernel is probed at the first call"
        return (
            f"{adapter}'s kernel is right, and used"
            if found
            else f"{adapter}'s kernel is missing or wrong, and replaced"
        )

    def __call__(self, keys: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        rest = keys.remove(self._select)
        if args[0].device.type != self._context.backend.device_type:
            return self._operator.redispatch(rest, *args, **kwargs)
        found = self._verdicts.known(self.name)
        if found is None and not self._context.namespace.is_current_stream_capturing():
            own = _redispatching(self._operator, rest)
            found = self._verdicts.probe(self.name, own, self._probe, args[0].device)
        # A capture cannot be interrupted by a probe; the replacement is right in any case.
        return self._operator.redispatch(rest, *args, **kwargs) if found else self._replacement(*args, **kwargs)


def _redispatching(operator: Any, keys: DispatchKeySet) -> Function:
    return lambda *args, **kwargs: operator.redispatch(keys, *args, **kwargs)


class Selection:
    """An owner of patches: the kernels of aten for the key BackendSelect, by the operator's name."""

    __torchada_owner__ = True

    def __init__(self, context: Context) -> None:
        self._context = context
        self._in_force: dict[str, tuple[Kernel, Library]] = {}

    def get(self, name: str) -> Any:
        return self._in_force[name][0] if name in self._in_force else MISSING

    def set(self, name: str, kernel: Kernel) -> None:
        library = self._context.torch.library.Library("aten", "IMPL")
        library.impl(name, _plain(kernel), _KEY, with_keyset=True)
        self._in_force[name] = kernel, library

    def delete(self, name: str) -> None:
        _, library = self._in_force.pop(name)
        library._destroy()  # type: ignore[no-untyped-call]


def _plain(kernel: Kernel) -> Function:
    """torch.library wants a function."""

    def call(keys: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        return kernel(keys, *args, **kwargs)

    return call
