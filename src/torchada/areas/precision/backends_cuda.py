"""torch.backends.cuda: the functions that call CUDA's libraries. The flags of attention and of reduced precision work as they are.

Programs distinguish platforms by `is_built`, as by torch.cuda.is_available. Like that function it answers by who asks, and
with TORCHADA_FORCE_CUDA_AVAILABLE=1 for everybody but torch's private packages.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Concatenate

from torchada.redirect.by_view import by_view
from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.unsupported import unsupported

if TYPE_CHECKING:
    from enum import Enum

    from torch.backends.cuda import SDPAParams

    from torchada.redirect.types import P

# CUDA's default for the number of plans that cuFFT keeps.
_PLANS = 4096


def patches(context: Context) -> Iterator[Patch]:
    module = context.torch.backends.cuda
    yield from _detection(context)
    yield from _plan_cache(context)
    yield from _attention(context)
    for library in ("linalg", "blas"):
        yield from _preference(context, library)
    for name in ("cublas_workspace_size", "cublaslt_workspace_size"):
        if hasattr(module, name):
            api, why = f"torch.backends.cuda.{name}", "its BLAS library sizes its workspace itself"
            yield Patch(module, name, unsupported(context, api, why, getattr(module, name)), api, kind="unsupported")


def _detection(context: Context) -> Iterator[Patch]:
    module, table = context.torch.backends.cuda, context.torch._deprecated_attrs
    if context.settings.force_cuda_available:
        is_built = has_cuda = _is_built(module.is_built)
    else:
        is_built = by_view(context.views, lambda: True, module.is_built)
        has_cuda = by_view(context.views, lambda: True, module.is_built, depth=2)  # torch.__getattr__ calls it
    yield Patch(module, "is_built", is_built, "torch.backends.cuda.is_built")
    yield Patch(table, "has_cuda", has_cuda, "torch.has_cuda")


def _is_built(original: Callable[[], bool]) -> Callable[[], bool]:
    """True for programs. torch's private packages get torch's own answer: if it is True, they import CUDA's part of torch._C."""

    def is_built() -> bool:
        caller = str(sys._getframe(1).f_globals.get("__name__", ""))
        private = caller.startswith("torch._") and not caller.startswith("torch._dynamo")
        return original() if private else True

    return disguise(is_built, original)


def _attention(context: Context) -> Iterator[Patch]:
    """can_use_flash_attention and similar functions are about CUDA's kernels: False for tensors of the device.

    A CUDA build of torch would ask the NVIDIA driver.
    """
    native, device_type = context.torch._C, context.backend.device_type

    def on_cuda(original: Callable[Concatenate[SDPAParams, P], bool]) -> Callable[Concatenate[SDPAParams, P], bool]:
        def can_use(params: SDPAParams, *args: P.args, **kwargs: P.kwargs) -> bool:
            return params.query.device.type != device_type and original(params, *args, **kwargs)

        return disguise(can_use, original)

    for kind, public in (("flash", "flash"), ("mem_efficient", "efficient"), ("cudnn", "cudnn")):
        original = getattr(native, f"_can_use_{kind}_attention", None)
        if original is not None:
            api = f"torch.backends.cuda.can_use_{public}_attention"
            yield Patch(native, f"_can_use_{kind}_attention", on_cuda(original), api)


def _plan_cache(context: Context) -> Iterator[Patch]:
    """A cache that holds no plans and remembers its limit, because the backend does not show the plans that it keeps."""
    torch = context.torch
    limits: dict[int, int] = {}

    def check(device_index: int) -> int:
        count = context.namespace.device_count()
        if not 0 <= device_index < count:
            raise RuntimeError(
                f"cuFFT plan cache: expected 0 <= device_index < {count}, but got device_index {device_index}"
            )
        return device_index

    def _cufft_get_plan_cache_size(device_index: int) -> int:
        return check(device_index) * 0

    def _cufft_get_plan_cache_max_size(device_index: int) -> int:
        return limits.get(check(device_index), _PLANS)

    def _cufft_set_plan_cache_max_size(device_index: int, max_size: int) -> None:
        if max_size < 0:
            raise RuntimeError(f"cuFFT plan cache size must be non-negative, but got {max_size}")
        limits[check(device_index)] = max_size

    def _cufft_clear_plan_cache(device_index: int) -> None:
        check(device_index)

    size, get, put = _cufft_get_plan_cache_size, _cufft_get_plan_cache_max_size, _cufft_set_plan_cache_max_size
    for function in (size, get, put, _cufft_clear_plan_cache):
        name = function.__name__
        call = disguise(function, getattr(torch, name))
        yield Patch(torch, name, call, None, note=f"torch.{name}, which cufft_plan_cache calls", kind="emulated")
    cache = torch.backends.cuda.cuFFTPlanCache
    # Its properties hold the functions that were there when torch was imported.
    prop, read_only = torch.backends.cuda.cuFFTPlanCacheAttrContextProp, vars(cache)["size"].setter
    api = "torch.backends.cuda.cufft_plan_cache"
    yield Patch(cache, "size", prop(size, read_only), f"{api}.size", kind="emulated")
    yield Patch(cache, "max_size", prop(get, put), f"{api}.max_size", kind="emulated")


def _preference(context: Context, library: str) -> Iterator[Patch]:
    """preferred_linalg_library("cusolver") and similar calls: the choice is remembered and has no effect.

    The backend has one library for each purpose.
    """
    native = context.torch._C
    chosen: list[Enum] = []
    get, put = (getattr(native, f"_{verb}_{library}_preferred_backend") for verb in ("get", "set"))

    def read() -> object:
        return chosen[-1] if chosen else get()

    def write(backend: Enum) -> None:
        chosen[:] = [] if backend.name == "Default" else [backend]

    api = f"torch.backends.cuda.preferred_{library}_library"
    yield Patch(native, get.__name__, disguise(read, get), api, kind="emulated")
    yield Patch(native, put.__name__, disguise(write, put), api, kind="emulated")
