"""The devices, as the vendor's command (mthreads-gmi) reports them in JSON."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib import import_module
from typing import Any

COMMAND = "mthreads-gmi"
Tree = dict[str, Any]


class NoFigures(Exception):
    """The vendor's command is not there, or has failed; the text says how."""


def report() -> Tree:
    """What is the same for all devices, and under "GPU" a list of them."""
    printed = run("-q", "--json")
    try:
        document: Tree = json.loads(printed)
    except ValueError as error:
        raise NoFigures(f"{COMMAND} -q --json printed no JSON: {error}") from error
    return document


def run(*arguments: str) -> str:
    """What the vendor's command prints."""
    command = [_path(), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise NoFigures(done.stderr.strip() or f"{COMMAND} ended with {done.returncode}")
    return done.stdout


def _path() -> str:
    path = shutil.which(COMMAND)
    if path is not None:
        return path
    if _is_simulated():
        return str(import_module("musasim.toolkit").home() / "bin" / COMMAND)
    raise NoFigures(f"{COMMAND} is not on the PATH: the vendor's driver installs it")


def _is_simulated() -> bool:
    from torchada.base import settings

    return bool(settings.read().simulate)


def value(tree: Tree, *keys: str) -> str | None:
    """A text of the report; None where there is none, or where the vendor's command has none."""
    found: Any = tree
    for key in keys:
        stripped = {name.strip(): entry for name, entry in found.items()} if isinstance(found, dict) else {}
        found = stripped.get(key)
    text = found.strip() if isinstance(found, str) else ""
    return text if text and text.upper() not in ("N/A", "[N/A]") else None


def visible(devices: list[Tree], chosen: str | None) -> list[Tree]:
    """The devices that -i names, by index, bus address or identity; all without it. Raises NoFigures for one that is not there."""
    if chosen is None:
        return devices
    wanted = [entry.strip() for entry in chosen.split(",")]
    named = [[device for device in devices if entry in _names(device)] for entry in wanted]
    for entry, matches in zip(wanted, named):
        if not matches:
            raise NoFigures(f"No devices were found: {entry}")
    return [device for matches in named for device in matches]


def _names(device: Tree) -> set[str | None]:
    return {value(device, "Index"), value(device, "GPU UUID"), value(device, "PCI", "Bus ID")}
