"""From news of a module to patches in force: choose the backend when torch has arrived, then apply the areas of each module."""

from __future__ import annotations

import sys

from _torchada_startup import FINDER
from torchada import _settings
from torchada._warnings import TorchadaError
from torchada.backends import select
from torchada.backends.descriptor import Backend
from torchada.hooks import choice, late
from torchada.hooks.problems import report
from torchada.hooks.registry import REGISTRY, is_named
from torchada.hooks.state import STATE, AreaRecord, is_complete
from torchada.redirect.context import Context
from torchada.redirect.engine import ENGINE, Patch, Skip


def module_arrived(name: str, *, again: bool = False) -> None:
    """A watched module has been executed (`again`: by importlib.reload). Called outside every lock of ours: areas import things."""
    STATE.arrived(name)
    try:
        if again:
            name = REGISTRY.home_of(name)
            _forget_areas(name)
        if STATE.context is None:
            _activate()
        else:
            _apply_areas(name)
    except TorchadaError:
        raise
    except Exception as error:
        report(f"reacting to the import of {name}", error)


def catch_up() -> None:
    """The hook came late: treat what has been imported already as news, and what is being imported when it is done."""
    for name in list(FINDER.watched):
        module = sys.modules.get(name)
        if is_complete(module):
            STATE.arrived(name)
        elif module is not None:
            STATE.executing.add(name)
            late.when_executed(module, _arrived_late)
    if STATE.has("torch"):
        STATE.late = STATE.late is not False
        if choice.is_worthwhile():
            module_arrived("torch")
        else:
            FINDER.watched.clear()


def _arrived_late(name: str) -> None:
    STATE.executing.discard(name)
    if name not in sys.modules:
        return  # its import has failed
    if name == "torch" and not choice.is_worthwhile():
        FINDER.watched.clear()
        return
    module_arrived(name)


def _activate() -> None:
    """Choose and begin, once torch and the backend's adapter have both arrived; whichever comes last gets here."""
    backend = STATE.selection.backend if STATE.selection else None
    if backend is None or not STATE.has("torch"):
        return
    if not is_complete(sys.modules.get(backend.adapter)):
        _import_adapter(backend)
    module = sys.modules.get(backend.adapter)
    if module is not None and not is_complete(module) and not STATE.has(backend.adapter):
        # Further up this stack, or waiting for us in another thread; its own arrival leads here again.
        if backend.adapter not in STATE.executing:
            late.when_executed(module, _arrived_late)
        return
    if STATE.context is None and STATE.claim("activate"):
        _begin(backend)


def _import_adapter(backend: Backend) -> None:
    """Import the adapter, or wait for the thread that is doing so."""
    try:
        # Not importlib.import_module: two threads that wait for each other's module are an error there, and resolved here.
        __import__(backend.adapter)
    except Exception as error:
        report(f"{backend.adapter} cannot be imported, so there is no {backend.name} device", error)


def _begin(backend: Backend) -> None:
    settings = _settings.read()
    STATE.selection = select.with_torch(backend, settings)
    if STATE.selection.backend is None:
        _leave_alone(backend)
        return
    STATE.late = bool(STATE.late)
    try:
        STATE.context = Context.of(backend, settings, late=STATE.late)
    except Exception as error:
        STATE.selection = select.Selection("cuda or cpu", f"{backend.adapter} is not usable")
        _leave_alone(backend)
        report(f"{backend.adapter} has been imported, but is not usable", error)
        return
    if settings.recorded_for:
        _record_calls(STATE.context)
    modules = REGISTRY.modules()
    watched = [*modules, *REGISTRY.parts()]
    FINDER.watched.update(dict.fromkeys((name for name in watched if name not in FINDER.watched), False))
    STATE.modules.update(name for name in REGISTRY.parts() if is_complete(sys.modules.get(name)))
    for name in modules:
        module = sys.modules.get(name)
        if is_complete(module) or STATE.has(name):
            STATE.arrived(name)
            _apply_areas(name)
        elif module is not None and name not in STATE.executing:  # by another thread, since before it was watched
            late.when_executed(module, _arrived_late)


def _record_calls(context: Context) -> None:
    """TORCHADA_LOG or TORCHADA_REPORT: from here on, what areas put in place records who calls it."""
    try:
        from torchada.telemetry.process import begin

        STATE.telemetry = begin(context, report)
    except Exception as error:
        report("recording calls", error)


def _leave_alone(backend: Backend) -> None:
    choice.mirror(backend).take_back()
    FINDER.watched.clear()


def _apply_areas(module: str) -> None:
    for area in REGISTRY.areas_of(module):
        if STATE.claim(f"area {area}"):
            apply_area(module, area)
    if STATE.telemetry is not None and module == "torch":
        ENGINE.apply("telemetry", list(STATE.telemetry.own_patches()))


def _forget_areas(module: str) -> None:
    """What a reload has defined anew is not redirected any more; the rest is put back, and all of it applied again."""
    for area in REGISTRY.areas_of(module):
        ENGINE.revert(area)
        STATE.release(f"area {area}")


def _patches(area: str, context: Context) -> list[Patch]:
    """Those of the last time where nothing has changed since: torch.compile and caches of torch know functions by identity."""
    made_for, patches = STATE.made.get(area, (None, []))
    if made_for != context or not ENGINE.fits_again(area):
        patches = list(REGISTRY.load(area)(context))
        STATE.made[area] = context, patches
    return patches


def apply_area(module: str, area: str) -> None:
    """Build an area's patches and apply them all or none; a fault ends in a record and one warning."""
    assert STATE.context is not None
    record = STATE.areas[area] = AreaRecord(area, module, "skipped")
    if is_named(area, STATE.context.settings.skip_areas):
        record.reason = "named in TORCHADA_SKIP_AREAS"
        return
    try:
        patches = _patches(area, STATE.context)
        if STATE.telemetry is not None:
            patches = STATE.telemetry.observe(area, patches)
        ENGINE.apply(area, patches)
    except Skip as skip:
        record.reason = str(skip)
    except Exception as error:
        record.outcome, record.reason = "failed", f"{type(error).__name__}: {error}"
        report(f"area {area!r} is not redirected (TORCHADA_SKIP_AREAS={area} switches it off)", error)
    else:
        record.outcome, record.patches = "applied", len(patches)
