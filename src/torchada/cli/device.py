"""Which device the programs that a command starts run on: options that several commands have."""

from __future__ import annotations

import argparse
import os
from typing import Any

from torchada.backends import select
from torchada.base.adapters import ADAPTERS
from torchada.control import startup_files


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare --simulate, --platform and --on."""
    parser.add_argument(
        "--simulate", action="store_true", help="use the simulator where no real torch_musa is installed"
    )
    platform: Any = parser.add_argument(
        "--platform", metavar="P", help=f"set TORCHADA_PLATFORM: {', '.join(_named())} or an installed backend"
    )
    platform.completer = lambda **_: platforms()
    parser.add_argument(
        "--on", choices=("cpu",), help="cpu: no accelerator is needed, and CUDA is a name for the CPU (--platform host)"
    )


def platforms() -> list[str]:
    """The values of --platform."""
    from torchada.base import plugins

    return [*_named(), *plugins.names(select.GROUP)]


def _named() -> list[str]:
    """The platforms that torchada itself knows."""
    return ["auto", *ADAPTERS, *select.BY_NAME_ONLY, *select.LEFT_ALONE]


def check(options: argparse.Namespace) -> None:
    """Exit with the usage where the options contradict each other, or name a platform that there is not."""
    if options.platform and options.platform.lower() not in platforms():
        options.parser.error(f"--platform {options.platform}: expected one of {', '.join(platforms())}")
    if options.on and (options.platform or options.simulate):
        options.parser.error(f"--on {options.on} does not go with {'--platform' if options.platform else '--simulate'}")


def environment(options: argparse.Namespace) -> dict[str, str]:
    """The variables for a program that has these options."""
    added = {}
    if options.simulate:
        added["TORCHADA_SIMULATE"] = "1"
    if options.on:
        added["TORCHADA_PLATFORM"] = "host"
    if options.platform:
        added["TORCHADA_PLATFORM"] = options.platform
    return {**added, **_python_path()}


def _python_path() -> dict[str, str]:
    """Where no start-up file is in force (a source tree on PYTHONPATH), sitecustomize replaces it."""
    folder = startup_files.sitecustomize_folder()
    if startup_files.in_force() is not None or folder is None:
        return {}
    # torchada itself may be importable only through the current directory; the last place on the path hides nothing.
    package = str(startup_files.PACKAGE.parent)
    entries = [str(folder), os.environ.get("PYTHONPATH"), package]
    return {"PYTHONPATH": os.pathsep.join(entry for entry in entries if entry)}
