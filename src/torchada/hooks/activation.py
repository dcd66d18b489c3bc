"""From news of a module to patches in force: choose the backend when torch has arrived, then apply the areas of each module."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec

from torchada import _settings
from torchada._startup import FINDER
from torchada._warnings import TorchadaError, warn_once
from torchada.backends import select
from torchada.backends.descriptor import Backend
from torchada.hooks.registry import REGISTRY
from torchada.hooks.state import STATE, AreaRecord, is_complete
from torchada.redirect.context import Context
from torchada.redirect.engine import ENGINE, Skip
from torchada.redirect.environment import Mirror


def is_worthwhile() -> bool:
    """Asked before torch is executed, and answered without it: could there be anything to do in this process?"""
    try:
        settings = _settings.read()
        _settings.warn_about(settings)
        selection = select.before_torch(settings)
    except Exception as error:
        _report("choosing the platform", error)
        return False
    STATE.selection = selection
    if selection.backend is None:
        return False
    FINDER.watched[selection.backend.adapter] = True
    # Before torch and the adapter are executed: a driver may read its variable as soon as its library is loaded.
    mirror(selection.backend).bring_up_to_date()
    return True


def mirror(backend: Backend) -> Mirror:
    """What keeps CUDA_VISIBLE_DEVICES and the backend's variable in step."""
    return Mirror(backend.visible_devices)


def stand_in(name: str) -> ModuleSpec | None:
    """The simulator's spec for a backend's adapter module, where the user asked for it and nobody else has one."""
    return select.simulated_spec(name, _settings.read())


def module_arrived(name: str) -> None:
    """A watched module has been executed. Called outside every lock of ours: areas import things."""
    try:
        if STATE.context is None:
            _activate()
        else:
            _apply_areas(name)
    except TorchadaError:
        raise
    except Exception as error:
        _report(f"reacting to the import of {name}", error)


def catch_up() -> None:
    """The hook came late: treat what has been imported already as news."""
    for name in list(FINDER.watched):
        module = sys.modules.get(name)
        if module is not None and not is_complete(module):
            __import__(name)  # waits for the thread that is importing it
        if name in sys.modules:
            STATE.arrived(name)
    if STATE.has("torch"):
        if is_worthwhile():
            module_arrived("torch")
        else:
            FINDER.watched.clear()


def _activate() -> None:
    """Choose and begin, once torch and the backend's adapter have both arrived; whichever comes last gets here."""
    backend = STATE.selection.backend if STATE.selection else None
    if backend is None or not STATE.has("torch"):
        return
    if not is_complete(sys.modules.get(backend.adapter)):
        _import_adapter(backend)
    if backend.adapter in STATE.executing:
        return  # further up this stack; its own arrival leads here again
    if STATE.context is None and STATE.claim("activate"):
        _begin(backend)


def _import_adapter(backend: Backend) -> None:
    """Import the adapter, or wait for the thread that is doing so."""
    try:
        # Not importlib.import_module: two threads that wait for each other's module are an error there, and resolved here.
        __import__(backend.adapter)
    except Exception as error:
        _report(f"{backend.adapter} cannot be imported, so there is no {backend.name} device", error)


def _begin(backend: Backend) -> None:
    settings = _settings.read()
    STATE.selection = select.with_torch(backend, settings)
    if STATE.selection.backend is None:
        FINDER.watched.clear()
        return
    STATE.context = Context.of(backend, settings)
    modules = REGISTRY.modules()
    FINDER.watched.update(dict.fromkeys(modules, True))
    for name in modules:
        if is_complete(sys.modules.get(name)) or STATE.has(name):
            STATE.arrived(name)
            _apply_areas(name)


def _apply_areas(module: str) -> None:
    for area in REGISTRY.areas_of(module):
        if STATE.claim(f"area {area}"):
            apply_area(module, area)


def apply_area(module: str, area: str) -> None:
    """Build an area's patches and apply them all or none; a fault ends in a record and one warning."""
    assert STATE.context is not None
    record = STATE.areas[area] = AreaRecord(area, module, "skipped")
    if area in STATE.context.settings.skip_areas:
        record.reason = "named in TORCHADA_SKIP_AREAS"
        return
    try:
        patches = list(REGISTRY.load(module, area).patches(STATE.context))
        ENGINE.apply(area, patches)
    except Skip as skip:
        record.reason = str(skip)
    except Exception as error:
        record.outcome, record.reason = "failed", f"{type(error).__name__}: {error}"
        _report(f"area {area!r} is not redirected (TORCHADA_SKIP_AREAS={area} switches it off)", error)
    else:
        record.outcome, record.patches = "applied", len(patches)


def _report(what: str, error: Exception) -> None:
    """Status shows it, the user is told once; under TORCHADA_STRICT=1 it is raised."""
    message = f"{what}: {type(error).__name__}: {error}"
    STATE.problems.append(message)
    if _settings.read().strict:
        raise TorchadaError(f"torchada: {message}") from error
    warn_once(message)
