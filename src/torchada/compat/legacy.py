"""What torchada 0.1 offered and this release offers otherwise: each works, and a DeprecationWarning names the better way.

docs/how-to/move-from-0.1.md lists all of it. Nothing here is loaded unless a program uses a name of 0.1.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

from torchada.base.warnings import warn
from torchada.redirect.engine import ENGINE
from torchada.redirect.unsupported import UnsupportedError


class UnsupportedImportError(UnsupportedError, ImportError):
    """A module of torchada 0.1 that has no counterpart; programs that can do without a module catch ImportError."""


def deprecated(name: str, instead: str) -> None:
    """Warn, at the line of the program, that `name` is of torchada 0.1."""
    warn(f"{name} is a name of torchada 0.1; use {instead}", DeprecationWarning)


def absent(module: str, instead: str) -> UnsupportedImportError:
    """The error for a module of 0.1 that cannot be had here."""
    error = UnsupportedImportError(f"{module} was a part of torchada 0.1 and is not in this release; {instead}")
    error.name = module
    return error


def apply_patches() -> None:
    """Redirect what has been imported, as `torchada.enable` does. Does nothing where that has been done already."""
    from torchada.control.switch import enable

    deprecated("torchada.apply_patches", "torchada.enable(), or nothing: a start-up file does it")
    enable()


def get_original_init_process_group() -> Callable[..., None]:
    """PyTorch's own torch.distributed.init_process_group, which does not know "nccl" on this device. Imports torch."""
    deprecated("torchada.get_original_init_process_group", "`with torchada.disabled():`")
    group: Any = import_module("torch.distributed.distributed_c10d")
    for records in ENGINE.applied().values():
        for record in records:
            if record.patch.owner is group and record.patch.name == "init_process_group":
                return cast("Callable[..., None]", record.before)
    return cast("Callable[..., None]", group.init_process_group)


def names_of(path: str) -> Callable[[str], Any]:
    """A module's `__getattr__` for `torchada.<path>`, whose names are those of `torch.<path>`. The first use imports torch."""

    def of_torch(name: str) -> Any:
        owner = import_module(f"torch.{path}")
        if name.startswith("__") or not hasattr(owner, name):
            raise AttributeError(f"module 'torchada.{path}' has no attribute {name!r}")
        if name == "is_available":  # it has always asked the device, whatever torch.cuda's answers
            deprecated("torchada.cuda.is_available", "torchada.get_backend().is_available")
            return _device().is_available
        deprecated(f"torchada.{path}.{name}", f"torch.{path}.{name}")
        return getattr(owner, name)

    return of_torch


def _device() -> Any:
    from torchada.control import platforms

    return import_module("torch.cuda") if platforms.is_cpu_platform() else platforms.get_backend()
