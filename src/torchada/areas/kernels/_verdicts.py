"""What probes of the device have found, remembered in torchada's private cache for these versions of torch and of the adapter."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from threading import RLock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchada.redirect.context import Context

Function = Callable[..., Any]
#: Whether a function, called like the operator, computes what it has to on a device.
Probe = Callable[[Function, Any], bool]

_FILE = "kernels.json"
# What an entry of the cache said when this process first asked. Every area asks, and many ranks may share the folder.
_stored: dict[tuple[str, str | None], dict[str, bool]] = {}


class Verdicts:
    """By the operator's name, whether the backend's kernel is right."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._lock = RLock()
        self._known: dict[str, bool] | None = None

    def known(self, name: str) -> bool | None:
        """Whether the backend's kernel is right; None if it has not been probed."""
        with self._lock:
            if self._known is None:
                self._known = self._read_once()
            return self._known.get(name)

    def probe(self, name: str, kernel: Function, probe: Probe, device: Any) -> bool:
        """Probe the backend's kernel, and remember what was found.

        A kernel that raises is not right. Other processes hear of it only if there is no kernel: memory may have been short.
        """
        with self._lock:
            verdict = self.known(name)
            if verdict is not None or self._known is None:
                return bool(verdict)
            lasting = True
            try:
                verdict = probe(kernel, device)
            except (RuntimeError, TypeError) as error:
                verdict, lasting = False, isinstance(error, NotImplementedError)
            self._known[name] = verdict
            if lasting:
                self._write({**self._read(), name: verdict})
            return verdict

    def _versions(self) -> str:
        # An override in C++ is what a probe finds where there is one, and may not be there in another process.
        context = self._context
        adapter = f"{context.backend.adapter} {getattr(context.namespace, '__version__', '')}"
        return f"{context.version}, torch {context.torch.__version__}, {adapter}, {context.settings.cpp_ops}"

    def _entry(self) -> str:
        return hashlib.sha256(self._versions().encode()).hexdigest()[:32]

    def _read_once(self) -> dict[str, bool]:
        place = self._entry(), self._context.settings.cache
        if place not in _stored:
            _stored[place] = self._read()
        return dict(_stored[place])

    def _read(self) -> dict[str, bool]:
        from torchada.base.caches import cache

        try:
            folder = cache("probes", self._context.settings.cache).find(self._entry())
            stored = json.loads((folder / _FILE).read_bytes()) if folder is not None else {}
            return {str(name): verdict is True for name, verdict in stored.items()}
        except (OSError, ValueError, AttributeError, RecursionError):
            return {}

    def _write(self, known: dict[str, bool]) -> None:
        from torchada.base.caches import cache

        _stored.pop((self._entry(), self._context.settings.cache), None)
        try:
            kept = cache("probes", self._context.settings.cache)
            kept.remove(self._entry())
            with kept.stored(self._entry()) as folder:
                (folder / _FILE).write_text(json.dumps(known), encoding="utf-8")
        except (OSError, ValueError):
            return
