"""triton.language.extra.cuda on a device that is not NVIDIA's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.owners import imported

_EXTRA = "triton.language.extra"
_CUDA = f"{_EXTRA}.cuda"
_OF_PYPI = ("cuda", "hip", "intel", "cpu")
# Instructions that tell a GPU of NVIDIA how the kernel overlaps with those before and after it. A kernel is right without them.
_HINTS = ("gdc_wait", "gdc_launch_dependents")


def patches(context: Context) -> Iterator[Patch]:
    import triton.language.extra as extra

    own = _vendors(extra)
    cuda = getattr(extra, "cuda", None)
    if cuda is None:
        yield from _a_whole_module(extra, own)
        return
    for name in _HINTS:
        yield Patch(cuda, name, _hint(name), f"tl.extra.cuda.{name}", "emulated", note="a hint, without effect here")
    for name, function in _functions(own).items():
        if getattr(cuda.libdevice, name, function) is not function:
            yield Patch(
                cuda.libdevice, name, function, f"tl.extra.cuda.libdevice.{name}", to=f"{own.__name__}.libdevice"
            )


def _vendors(extra: ModuleType) -> ModuleType:
    """The module of the vendor's backend; an empty one where there is none."""
    for module in vars(extra).values():
        # By its own name: Triton leaves the variable of a loop behind, which is one of PyPI's by another.
        if isinstance(module, ModuleType) and hasattr(module, "libdevice") and _last(module) not in _OF_PYPI:
            return module
    return ModuleType(_EXTRA)


def _last(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


def _functions(own: ModuleType) -> dict[str, Any]:
    libdevice = vars(getattr(own, "libdevice", own))
    return {name: value for name, value in libdevice.items() if getattr(value, "__triton_builtin__", False)}


def _a_whole_module(extra: ModuleType, own: ModuleType) -> Iterator[Patch]:
    """Some builds of a vendor have no triton.language.extra.cuda, which programs import by that name."""
    cuda = ModuleType(_CUDA, "What programs take from NVIDIA's backend, from the vendor's.")
    libdevice = getattr(own, "libdevice", None) or _interface(extra)
    contents = {name: value for name, value in vars(own).items() if getattr(value, "__triton_builtin__", False)}
    vars(cuda).update({**contents, **{name: _hint(name) for name in _HINTS}, "libdevice": libdevice, "__path__": []})
    note = "a Triton without NVIDIA's backend"
    yield Patch(imported(), _CUDA, cuda, _CUDA, "emulated", note=note)
    yield Patch(imported(), f"{_CUDA}.libdevice", libdevice, f"{_CUDA}.libdevice", to=libdevice.__name__, note=note)
    yield Patch(extra, "cuda", cuda, None, note=note)


def _interface(extra: ModuleType) -> ModuleType:
    """The stubs in whose place each backend puts its own functions."""
    import triton.language.extra.libdevice as libdevice

    stubs: ModuleType = libdevice
    return stubs


def _hint(name: str) -> Callable[..., None]:
    from triton.language import core

    # Triton passes the first from version 3.4 on, the second before.
    def hint(_semantic: Any = None, _builder: Any = None) -> None:
        """Does nothing."""

    hint.__name__ = hint.__qualname__ = name
    hint.__module__ = _CUDA
    made: Callable[..., None] = core.builtin(hint)
    return made
