"""Whether there is anything to do in this process, as far as that can be told without torch."""

from __future__ import annotations

from _torchada_startup import FINDER
from torchada import _settings
from torchada._warnings import warn_once
from torchada.backends import select
from torchada.backends.descriptor import Backend
from torchada.hooks.problems import report
from torchada.hooks.registry import REGISTRY
from torchada.hooks.state import STATE
from torchada.redirect.environment import Mirror


def is_worthwhile() -> bool:
    """Choose the platform; False when CUDA code needs no help from us."""
    try:
        settings = _settings.read()
        _settings.warn_about(settings)
        _warn_about_areas(settings)
        selection = select.before_torch(settings)
    except Exception as error:
        report("choosing the platform", error)
        return False
    STATE.selection = selection
    if selection.backend is None:
        return False
    # From here on, and not from the choice's end: another thread may import them while torch and the adapter are executed.
    for name in (selection.backend.adapter, *REGISTRY.built_in_modules()):
        FINDER.watched.setdefault(name, False)
    # Before torch and the adapter are executed: a driver may read its variable as soon as its library is loaded.
    mirror(selection.backend).bring_up_to_date()
    return True


def _warn_about_areas(settings: _settings.Settings) -> None:
    if not settings.skip_areas:
        return
    for name in REGISTRY.unknown(settings.skip_areas):
        known = ", ".join(sorted(REGISTRY.names()))
        warn_once(f"TORCHADA_SKIP_AREAS: there is no area {name!r}; there are {known}")


def mirror(backend: Backend) -> Mirror:
    """What keeps CUDA_VISIBLE_DEVICES and the backend's variable in step."""
    return Mirror(backend.visible_devices)
