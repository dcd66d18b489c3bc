"""Names of the package itself."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import NewType

from ... import _MUSAC
from ...core.memory import MemPool
from .memory import use_mem_pool

__all__ = ["_POOL_HANDLE", "NewType", "use_unified_allocator"]

_POOL_HANDLE = NewType("_POOL_HANDLE", tuple[int, int])


@contextlib.contextmanager
def use_unified_allocator() -> Iterator[None]:
    """Tensors made inside the block, on the host or on a device, lie in memory that both can use."""
    _MUSAC._musa_register_unified_cpu_allocator()
    os.environ["CPU_UNIFIED_FLAG"] = "True"
    try:
        with use_mem_pool(MemPool(_MUSAC._get_musa_unified_allocator())):
            yield
    finally:
        _MUSAC._musa_reset_unified_cpu_allocator()
        os.environ["CPU_UNIFIED_FLAG"] = "False"
