"""The caches of torch.compile: what their key names, and what is loaded from them."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from torchada.redirect.calls import disguise, original_of
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

# As generated modules import it from torch (codegen/wrapper.py, `write_header`).
_ALLOCATE = "empty_strided"


def key(context: Context) -> Iterator[Patch]:
    """The key names the device and torchada.

    torch knows how to name an NVIDIA or AMD GPU and leaves every other out, so that code tuned for one chip would be taken for
    another's where they share a folder. And code compiled with and without torchada is kept apart.
    """
    from torch._inductor.codecache import CacheBase

    system = _get_system(context, CacheBase.get_system)
    yield Patch(CacheBase, "get_system", staticmethod(system), None, note="the key of torch.compile's caches")


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


def generated_modules(context: Context) -> Iterator[Patch]:
    """Generated modules name the backend's devices themselves, so they allocate by torch's own function, as without us.

    A compiled step allocates some hundred times, and each would pass through ours for nothing.
    """
    if context.mechanism.native:
        raise Skip("PyTorch's own parser translates device strings: nothing stands in the place of torch.empty_strided")
    from torch._inductor.codecache import PyCodeCache

    load = _load_by_key_path(PyCodeCache.load_by_key_path)
    note = "generated modules allocate by torch's own function"
    yield Patch(PyCodeCache, "load_by_key_path", staticmethod(load), None, note=note)


def _load_by_key_path(original: Callable[..., ModuleType]) -> Callable[..., ModuleType]:
    def load_by_key_path(*args: Any, **kwargs: Any) -> ModuleType:
        module = original(*args, **kwargs)
        if _ALLOCATE in vars(module):
            vars(module)[_ALLOCATE] = original_of(vars(module)[_ALLOCATE])
        return module

    return disguise(load_by_key_path, original)
