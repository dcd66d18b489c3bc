"""Triton on the simulated device: a backend for the unchanged Triton from PyPI, which has none that runs without a GPU.

Triton's own front end compiles a kernel to its IR, so types and constants are checked as for a GPU; then Triton's own interpreter
executes the kernel's Python source on the device's memory. `register` adds the backend to a running Triton. Nothing here imports
triton before a program does.

- `compiler`: the backend's options and stages, and what it refuses;
- `driver`: the current device, stream and target, as Moore Threads' driver answers;
- `device`: what a device can do;
- `launcher`: one launch, as work of the device's current stream;
- `arguments`: a launch's arguments, checked as a device would, and what the interpreter gets for them;
- `programs`: the programs of a grid, one after the other;
- `language`: triton.language as the interpreter needs it, for the time of a launch;
- `functions`: a kernel's Python source, rewritten for the interpreter;
- `memory`: which addresses a kernel may use;
- `numbers`, `reductions`, `libdevice`: what the interpreter computes wrongly, slowly or not at all.
"""

from __future__ import annotations

import sys
from types import ModuleType

__all__ = ["add_language", "register"]

# Names that builds of Moore Threads' Triton have given their backend.
_VENDORS = ("musa", "mtgpu", "mthreads")


def register(backends: ModuleType) -> None:
    """Add the backend to `backends`, the module triton.backends, unless a Triton of Moore Threads has one already."""
    known = backends.backends
    if any(name in known for name in _VENDORS):
        return
    from musasim.triton.compiler import MUSABackend
    from musasim.triton.driver import MusaDriver

    known["musa"] = backends.Backend(MUSABackend, MusaDriver)


def add_language(extra: ModuleType) -> None:
    """Add triton.language.extra.musa, which the vendor's Triton has, to `extra`: its libdevice is the one for every kernel here."""
    name = f"{extra.__name__}.musa"
    if name in sys.modules:
        return
    musa = ModuleType(name, "What the device's backend adds to the language.")
    libdevice = sys.modules[f"{extra.__name__}.cuda.libdevice"]
    vars(musa).update(libdevice=libdevice, __path__=[], __all__=["libdevice"])
    vars(extra)["musa"] = musa
    sys.modules.update({name: musa, f"{name}.libdevice": libdevice})
