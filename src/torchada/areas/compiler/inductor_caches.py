"""The caches of torch.compile: what their key contains, and what is loaded from them."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

from torchada.redirect.calls import disguise, original_of
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

if TYPE_CHECKING:
    from torch._inductor.codecache import SystemInfo

    from torchada.redirect.types import Namespace, P

# The name under which generated modules import it from torch (codegen/wrapper.py, `write_header`).
_ALLOCATE = "empty_strided"


def key(context: Context) -> Iterator[Patch]:
    """The key names the device and torchada.

    torch can name an NVIDIA or AMD GPU and omits every other, so that chips that share a folder would use code tuned for each
    other. The key also separates code compiled with torchada from code compiled without it.
    """
    from torch._inductor.codecache import CacheBase

    system = _get_system(context, CacheBase.get_system)
    yield Patch(CacheBase, "get_system", staticmethod(system), None, note="the key of torch.compile's caches")


def _get_system(context: Context, original: Callable[[], SystemInfo]) -> Callable[[], dict[str, object]]:
    backend, namespace = context.backend, context.namespace

    @functools.cache
    def get_system() -> dict[str, object]:
        before = original()
        system: dict[str, object] = {
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


def _name_of(namespace: Namespace) -> str | None:
    try:
        properties: Any = namespace.get_device_properties(namespace.current_device())
        return str(properties.name)
    except (AssertionError, RuntimeError, ValueError):
        return None  # no device: the code is compiled for the CPU


def generated_modules(context: Context) -> Iterator[Patch]:
    """Generated modules name the backend's devices themselves, so they allocate by torch's own function, as without torchada.

    A compiled step allocates some hundred times, and each allocation would pass through our function without need.
    """
    if context.mechanism.native:
        raise Skip("PyTorch's own parser translates device strings: torch.empty_strided is not replaced")
    from torch._inductor.codecache import PyCodeCache

    load = _load_by_key_path(PyCodeCache.load_by_key_path)
    note = "generated modules allocate by torch's own function"
    yield Patch(PyCodeCache, "load_by_key_path", staticmethod(load), None, note=note)


def _load_by_key_path(original: Callable[P, ModuleType]) -> Callable[P, ModuleType]:
    def load_by_key_path(*args: P.args, **kwargs: P.kwargs) -> ModuleType:
        module = original(*args, **kwargs)
        if _ALLOCATE in vars(module):
            vars(module)[_ALLOCATE] = original_of(vars(module)[_ALLOCATE])
        return module

    return disguise(load_by_key_path, original)
