"""Triton: kernels written for CUDA are compiled by the Triton of the backend's vendor, or by the simulator's backend.

A vendor ships its own build, whose backend has a name that differs between versions. PyPI's has nvidia and amd. Which driver is
active is asked of torch.cuda in the one case and of the adapter in the other; here the answer is the vendor's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from torchada.areas.libraries import _triton_language
from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.unsupported import UnsupportedError

if TYPE_CHECKING:
    from torchada.redirect.types import R

_TRIED = "triton 3.3"
# The backends of PyPI's builds. Whatever else is there comes from a vendor.
_OF_PYPI = ("nvidia", "amd", "cpu", "intel")


def driver(context: Context) -> Iterator[Patch]:
    """Which driver is active, and what it says of the target."""
    import triton.backends

    # Not by attribute: triton.runtime.driver is the object of that name.
    module = import_module("triton.runtime.driver")
    known = triton.backends.backends
    yield from _never_nvidia(known)
    create = _create_driver(context, known, module._create_driver)
    yield Patch(module, "_create_driver", create, None, since=_TRIED, note="triton.runtime.driver.active")
    # Up to Triton 3.4 the active driver is a proxy that holds the function.
    default = vars(module.driver).get("default")
    if default is not None and "_init_fn" in vars(default):
        yield Patch(default, "_init_fn", create, None, until="triton 3.4", note="triton.runtime.driver.active")
    for backend in _vendors(known).values():
        yield from _as_cuda_code_asks(context, backend.driver)


def _vendors(known: dict[str, Any]) -> dict[str, Any]:
    return {name: backend for name, backend in known.items() if name not in _OF_PYPI}


def _never_nvidia(known: dict[str, Any]) -> Iterator[Patch]:
    """NVIDIA's driver is active where torch.cuda.is_available(), which can be made True, and then looks for libcuda."""
    if "nvidia" in known:
        inactive = staticmethod(lambda: False)
        yield Patch(
            known["nvidia"].driver, "is_active", inactive, None, since=_TRIED, note="triton.runtime.driver.active"
        )


def _create_driver(context: Context, known: dict[str, Any], original: Callable[[], R]) -> Callable[[], R]:
    def create_driver() -> R:
        ours = _vendors(known)
        if not ours:
            raise UnsupportedError(_missing(context, known))
        try:
            return original()
        except RuntimeError:
            # The user has chosen NVIDIA's backend by TRITON_DEFAULT_BACKEND, which here means the GPU that there is.
            active = [backend.driver for backend in ours.values() if backend.driver.is_active()]
            if len(active) != 1:
                raise
            made: R = active[0]()
            return made

    return disguise(create_driver, original)


def _missing(context: Context, known: dict[str, Any]) -> str:
    import triton

    return (
        f"Triton {triton.__version__} has no backend for {context.backend.name.upper()}: it has {', '.join(known) or 'none'}. "
        f"It is the build of PyPI. Install the package triton that the vendor of {context.backend.adapter} publishes "
        "for this version of torch, in its place"
    )


def _as_cuda_code_asks(context: Context, driver: type) -> Iterator[Patch]:
    target = _target(context, driver.get_current_target)  # type: ignore[attr-defined]
    yield Patch(driver, "get_current_target", target, "triton.runtime.driver.active.get_current_target")
    for name, method in _what_older_drivers_lack(context).items():
        if not hasattr(driver, name):
            api = f"triton.runtime.driver.active.{name}"
            yield Patch(driver, name, method, api, "emulated", until="triton 3.2")


def _target(context: Context, original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The target's backend is "cuda" for code that knows CUDA alone, with the numbers of the device."""
    views = context.views

    def get_current_target(self: object) -> Any:
        target = original(self)
        if views.sees_cuda(sys._getframe(1).f_globals):
            return type(target)("cuda", target.arch, target.warp_size)
        return target

    return disguise(get_current_target, original)


def _what_older_drivers_lack(context: Context) -> dict[str, Callable[..., Any]]:
    torch, namespace, device_type = context.torch, context.namespace, context.backend.device_type

    def get_device_interface(self: object) -> Any:
        return namespace

    def get_active_torch_device(self: object) -> Any:
        return torch.device(device_type, namespace.current_device())

    def get_benchmarker(self: object) -> Any:
        from triton.testing import do_bench

        return do_bench

    def get_empty_cache_for_benchmark(self: object) -> Any:
        return torch.empty(64 << 20, dtype=torch.int, device=device_type)

    def clear_cache(self: object, cache: Any) -> None:
        cache.zero_()

    methods = (
        get_device_interface,
        get_active_torch_device,
        get_benchmarker,
        get_empty_cache_for_benchmark,
        clear_cache,
    )
    return {method.__name__: method for method in methods}


def compiler(context: Context) -> Iterator[Patch]:
    """A program hands the target that it was told back to triton.compile."""
    import triton.compiler

    compiler = import_module("triton.compiler.compiler")
    original = getattr(compiler, "make_backend", None)
    if original is None:
        raise Skip("this Triton makes its backends elsewhere")
    make = _make_backend(context, original)
    for module in (compiler, triton.compiler):
        if vars(module).get("make_backend") is original:
            yield Patch(module, "make_backend", make, "triton.compiler.make_backend", since=_TRIED)


def _make_backend(context: Context, original: Callable[[Any], R]) -> Callable[[Any], R]:
    def make_backend(target: Any) -> R:
        return original(_of_the_device(context, target))

    return disguise(make_backend, original)


def _of_the_device(context: Context, target: Any) -> Any:
    """The device's own target for the one that CUDA code was told; a target of another architecture is meant for another GPU."""
    if target.backend != "cuda":
        return target
    from triton.runtime import driver

    own = driver.active.get_current_target()
    same = (own.arch, own.warp_size) == (target.arch, target.warp_size)
    return type(target)(context.backend.device_type, target.arch, target.warp_size) if same else target


def language(context: Context) -> Iterator[Patch]:
    """triton.language.extra.cuda: what NVIDIA's backend adds to the language."""
    yield from _triton_language.patches(context)
