"""What stands in for a kernel is computed without autocast, as the inside of CUDA's kernels is.

Autocast has no rule for most operators. It lets their calls pass and stays in force, and would make halves of the matrices that are
multiplied in the place of `torch.mm(a, b, out_dtype=torch.float32)`, for instance.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any

from torchada.redirect.context import Context
from torchada.redirect.dispatch_keys import DispatchKeys


class BelowAutocast:
    """Called, the context in which the dispatcher goes past autocast of the device."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @cached_property
    def _keys(self) -> Any:
        native, name = self._context.torch._C, DispatchKeys(self._context).names.get("AutocastCUDA")
        return None if name is None else native.DispatchKeySet(getattr(native.DispatchKey, name))

    def __call__(self) -> AbstractContextManager[None]:
        if self._keys is None:
            return nullcontext()
        guard: AbstractContextManager[None] = self._context.torch._C._ExcludeDispatchKeyGuard(self._keys)
        return guard
