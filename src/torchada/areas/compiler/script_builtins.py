"""Builtins of torch that torchada or the adapter has replaced by Python functions, as TorchScript sees them.

Factories have their own such patch, which other platforms have as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.script_builtins import ScriptBuiltins


def patches(context: Context) -> Iterator[Patch]:
    note = "TorchScript treats redirected functions as builtins"
    yield Patch(ScriptBuiltins(context.torch), "builtins", True, None, note=note)
