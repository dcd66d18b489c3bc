"""What Inductor has written names the backend's devices itself: it allocates by torch's own function, as without us.

A compiled step allocates some hundred times, and each would pass through ours for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from torchada.redirect.calls import disguise, original_of
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

# As generated modules import it from torch (codegen/wrapper.py, `write_header`).
_ALLOCATE = "empty_strided"


def patches(context: Context) -> Iterator[Patch]:
    if context.mechanism.native:
        raise Skip("PyTorch's own parser translates device strings: nothing stands in the place of torch.empty_strided")
    from torch._inductor.codecache import PyCodeCache

    load = _load_by_key_path(PyCodeCache.load_by_key_path)
    why = "torch._inductor.codecache.PyCodeCache.load_by_key_path"
    yield Patch(PyCodeCache, "load_by_key_path", staticmethod(load), why)


def _load_by_key_path(original: Callable[..., ModuleType]) -> Callable[..., ModuleType]:
    def load_by_key_path(*args: Any, **kwargs: Any) -> ModuleType:
        module = original(*args, **kwargs)
        if _ALLOCATE in vars(module):
            vars(module)[_ALLOCATE] = original_of(vars(module)[_ALLOCATE])
        return module

    return disguise(load_by_key_path, original)
