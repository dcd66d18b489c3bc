"""An owner of patches: kernels written in Python, of ATen's operators for dispatch keys of the backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchada.redirect.owners import MISSING


class Kernels:
    """By the operator's name, without namespace: its kernel for each of `keys`."""

    __torchada_owner__ = True

    def __init__(self, torch: Any, *keys: str) -> None:
        self._torch = torch
        self._keys = keys
        self._in_force: dict[str, tuple[Callable[..., Any], Any]] = {}

    def get(self, name: str) -> Any:
        return self._in_force[name][0] if name in self._in_force else MISSING

    def set(self, name: str, kernel: Callable[..., Any]) -> None:
        library = self._torch.library.Library("aten", "IMPL")
        for key in self._keys:
            library.impl(name, kernel, key)
        self._in_force[name] = kernel, library

    def delete(self, name: str) -> None:
        _, library = self._in_force.pop(name)
        library._destroy()


def untraced(torch: Any, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """`kernel`, which torch.compile is to leave alone: C++ calls it in the middle of what runs, and Dynamo sees a new frame."""
    frames = torch._C._dynamo.eval_frame
    skip = frames._FrameExecStrategy(frames._FrameAction.SKIP, frames._FrameAction.DEFAULT)
    frames.set_code_exec_strategy(kernel.__code__, skip)
    return kernel
