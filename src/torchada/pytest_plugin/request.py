"""What the command line and pytest's configuration file ask for, checked."""

from __future__ import annotations

import copy
import os
import random
from typing import NamedTuple

import pytest

from torchada.base import settings
from torchada.pytest_plugin import CAPABILITY, HELP, MEMCHECK, SARIF, SEED, SIMULATED, STREAMCHECK

_OPTION = "--cuda-simulated"
_OFF = ("no", "off", "false")
_ON = ("yes", "on", "true")
_MOST_DEVICES = 64  # kMaxDevices of the simulator
_LARGEST_SEED = 2**63 - 1
_COUNT = "MUSASIM_DEVICE_COUNT"
MEMCHECK_VARIABLE, STREAMCHECK_VARIABLE = "MUSASIM_MEMCHECK", "MUSASIM_STREAMCHECK"
SEED_VARIABLE, CAPABILITY_VARIABLE = "MUSASIM_SEED", "TORCHADA_CUDA_CAPABILITY"


class Request(NamedTuple):
    """What a run asks for; empty where the simulator's own default is right."""

    devices: int
    memcheck: bool
    seed: str
    capability: str
    sarif: str = ""
    streamcheck: bool = False

    @property
    def is_checked(self) -> bool:
        """Whether a checker listens."""
        return self.memcheck or self.streamcheck

    def variables(self) -> dict[str, str]:
        """The environment of the run, and of what its tests start. A simulator that cannot start ends a process."""
        variables = {"TORCHADA_SIMULATE": "1", "TORCHADA_SIMULATE_REQUIRED": "1", _COUNT: str(self.devices)}
        if self.memcheck:
            variables[MEMCHECK_VARIABLE] = "1"
        if self.streamcheck:
            variables[STREAMCHECK_VARIABLE] = "1"
        if self.seed:
            variables[SEED_VARIABLE] = self.seed
        if self.capability:
            variables[CAPABILITY_VARIABLE] = self.capability
        return variables


def read(config: pytest.Config, parser: pytest.Parser, args: list[str]) -> Request | None:
    """The request, and None where the simulator is switched off. Raises UsageError for what cannot be understood."""
    _part_from_files(config, parser, args)
    simulated = _value(config, SIMULATED)
    if simulated is None or simulated.lower() in _OFF:
        _refuse_alone(config)
        return None
    devices = _devices(simulated)
    sarif = _file(_value(config, SARIF), str(config.invocation_params.dir))
    streamcheck = _is_on(config, STREAMCHECK)
    memcheck = _is_on(config, MEMCHECK) or bool(sarif and not streamcheck)
    seed, capability = _seed(_value(config, SEED)), _capability(_value(config, CAPABILITY))
    return Request(devices, memcheck, seed, capability, sarif, streamcheck)


def _is_on(config: pytest.Config, name: str) -> bool:
    return bool(config.getini(name) if getattr(config.known_args_namespace, name) is None else True)


def _part_from_files(config: pytest.Config, parser: pytest.Parser, args: list[str]) -> None:
    """argparse takes `tests` in `--cuda-simulated tests` for the number; it is a number only if it looks like one."""
    ends = args.index("--") if "--" in args else len(args)
    apart = False
    for i, word in enumerate(args[:ends]):
        following = args[i + 1] if i + 1 < ends else "-"
        if word == _OPTION and not following.startswith("-") and not following.isdecimal():
            args[i], apart = f"{_OPTION}=", True
    if apart:
        confcutdir = config.known_args_namespace.confcutdir
        config.known_args_namespace = parser.parse_known_args(args, namespace=copy.copy(config.option))
        config.known_args_namespace.confcutdir = confcutdir


def _value(config: pytest.Config, name: str) -> str | None:
    """From the command line, or else from the configuration file; None where neither says anything."""
    given = getattr(config.known_args_namespace, name)
    return str(config.getini(name)).strip() or None if given is None else str(given).strip()


def _refuse_alone(config: pytest.Config) -> None:
    """An option about simulated GPUs without any: the suite would run on something else."""
    for name in HELP:
        option = "--" + name.replace("_", "-")
        if name != SIMULATED and getattr(config.known_args_namespace, name) is not None:
            raise pytest.UsageError(f"{option} is about simulated GPUs, and none are asked for: add {_OPTION}")


def _devices(text: str) -> int:
    named = f"{_OPTION}={text}"
    if not text or text.lower() in _ON:
        text = os.environ.get(_COUNT) or "2"
        named = f"{_COUNT}={text}"
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= _MOST_DEVICES):
        raise pytest.UsageError(f"{named}: expected a number of GPUs from 1 to {_MOST_DEVICES}, or no")
    return int(text)


def _file(text: str | None, folder: str) -> str:
    """The path of a file that can be written; empty where none is asked for."""
    if not text:
        return ""
    path = os.path.join(folder, text)
    replaced = path if os.path.isfile(path) else os.path.dirname(path)
    if os.path.isdir(path) or not os.access(replaced, os.W_OK):
        raise pytest.UsageError(f"--cuda-sarif={text}: expected a file in a folder that can be written to")
    return path


def _seed(text: str | None) -> str:
    named = f"--cuda-seed={text}"
    if text is None:
        text = os.environ.get(SEED_VARIABLE) or ""
        named = f"{SEED_VARIABLE}={text}"
    if text == "random":
        # Workers of pytest-xdist inherit what their controller has drawn.
        inherited = os.environ.get(SEED_VARIABLE, "") if "PYTEST_XDIST_WORKER" in os.environ else ""
        return inherited if inherited.isdecimal() else str(random.SystemRandom().randrange(2**31))
    if text and not (text.isascii() and text.isdecimal() and int(text) <= _LARGEST_SEED):
        raise pytest.UsageError(f"{named}: expected a number from 0 to {_LARGEST_SEED}, or random")
    return text


def _capability(text: str | None) -> str:
    kind = settings.CAPABILITY
    if text is not None and not kind.accepts(text):
        raise pytest.UsageError(f"--cuda-capability={text}: expected {kind.expected}")
    return text or ""
