"""What `torchada run` says where nothing will be redirected: what was found, where the program runs then, and the ways on."""

from __future__ import annotations

import argparse
import sys
import warnings

from torchada.backends import select
from torchada.base import settings as _settings
from torchada.base.warnings import TorchadaWarning

_WAYS = "--simulate takes the simulator, --on cpu the CPU under CUDA's names"


def check(options: argparse.Namespace) -> str:
    """Say on stderr, and return, why nothing is redirected in a program with this environment; empty where something is.

    Exits with the usage where a simulator was asked for and cannot be had.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TorchadaWarning)  # the program itself gives them
        settings = _settings.read()
        selection = select.before_torch(settings)
    why = "TORCHADA_DISABLE is set" if settings.disable else "" if selection.backend is not None else selection.why
    if options.simulate:
        _check_simulator(options, why)
    elif options.verbosity >= 0 and settings.platform not in select.LEFT_ALONE:  # there, this was asked for by name
        _say(why, selection)
    return why


def _check_simulator(options: argparse.Namespace, why: str) -> None:
    from musasim.base.settings import problems

    if wrong := problems():
        options.parser.error(f"--simulate: {'; '.join(wrong)}")
    if why:
        options.parser.error(f"--simulate: {why}")


def _say(why: str, selection: select.Selection) -> None:
    if why:
        line = f"nothing is redirected, because {why}: the program runs as by python alone"
    elif _lacks_device(selection):
        line = f"{selection.why}, but there is no device (/dev/mtgpu*): is_available() is False"
    else:
        return
    print(f"torchada run: {line}; {_WAYS}", file=sys.stderr)


def _lacks_device(selection: select.Selection) -> bool:
    """Whether a real torch_musa is installed on a machine without a device of Moore Threads."""
    if selection.platform != "musa" or select.is_stand_in("torch_musa"):
        return False
    from torchada.tools.doctor.machine import nodes

    return not nodes("/")
