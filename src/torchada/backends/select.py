"""Which platform this process runs on: decided by TORCHADA_PLATFORM, then by what is installed, then by what is available."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from typing import NamedTuple

from torchada.backends.descriptor import Backend
from torchada.base.adapters import ADAPTERS
from torchada.base.settings import Settings
from torchada.base.warnings import warn_once

# Ours as well (each backend is a value in a module of its name), but their adapters are parts of every torch, or of ours, so they
# have to be asked for by name.
BY_NAME_ONLY = ("host", "xpu", "mps")
GROUP = "torchada.backends"
# Platforms on which CUDA code needs no help from us.
LEFT_ALONE = ("cuda", "cpu")


class Selection(NamedTuple):
    """`platform` is a backend's name, "cuda", "cpu", or "cuda or cpu" until torch is asked; `why` explains the choice to people."""

    platform: str
    why: str
    backend: Backend | None = None


def before_torch(settings: Settings) -> Selection:
    """The choice as far as it can be made without importing torch; `backend` is None when there is nothing to redirect."""
    if settings.platform in LEFT_ALONE:
        return Selection(settings.platform, f"TORCHADA_PLATFORM={settings.platform}")
    named = _named(settings.platform)
    if named is not None:
        if is_installed(named.adapter):
            return Selection(named.name, f"TORCHADA_PLATFORM={named.name}", named)
        warn_once(f"TORCHADA_PLATFORM={named.name}, but {named.adapter} is not installed: nothing is redirected")
        return Selection("cuda or cpu", f"TORCHADA_PLATFORM={named.name}, but {named.adapter} is not installed")
    installed = [name for name, adapter in ADAPTERS.items() if is_installed(adapter)]
    if not installed:
        return Selection("cuda or cpu", "no adapter module (" + ", ".join(ADAPTERS.values()) + ") is installed")
    if len(installed) > 1:
        _warn_about_two(installed)
    backend = _ours(installed[0])
    return Selection(backend.name, _why(backend.adapter, is_stand_in(backend.adapter)), backend)


def _warn_about_two(installed: list[str]) -> None:
    adapters = " and ".join(ADAPTERS[name] for name in installed)
    choices = " or ".join(f"TORCHADA_PLATFORM={name}" for name in installed)
    warn_once(f"{adapters} are installed, and PyTorch has room for one: {installed[0]} is used; {choices} chooses")


def _ours(name: str) -> Backend:
    """The backend of that name among those that torchada brings."""
    backend: Backend = getattr(import_module(f"torchada.backends.{name}"), name.upper())
    return backend


def with_torch(backend: Backend, settings: Settings) -> Selection:
    """The final choice, once torch and the adapter have been imported.

    The backend is not asked for devices: that would start its driver, and a process that has only imported torch must still be able
    to fork, and to choose its visible devices. Without a device, the program gets the adapter's own errors.
    """
    if backend.adapter not in sys.modules:
        return Selection("cuda or cpu", f"{backend.adapter} could not be imported")
    simulated = is_simulated(backend)
    if settings.platform == backend.name:
        why = f"TORCHADA_PLATFORM={backend.name}"
    elif not simulated and _usable_cuda_device():
        return Selection("cuda", f"{backend.adapter} is installed, but this torch is a CUDA build with a usable GPU")
    else:
        why = _why(backend.adapter, simulated)
    return Selection(backend.name, why, backend)


def is_installed(adapter: str) -> bool:
    """Whether `import adapter` would find a module. The simulator counts where TORCHADA_SIMULATE=1 asks for it."""
    if adapter.startswith("torch."):  # asking for it would import torch
        return is_installed("torch")
    try:
        spec = find_spec(adapter)
        return spec is not None and spec.loader is not None  # a folder of that name without code has no loader
    except ValueError:  # in sys.modules without a __spec__
        return sys.modules.get(adapter) is not None


def is_stand_in(adapter: str) -> bool:
    """Whether `import adapter` would load the simulator."""
    return adapter not in sys.modules and bool(
        getattr(getattr(find_spec(adapter), "loader", None), "is_simulated", False)
    )


def _why(adapter: str, simulated: bool) -> str:
    return f"TORCHADA_SIMULATE=1 and no real {adapter} is installed" if simulated else f"{adapter} is installed"


def is_simulated(backend: Backend) -> bool:
    """Whether the adapter that was imported is the simulator's."""
    return bool(getattr(sys.modules.get(backend.adapter), "__simulated__", False))


def simulated_spec(name: str, settings: Settings) -> ModuleSpec | None:
    """The simulator's spec for an adapter module, or None where it was not asked for or `name` is another module."""
    if not settings.simulate:
        return None
    for backend in map(_ours, (ours for ours, adapter in ADAPTERS.items() if adapter == name)):
        if backend.simulator is not None:
            spec: ModuleSpec | None = import_module(f"{backend.simulator}.finder").find_spec(name)
            return spec
    return None


def find(name: str) -> Backend | None:
    """The backend of that name; entry points are read only if it is not a built-in one."""
    if name in ADAPTERS or name in BY_NAME_ONLY:
        return _ours(name)
    from torchada.base.plugins import entry_points

    for _, backend in entry_points(GROUP, only=name):
        if isinstance(backend, Backend):
            return backend
        warn_once(
            f"entry point {name!r} of group {GROUP!r} is {backend!r}; expected a torchada.backends.descriptor.Backend"
        )
    return None


def _named(platform: str) -> Backend | None:
    """The backend that TORCHADA_PLATFORM names."""
    if platform == "auto":
        return None
    backend = find(platform)
    if backend is not None:
        return backend
    known = ", ".join([*ADAPTERS, *BY_NAME_ONLY, *LEFT_ALONE])
    warn_once(f"TORCHADA_PLATFORM={platform!r} names no backend; expected auto, {known} or an installed one")
    return None


def _usable_cuda_device() -> bool:
    torch = sys.modules["torch"]
    version = torch.version
    return bool(version.cuda or getattr(version, "hip", None)) and torch.cuda.device_count() > 0
