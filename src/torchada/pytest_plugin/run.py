"""The start of a run on simulated GPUs: everything that could keep it from them is found here, and ends pytest in one line."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

import pytest

from torchada.backends import select
from torchada.base import misunderstood
from torchada.base import settings as _settings
from torchada.base.warnings import TorchadaWarning
from torchada.control import switch
from torchada.hooks.state import STATE
from torchada.pytest_plugin.request import Request

# What torchada would warn of is in the section at the end; a project that makes errors of warnings sees CUDA's alone.
_FALLBACK = "TORCHADA_CPU_FALLBACK"
_LAST_LINE = "`python -m musasim build` shows all that the compiler says"


def begin(config: pytest.Config, request: Request) -> None:
    """Make `import torch` find simulated GPUs in this process and in what it starts. Raises UsageError where that cannot be."""
    fallback = os.environ.get(_FALLBACK, "silent")
    config.add_cleanup(_set({_FALLBACK: fallback, **request.variables()}))
    _check_settings()
    with _shown(config):
        _build()
    from musasim import tally

    tally.begin()
    if "torch" in sys.modules:
        _redirect_late()
    else:
        _check_selection()
    from torchada.pytest_plugin.session import Session

    config.pluginmanager.register(Session(config, request), "torchada-session")


def _set(variables: dict[str, str]) -> Callable[[], None]:
    """Set environment variables; what is returned puts back what was there."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)

    def restore() -> None:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    return restore


def _check_settings() -> None:
    settings = _settings.read()
    if settings.disable:
        raise pytest.UsageError("--cuda-simulated: TORCHADA_DISABLE switches torchada off; unset it")
    from musasim.base.settings import problems

    wrong = [f"{entry}: expected {expected}" for entry, expected in misunderstood.lines(settings)]
    if wrong := wrong + problems():
        raise pytest.UsageError(f"--cuda-simulated: {'; '.join(wrong)}")


def _check_selection() -> None:
    """Ask, without importing torch, whether it will come to run on the simulator."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TorchadaWarning)  # the program itself gives them
        selection = select.before_torch(_settings.read())
    if selection.backend is None or selection.backend.simulator is None:
        raise pytest.UsageError(f"--cuda-simulated: nothing is simulated, because {selection.why}")
    adapter = selection.backend.adapter
    if not select.is_stand_in(adapter):
        raise pytest.UsageError(
            f"--cuda-simulated: a real {adapter} is installed, which goes first; leave the option out to use it"
        )


def _redirect_late() -> None:
    """Another plug-in has imported torch already, and torchada found nothing to do then."""
    switch.enable()
    if STATE.context is None or not select.is_simulated(STATE.context.backend):
        raise pytest.UsageError(
            "--cuda-simulated: torch was imported before pytest came to this option, and cannot be redirected any more; "
            "run pytest with -p torchada, or with TORCHADA_SIMULATE=1 in the environment"
        )


def _build() -> None:
    """Compile the simulator, unless that has been done for this torch."""
    from musasim.build import build

    try:
        build()
    except (ImportError, OSError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        reason = lines[0] if len(lines) == 1 else f"{lines[0]} {lines[-1]} ({_LAST_LINE})"
        raise pytest.UsageError(f"--cuda-simulated: {reason}") from error


@contextmanager
def _shown(config: pytest.Config) -> Iterator[None]:
    """What is printed meanwhile is seen at once: compiling takes a minute."""
    capture = config.pluginmanager.getplugin("capturemanager")
    with nullcontext() if capture is None else capture.global_and_fixture_disabled():
        yield
