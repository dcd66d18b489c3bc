"""Stand-ins for the private modules of torchada 0.1, so that one use of them fails one test and not the import of a whole file."""

from __future__ import annotations

import os
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import torch

import torchada

_MODULES = ("_patch", "_mapping", "_mappings", "_cpp_ops", "_graph_rotation", "_runtime", "_visible_devices")


class PrivateName(Exception):
    """A test uses a private name of torchada 0.1, which this release does not have."""


def install() -> None:
    """Put a stand-in for each private module of 0.1 into sys.modules, unless this release has a module of that name.

    The module that compares versions is 0.1's own: while they are imported, tests ask it what to expect of torch_musa.
    """
    _load_versions(Path(os.environ["OUTSIDE_CHECKOUT"]) / "src" / "torchada" / "_version.py")
    for name in _MODULES:
        if f"torchada.{name}" not in sys.modules:
            module = _Module(f"torchada.{name}")
            sys.modules[module.__name__] = module
            setattr(torchada, name, module)


def _load_versions(path: Path) -> None:
    spec = spec_from_file_location("torchada._version", path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["torchada._version"] = module
    spec.loader.exec_module(module)


class _PortedNames(dict[str, str]):
    """0.1's table of names of CUDA: what the porter of this release makes of a name, if it makes anything of it."""

    def __missing__(self, name: str) -> str:
        ported = self._ported(name)
        if ported == name:
            raise KeyError(name)
        return ported

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._ported(name) != name

    def __len__(self) -> NoReturn:
        raise PrivateName("torchada._mapping._MAPPING_RULE")

    @staticmethod
    def _ported(name: str) -> str:
        from torchada.porting import port_source

        return port_source(name.encode()).text.decode().rstrip("\n")


#: Private names whose meaning this release has too: with them, tests of what 0.1 does are more than tests of how it does it.
_MEANINGS = {
    "torchada._mapping._MAPPING_RULE": _PortedNames(),
    "torchada._patch._FORCE_CUDA_AVAILABLE_ENV": "TORCHADA_FORCE_CUDA_AVAILABLE",
    "torchada._patch._original_torch_device": torch.device,
    "torchada._patch._translate_device": lambda device: device if device is None else _translated(device),
}


def _translated(device: str | int | torch.device) -> str | int | torch.device:
    """A device as a tensor has it, in the form that it was given in."""
    if isinstance(device, int):
        return device
    found = torch.empty(0, device=device).device
    return str(found) if isinstance(device, str) else found


class _Module(ModuleType):
    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        path = f"{self.__name__}.{name}"
        return _MEANINGS[path] if path in _MEANINGS else _Private(path)


class _Private:
    """What a private module holds: it may be imported, and every use of it raises."""

    def __init__(self, name: str) -> None:
        self.__dict__["name"] = name

    def _refuse(self, *args: object, **kwargs: object) -> NoReturn:
        raise PrivateName(self.__dict__["name"])

    __call__ = __getitem__ = __iter__ = __contains__ = __len__ = __bool__ = __setattr__ = __add__ = _refuse
    __eq__ = __enter__ = __exit__ = __fspath__ = _refuse
    __hash__ = object.__hash__

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise PrivateName(f"{self.__dict__['name']}.{name}")
