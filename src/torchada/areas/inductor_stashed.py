"""What Inductor leaves for the threads of autograd, in a torch (2.7) that takes no reference to it.

There an object dies once another one takes its place, though the module that left it still holds it. One module of graph trees
never notices; the backend's and torch's own, which use the same places, end in a crash.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip


def patches(context: Context) -> Iterator[Patch]:
    stash = context.torch._C._stash_obj_in_tls
    if _takes_a_reference(stash):
        raise Skip("this torch takes a reference to what it is given")
    yield Patch(context.torch._C, "_stash_obj_in_tls", _with_a_reference(stash), "torch._C._stash_obj_in_tls")


def _takes_a_reference(stash: Callable[[str, Any], None]) -> bool:
    probe: list[Any] = []
    before = sys.getrefcount(probe)
    stash("torchada", probe)
    taken = sys.getrefcount(probe) > before
    if not taken:
        _take_a_reference(probe)
    return taken


def _with_a_reference(original: Callable[[str, Any], None]) -> Callable[[str, Any], None]:
    def stash(key: str, value: Any) -> None:
        _take_a_reference(value)
        original(key, value)

    return disguise(stash, original)


def _take_a_reference(value: Any) -> None:
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))
