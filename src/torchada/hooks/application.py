"""The areas of one module that has arrived: their patches are built and applied, each area all or none."""

from __future__ import annotations

from torchada.hooks.problems import report
from torchada.hooks.registry import REGISTRY, is_named
from torchada.hooks.state import STATE, AreaRecord
from torchada.redirect.context import Context
from torchada.redirect.engine import ENGINE, Patch, Skip


def apply_areas(module: str) -> None:
    """Apply the areas of `module` that are not applied yet."""
    for area in REGISTRY.areas_of(module):
        if STATE.claim(f"area {area}"):
            _apply(module, area)
    if STATE.telemetry is not None and module == "torch":
        ENGINE.apply("telemetry", list(STATE.telemetry.own_patches()))


def forget(module: str) -> None:
    """Undo the areas of a reloaded module, whose new definitions are not redirected, so that they can be applied again."""
    for area in REGISTRY.areas_of(module):
        ENGINE.revert(area)
        STATE.release(f"area {area}")


def _apply(module: str, area: str) -> None:
    """Build an area's patches and apply them; a fault is recorded, with one warning."""
    assert STATE.context is not None
    record = STATE.areas[area] = AreaRecord(area, module, "skipped")
    if is_named(area, STATE.context.settings.skip_areas):
        record.reason = "named in TORCHADA_SKIP_AREAS"
        return
    if is_named(area, REGISTRY.replaced):
        record.reason = f"the platform {STATE.context.backend.name} answers for this itself"
        return
    try:
        patches = _patches(area, STATE.context)
        ENGINE.apply(area, patches)
    except Skip as skip:
        record.reason = str(skip)
    except Exception as error:
        record.outcome, record.reason = "failed", f"{type(error).__name__}: {error}"
        report(f"area {area!r} is not redirected (TORCHADA_SKIP_AREAS={area} switches it off)", error)
    else:
        record.outcome, record.patches = "applied", len(patches)


def _patches(area: str, context: Context) -> list[Patch]:
    """The same patches as last time if nothing has changed since: torch.compile and torch's caches know functions by identity."""
    made_for, patches = STATE.made.get(area, (None, []))
    if made_for != context or not ENGINE.fits_again(area):
        patches = list(REGISTRY.load(area)(context))
        if STATE.telemetry is not None:
            patches = STATE.telemetry.observe(area, patches)
        STATE.made[area] = context, patches
    return patches
