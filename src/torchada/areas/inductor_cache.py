"""The caches of torch.compile: their key names the device and us.

torch knows how to name an NVIDIA or AMD GPU and leaves every other out, so that code tuned for one chip would be taken for
another's where they share a folder. And code compiled with and without torchada is kept apart.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch


def patches(context: Context) -> Iterator[Patch]:
    from torch._inductor.codecache import CacheBase

    system = _get_system(context, CacheBase.get_system)
    yield Patch(CacheBase, "get_system", staticmethod(system), "the key of torch.compile's caches")


def _get_system(context: Context, original: Callable[..., Any]) -> Callable[[], dict[str, Any]]:
    backend, namespace = context.backend, context.namespace

    @functools.cache
    def get_system() -> dict[str, Any]:
        before = original()
        system = {
            "device": {"name": _name_of(namespace)},
            "version": {
                **before.get("version", {}),
                backend.name: getattr(context.torch.version, backend.name, None),
                "torchada": context.version,
            },
        }
        text = json.dumps([before["hash"], system], sort_keys=True)
        return {**system, "hash": hashlib.sha256(text.encode()).hexdigest()}

    return get_system


def _name_of(namespace: Any) -> str | None:
    try:
        return str(namespace.get_device_properties(namespace.current_device()).name)
    except (AssertionError, RuntimeError, ValueError):
        return None  # no device: compiled for the CPU
