"""Kernels that take the place of the backend's own only where a probe on the device finds that one missing or wrong.

They are registered for the key BackendSelect, which the dispatcher asks last before it chooses a device's kernel: below autograd
and autocast, in inference mode too. The backend's own kernel can be called from there, so that nothing is replaced in order to ask.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from threading import RLock
from typing import TYPE_CHECKING, Any

from torchada.redirect.context import Context
from torchada.redirect.owners import MISSING

if TYPE_CHECKING:
    from torch._C import DispatchKeySet
    from torch.library import Library

Function = Callable[..., Any]
#: Whether a function, called like the operator, computes what it has to on a device.
Probe = Callable[[Function, Any], bool]

_KEY = "BackendSelect"
_FILE = "kernels.json"


class Verdicts:
    """What probes have found, for these versions of torch and of the adapter; kept in torchada's private cache."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._lock = RLock()
        self._known: dict[str, bool] | None = None

    def known(self, name: str) -> bool | None:
        """Whether the backend's kernel is right; None if it has not been probed."""
        with self._lock:
            if self._known is None:
                self._known = self._read()
            return self._known.get(name)

    def probe(self, name: str, kernel: Function, probe: Probe, device: Any) -> bool:
        """Probe the backend's kernel, and remember what was found. A kernel that raises is not right."""
        with self._lock:
            found = self.known(name)
            if found is not None or self._known is None:
                return bool(found)
            try:
                found = probe(kernel, device)
            except (RuntimeError, TypeError):  # NotImplementedError, where there is no kernel, is a RuntimeError
                found = False
            self._known[name] = found
            self._write(self._known)
            return found

    def _versions(self) -> str:
        # An override in C++ is what a probe finds where there is one, and may not be there in another process.
        context = self._context
        adapter = f"{context.backend.adapter} {getattr(context.namespace, '__version__', '')}"
        return f"{context.version}, torch {context.torch.__version__}, {adapter}, {context.settings.cpp_ops}"

    def _entry(self) -> str:
        return hashlib.sha256(self._versions().encode()).hexdigest()[:32]

    def _read(self) -> dict[str, bool]:
        from torchada._caches import cache

        try:
            folder = cache("probes", self._context.settings.cache).find(self._entry())
            found = json.loads((folder / _FILE).read_bytes()) if folder is not None else {}
            return {str(name): verdict is True for name, verdict in found.items()}
        except (OSError, ValueError, AttributeError):
            return {}

    def _write(self, known: dict[str, bool]) -> None:
        from torchada._caches import cache

        try:
            kept = cache("probes", self._context.settings.cache)
            kept.remove(self._entry())
            with kept.stored(self._entry()) as folder:
                (folder / _FILE).write_text(json.dumps(known), encoding="utf-8")
        except (OSError, ValueError):
            return


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
