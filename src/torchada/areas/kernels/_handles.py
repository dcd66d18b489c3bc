"""Kernels registered with PyTorch's dispatcher, each under a handle of its own, which takes it back.

Not by torch.library.Library: its checks and its finalizer, a hundred times, would make `import torch` and the end of the process
longer.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any


def handle(torch: Any, namespace: str = "aten") -> Any:
    """A new handle for kernels of operators of `namespace`; its `reset()` takes them back."""
    return torch._C._dispatch_library("IMPL", namespace, "")


def register(torch: Any, name: str, key: str, kernel: Callable[..., Any]) -> Any:
    """Register a kernel for an operator of aten, called with the set of dispatch keys first; returns its handle."""
    made = handle(torch)
    if not torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", key):
        made.impl(name, key, kernel, True)
        return made
    with warnings.catch_warnings():  # of another registration in front of which it goes
        warnings.simplefilter("ignore")
        made.impl(name, key, kernel, True)
    return made
