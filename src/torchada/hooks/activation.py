"""The way of a watched module, from before it is executed to the patches that wait for it.

follow: it is about to be executed          catch_up: it was executed before the hook came, or is being executed
    |                                           |
torch alone: choice.choose, is there            |
anything to do? (asked by the importer)     torch alone: choice.choose
    |                                           |
executed by its own loader                      |
    |                                           |
    +---------------------+---------------------+
                          |
                       _arrived -- redirection has begun -----------> application.apply_areas of this module:
                          |                                           registry.areas_of names them, and each
    torch and the adapter are both there, whichever came last         Area makes its patches and applies them
    (_begin_if_ready imports the adapter, whose own way leads here)             |
                          |                                                     |
                       _begin: the context -- each module that is there --------+
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from torchada.backends import select
from torchada.backends.descriptor import Backend
from torchada.base import settings as _settings
from torchada.base.warnings import TorchadaError
from torchada.hooks import application, choice, late
from torchada.hooks.collector import paused
from torchada.hooks.problems import end, report
from torchada.hooks.registry import REGISTRY
from torchada.hooks.state import STATE, Finder, is_complete
from torchada.redirect.context import Context
from torchada.redirect.engine import ENGINE


def follow(name: str, execute: Callable[[], None], finder: Finder) -> None:
    """Execute a watched module, and then apply what waits for it. Called without holding a lock of ours: areas import modules."""
    STATE.finder = finder
    again = STATE.has(name) and name not in STATE.executing  # it is reloaded, or was taken out of sys.modules
    is_reload = again and is_complete(sys.modules.get(name))
    # Other modules may run a whole program while they are imported, which needs the collector.
    with paused() if name == "torch" else nullcontext():
        try:
            with STATE.executing_module(name), _other_adapters_left_out(name):
                execute()
        except BaseException:
            if is_reload:  # the module stays, and some of its definitions are new
                _arrived(name, again=True)
            raise
        _arrived(name, again=again)


def _other_adapters_left_out(name: str) -> AbstractContextManager[None]:
    """Where CUDA code is to run on the CPU, torch does not load the adapters that are installed: each of them needs its driver."""
    backend = STATE.selection.backend if STATE.selection else None
    if name != "torch" or backend is None or backend.computes_on is None:
        return nullcontext()
    return _settings.unless_set("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")


def catch_up(finder: Finder) -> None:
    """The hook came late: treat imported modules as if they had just arrived, and those being imported once they are complete."""
    STATE.finder = finder
    for name in list(finder.watched):
        module = sys.modules.get(name)
        if is_complete(module):
            STATE.arrived(name)
        elif module is not None:
            STATE.executing.add(name)
            late.when_executed(module, _executed_late)
    if STATE.has("torch"):
        STATE.late = STATE.late is not False
        _arrived_late("torch")


def _executed_late(name: str) -> None:
    STATE.executing.discard(name)
    if name in sys.modules:  # otherwise its import has failed
        _arrived_late(name)


def _arrived_late(name: str) -> None:
    if name == "torch" and not choice.choose(STATE.finder):
        STATE.finder.watched.clear()
    else:
        _arrived(name)


def _arrived(name: str, *, again: bool = False) -> None:
    STATE.arrived(name)
    is_beginning = STATE.context is None
    try:
        if again:
            _show_in_parent(name)
            name = REGISTRY.home_of(name)
            application.forget(name)
        if STATE.context is None:
            _begin_if_ready()
        else:
            application.apply_areas(name)
    except TorchadaError:
        raise
    except Exception as error:
        report(f"reacting to the import of {name}", error)
    except BaseException:  # Ctrl-C: the next import of the module begins anew
        _take_back(name, everything=is_beginning)
        raise


def _take_back(name: str, *, everything: bool) -> None:
    """Put back what the arrival of a module has changed so far."""
    STATE.modules.discard(name)
    if not everything:
        application.forget(REGISTRY.home_of(name))
        return
    ENGINE.revert_all()
    if STATE.context is not None:
        choice.take_back(STATE.context.backend)
    STATE.reset()


def _show_in_parent(name: str) -> None:
    """Do early what the import system does next: areas ask the parent, which still has the module that was there before."""
    parent, _, child = name.rpartition(".")
    if parent in sys.modules:
        setattr(sys.modules[parent], child, sys.modules[name])


def _begin_if_ready() -> None:
    """Begin once torch and the backend's adapter have both arrived; whichever comes last gets here."""
    backend = STATE.selection.backend if STATE.selection else None
    if backend is None or not STATE.has("torch"):
        return
    if not is_complete(sys.modules.get(backend.adapter)):
        _import_adapter(backend)
    module = sys.modules.get(backend.adapter)
    if module is not None and not is_complete(module) and not STATE.has(backend.adapter):
        # It is executing further up this stack, or in another thread that waits for us; its own arrival leads here again.
        if backend.adapter not in STATE.executing:
            late.when_executed(module, _executed_late)
        return
    if STATE.context is None and STATE.claim("begin"):
        with paused():
            _begin(backend)


