"""PYTORCH_CUDA_ALLOC_CONF, also where the program sets it after its start, and torch.cuda.memory._set_allocator_settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.mirrors.allocator import AllocatorSettings


def patches(context: Context) -> Iterator[Patch]:
    allocator = context.backend.allocator
    if allocator is None:
        raise Skip("the backend's descriptor says nothing of an allocator's settings")
    settings, to = AllocatorSettings(context.backend, allocator), allocator.variable
    # os.environ looks these functions up among the globals of os for every change of a variable.
    yield Patch(os, "putenv", settings.putenv(os.putenv), 'os.environ["PYTORCH_CUDA_ALLOC_CONF"] = ...', to=to)
    yield Patch(os, "unsetenv", settings.unsetenv(os.unsetenv), 'del os.environ["PYTORCH_CUDA_ALLOC_CONF"]', to=to)
    own = getattr(getattr(context.namespace, "memory", None), "_set_allocator_settings", None)
    if own is not None:
        call = _set_allocator_settings(settings, own, context.torch.cuda.memory._set_allocator_settings)
        api = "torch.cuda.memory._set_allocator_settings"
        yield Patch(context.torch.cuda.memory, "_set_allocator_settings", call, api)
        newer = "_accelerator_setAllocatorSettings"  # what torch names instead since 2.10
        if hasattr(context.torch._C, newer):
            yield Patch(context.torch._C, newer, call, f"torch._C.{newer}")


def _set_allocator_settings(
    settings: AllocatorSettings, own: Callable[[str], None], original: Callable[[str], None]
) -> Callable[[str], None]:
    def _set_allocator_settings(env: str) -> None:
        own(settings.translated(env, "_set_allocator_settings", refused=True))

    return disguise(_set_allocator_settings, original)
