"""Modules that manage devices (pynvml, pymtml), in programs that have not imported torch: gpustat, nvitop, a launcher.

Only their own areas are applied, which need nothing of torch. Redirection begins with torch, as always, and finds them applied.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from torchada.backends import select
from torchada.backends.descriptor import Backend
from torchada.base import settings as _settings
from torchada.base.warnings import TorchadaError
from torchada.hooks import application, choice
from torchada.hooks.problems import report
from torchada.hooks.state import STATE, Finder
from torchada.redirect.context import EarlyContext


def follow(name: str, execute: Callable[[], None], finder: Finder) -> None:
    """Execute the module, and then apply its areas, where the backend has a management library."""
    STATE.finder = finder
    backend = _chosen()
    if backend is None or backend.management is None:
        execute()
        return
    if name == backend.management.module:
        _simulate(backend)
    execute()
    STATE.arrived(name)
    application.apply_areas(name, EarlyContext(backend, _settings.read()))


def _chosen() -> Backend | None:
    try:
        return choice.ask().backend
    except TorchadaError:
        raise
    except Exception as error:
        report("choosing the platform", error)
        return None


def _simulate(backend: Backend) -> None:
    """Where the adapter is a simulator's, so is the library that the module opens."""
    if backend.simulator is None or not select.is_stand_in(backend.adapter):
        return
    try:
        import_module(f"{backend.simulator}.management").load()
    except Exception as error:
        report("the simulated management library", error)