def _import_adapter(backend: Backend) -> None:
    """Import the adapter, or wait for the thread that is doing so."""
    try:
        with _without_dispatch_modes():
            # Not importlib.import_module, which raises where two threads wait for each other's module; here that is resolved.
            __import__(backend.adapter)
    except Exception as error:
        _end_without_simulator(backend, error)
        report(f"{backend.adapter} cannot be imported, so there is no {backend.name} device", error)


def _end_without_simulator(backend: Backend, error: Exception) -> None:
    """Where the user insists on the simulator, a program that would compute on the CPU instead, without a word, must not go on."""
    simulated = select.is_stand_in(backend.adapter) or select.is_simulated(backend)
    if simulated and _settings.read().simulate_required:
        end(f"the simulator was asked for and cannot start: {type(error).__name__}: {error}")


def _without_dispatch_modes() -> AbstractContextManager[object]:
    """TORCH_CUDA_SANITIZER's mode would see what the adapter computes meanwhile, and ask for streams that are not there yet."""
    dispatch: Any = sys.modules.get("torch.utils._python_dispatch")
    if dispatch is None or not sys.modules["torch"]._C._len_torch_dispatch_stack():
        return nullcontext()
    modes: AbstractContextManager[object] = dispatch._disable_current_modes()
    return modes


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
        _end_without_simulator(backend, error)
        STATE.selection = select.Selection("cuda or cpu", f"{backend.adapter} is not usable")
        _leave_alone(backend)
        report(f"{backend.adapter} has been imported, but is not usable", error)
        return
    if settings.recorded_for:
        _record_calls(STATE.context)
    _watch([*REGISTRY.modules(), *REGISTRY.parts()])
    for name in REGISTRY.modules():
        _apply_if_there(name)


def _watch(names: list[str]) -> None:
    for name in names:
        STATE.finder.watched.setdefault(name, False)
    STATE.modules.update(name for name in REGISTRY.parts() if is_complete(sys.modules.get(name)))


def _apply_if_there(name: str) -> None:
    module = sys.modules.get(name)
    if is_complete(module) or STATE.has(name):
        STATE.arrived(name)
        application.apply_areas(name)
    elif module is not None and name not in STATE.executing:  # executed by another thread, begun before it was watched
        late.when_executed(module, _executed_late)


def _record_calls(context: Context) -> None:
    """Under TORCHADA_LOG or TORCHADA_REPORT: from here on, the replacements that areas put in place record their callers."""
    try:
        from torchada.telemetry.process import begin

        STATE.telemetry = begin(context, report)
    except Exception as error:
        report("recording calls", error)


def _leave_alone(backend: Backend) -> None:
    for name in list(STATE.modules):  # areas that were applied before torch came
        application.forget(name)
    choice.take_back(backend)
    STATE.finder.watched.clear()
