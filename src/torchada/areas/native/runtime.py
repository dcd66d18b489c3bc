"""torch.cuda.cudart() and the errors of the runtime: the backend's own, under CUDA's names.

torch.cuda.cudaStatus is a class of two constants that torch has on every platform, and is not changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import IntEnum
from operator import attrgetter
from types import ModuleType
from typing import TYPE_CHECKING, Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Kind, Patch, Skip
from torchada.redirect.library_names import NativeLibraries
from torchada.redirect.unsupported import unsupported

if TYPE_CHECKING:
    from torchada.redirect.types import T

# The functions that torch's binding of libcudart has.
_FUNCTIONS = (
    "cudaGetErrorString",
    "cudaHostRegister",
    "cudaHostUnregister",
    "cudaMemGetInfo",
    "cudaStreamCreate",
    "cudaStreamDestroy",
)
_PROFILER = ("cudaProfilerInitialize", "cudaProfilerStart", "cudaProfilerStop")


class cudaOutputMode(IntEnum):
    """The format of a profiler's output file, an argument of cudaProfilerInitialize (CUDA 11)."""

    KeyValuePair = 0
    CSV = 1


def patches(context: Context) -> Iterator[Patch]:
    if not hasattr(context.namespace, "_lazy_init"):
        raise Skip(f"torch.{context.backend.namespace} has no runtime of that kind")
    cuda = context.torch.cuda
    replaced: dict[str, object] = {}
    for name in ("cudart", "check_error", "CudaError", "DeferredCudaCallError"):
        own = _own(context, name)
        if own is not None:
            replaced[name] = _cudart(context, cuda.cudart) if name == "cudart" else own
    # torch.cuda.profiler has imported some of these names.
    for module in (cuda, cuda.profiler):
        for name, own in replaced.items():
            if name in vars(module):
                yield _patch(context, module, name, own)


def _patch(context: Context, module: ModuleType, name: str, own: object) -> Patch:
    path = context.backend.names.own(name)
    to = f"torch.{context.backend.namespace}.{path}"
    kind: Kind = "adapted" if name == "cudart" else "same"
    return Patch(module, name, own, f"{module.__name__}.{name}", kind=kind, to=to)


def _own(context: Context, name: str) -> Any:
    """The namespace's counterpart of torch.cuda's `name`, or None."""
    try:
        return attrgetter(context.backend.names.own(name))(context.namespace)
    except AttributeError:
        return None


def _cudart(context: Context, original: Callable[[], ModuleType]) -> Callable[[], ModuleType]:
    lazy_init = context.namespace._lazy_init
    binding: ModuleType | None = None

    def cudart() -> ModuleType:
        nonlocal binding
        lazy_init()
        if binding is None:
            _ask_the_device_what_is_pinned(context)
            binding = _binding(context, _own(context, "cudart")())
        return binding

    return disguise(cudart, original)


def _ask_the_device_what_is_pinned(context: Context) -> None:
    """PyTorch takes no memory for pinned before it has initialised the device itself, which CUDA's initialisation makes it do and
    that of torch_musa 2.7.1 does not: it would overlook what a program registers with cudaHostRegister. Pinning nothing does it.
    """
    context.torch.empty(0, device="cpu", pin_memory=True)


def _binding(context: Context, runtime: ModuleType) -> ModuleType:
    """CUDA's binding over the backend's `runtime`: functions that it lacks are emulated for profilers, otherwise unsupported."""
    libraries = NativeLibraries(context.backend)
    module = ModuleType("torch._C._cudart", f"libcudart's functions, implemented by {runtime.__name__}")
    entries = vars(module)
    entries["cudaOutputMode"] = cudaOutputMode
    entries["cudaError"] = error = getattr(runtime, libraries.symbols("cudaError")[0])
    for name in (*_FUNCTIONS, *_PROFILER):
        own = getattr(runtime, libraries.symbols(name)[0], None)
        if own is None and name in _PROFILER:
            own = _succeeding(name, error.success)
        entries[name] = own or unsupported(
            context, f"torch.cuda.cudart().{name}", "its runtime binding has no such function"
        )
    return module


def _succeeding(name: str, success: T) -> Callable[..., T]:
    """While no profiler is attached, CUDA's functions do nothing and succeed."""

    def call(*args: object, **kwargs: object) -> T:
        return success

    call.__name__ = call.__qualname__ = name
    return call
