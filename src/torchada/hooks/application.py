"""The areas of one module that has arrived: each is applied once, and a fault is reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchada.hooks.area import Area
from torchada.hooks.problems import report
from torchada.hooks.registry import REGISTRY
from torchada.hooks.state import STATE
from torchada.redirect.engine import ENGINE

if TYPE_CHECKING:
    from torchada.redirect.context import Context


def apply_areas(module: str, early: Context | None = None) -> None:
    """Apply the areas of `module` that are not applied yet; `early` is the context where redirection has not begun."""
    for area in REGISTRY.areas_of(module):
        if STATE.claim(f"area {area.name}"):
            _apply(area, early or STATE.context)
    if STATE.telemetry is not None and module == "torch":
        ENGINE.apply("telemetry", list(STATE.telemetry.own_patches()))


def forget(module: str) -> None:
    """Undo the areas of a module that was executed again, whose definitions are new, so that they can be applied again."""
    for area in REGISTRY.areas_of(module):
        area.forget()
        STATE.release(f"area {area.name}")


def _apply(area: Area, context: Context | None) -> None:
    assert context is not None
    STATE.areas[area.name] = area
    fault = area.apply(context, REGISTRY.current(context.settings.skip_areas), REGISTRY.replaced, STATE.telemetry)
    if fault is not None:
        report(f"area {area.name!r} is not redirected (TORCHADA_SKIP_AREAS={area.name} switches it off)", fault)
