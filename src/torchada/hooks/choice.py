"""Is there anything to do in this process, as far as that is known without torch? Ask, then act on the answer."""

from __future__ import annotations

from torchada.backends import select
from torchada.backends.descriptor import Backend
from torchada.base import settings as _settings
from torchada.base.warnings import warn_once
from torchada.hooks.problems import report
from torchada.hooks.registry import REGISTRY
from torchada.hooks.state import STATE, Finder
from torchada.redirect.mirrors.allocator import AllocatorSettings
from torchada.redirect.mirrors.runtime_variables import RuntimeMirror
from torchada.redirect.mirrors.visible_devices import Mirror


def choose(finder: Finder) -> bool:
    """Before torch is executed: ask, then act on the answer. False where there is nothing to do."""
    try:
        selection = ask()
        if selection.backend is not None and selection.backend.wing is not None:
            REGISTRY.bring(selection.backend.name, selection.backend.wing)
        _warn_about(_settings.read())
    except Exception as error:
        report("choosing the platform", error)
        return False
    STATE.selection = selection
    if selection.backend is None:
        return False
    _get_ready(selection.backend, finder)
    return True


def ask() -> select.Selection:
    """What the environment and the installed packages ask for; a `backend` of None means nothing. This changes nothing."""
    return select.before_torch(_settings.read())


def mirrors(backend: Backend) -> list[Mirror | AllocatorSettings | RuntimeMirror]:
    """What keeps CUDA's environment variables and the backend's in step."""
    settings = [AllocatorSettings(backend, backend.allocator)] if backend.allocator else []
    visible = [Mirror(backend.visible_devices)] if backend.visible_devices else []
    runtime = [RuntimeMirror(backend.variables)] if backend.variables.renames else []
    return [*visible, *settings, *runtime]


def take_back(backend: Backend) -> None:
    """Take back what was written to environment variables."""
    for variables in mirrors(backend):
        variables.take_back()


def _get_ready(backend: Backend, finder: Finder) -> None:
    # Watched from now on, not after the choice is final: another thread may import them while torch and the adapter are executed.
    for name in (backend.adapter, *REGISTRY.built_in_modules()):
        finder.watched.setdefault(name, False)
    # This must precede the execution of torch and the adapter: a driver may read its variables as soon as its library is loaded.
    for variables in mirrors(backend):
        variables.bring_up_to_date()


def _warn_about(settings: _settings.Settings) -> None:
    """Warn of settings in the environment that are not understood."""
    if settings.not_understood or settings.unknown:
        from torchada.base import misunderstood

        misunderstood.warn_about(settings)
    if not settings.skip_areas:  # the registry would load the wings' tables
        return
    for name in sorted(settings.skip_areas & REGISTRY.former.keys()):
        warn_once(f"TORCHADA_SKIP_AREAS: the area {name!r} is called {REGISTRY.former[name]!r} now")
    for name in REGISTRY.unknown(settings.skip_areas):
        known = ", ".join(sorted(REGISTRY.names()))
        warn_once(f"TORCHADA_SKIP_AREAS: there is no area {name!r}; there are {known}")
