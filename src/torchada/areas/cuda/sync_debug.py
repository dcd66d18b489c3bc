"""torch.cuda.set_sync_debug_mode: warn of, or refuse, operations that make the host wait for the device.

CUDA does it where its runtime is called. Here it is the dispatcher that shows them: while the mode is on, and only then, a
dispatch mode of torch's looks at every operation of the thread that has switched it on.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

_LEVELS = {"default": 0, "warn": 1, "error": 2}
# Operators whose result's size, or the result itself, the host has to know.
_WAITING = frozenset(
    f"aten::{name}"
    for name in (
        "_local_scalar_dense",
        "equal",
        "is_nonzero",
        "masked_select",
        "nonzero",
        "unique_consecutive",
        "unique_dim",
        "_unique",
        "_unique2",
    )
)
_BY_MASK = frozenset({"aten::index", "aten::index_put_", "aten::index_put"})
_COPIES = frozenset({"aten::copy_", "aten::_to_copy", "aten::_copy_from"})


def patches(context: Context) -> Iterator[Patch]:
    cuda, watch = context.torch.cuda, _Watch(context)

    def set_sync_debug_mode(debug_mode: int | str) -> None:
        watch.set(_level(debug_mode))

    def get_sync_debug_mode() -> int:
        return watch.level

    for call in (set_sync_debug_mode, get_sync_debug_mode):
        original: Callable[..., Any] = getattr(cuda, call.__name__)
        yield Patch(
            cuda,
            call.__name__,
            disguise(call, original),
            f"torch.cuda.{call.__name__}",
            kind="emulated",
            to="a dispatch mode",
        )


def _level(debug_mode: int | str) -> int:
    level = _LEVELS.get(debug_mode) if isinstance(debug_mode, str) else debug_mode
    if level not in (0, 1, 2):
        expected = "`default`, `warn`, `error`, 0, 1, 2"
        raise RuntimeError(f"invalid value of debug_mode, expected one of {expected}, but got {debug_mode!r}")
    return level


class _Watch:
    """The level in force, and the dispatch mode while there is one."""

    def __init__(self, context: Context) -> None:
        self.level = 0
        self._context = context
        self._mode: Any = None

    def set(self, level: int) -> None:
        """Switch to 0 (off), 1 (warn) or 2 (raise)."""
        self._context.torch.cuda._lazy_init()
        self.level = level
        if level and self._mode is None:
            self._mode = _dispatch_mode(self._context, self)
            self._mode.__enter__()
        elif not level and self._mode is not None and _is_innermost(self._mode):
            self._mode.__exit__(None, None, None)
            self._mode = None

    def saw(self, name: str) -> None:
        """A waiting operation is about to run."""
        if self.level == 2:
            raise RuntimeError(f"called a synchronizing CUDA operation: {name}")
        if self.level == 1:
            frame = _caller()
            text, place = f"called a synchronizing CUDA operation: {name}", (frame.f_code.co_filename, frame.f_lineno)
            warnings.warn_explicit(
                text, UserWarning, *place, registry=frame.f_globals.setdefault("__warningregistry__", {})
            )


def _caller() -> FrameType:
    """The program's line: the innermost frame that is neither torch's nor ours."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_back is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] not in ("torch", "torchada"):
            break
        frame = frame.f_back
    assert frame is not None
    return frame


def _is_innermost(mode: Any) -> bool:
    # Within another mode it cannot be left; it then stays, and lets everything pass.
    from torch.utils._python_dispatch import _get_current_dispatch_mode

    return _get_current_dispatch_mode() is mode


def _dispatch_mode(context: Context, watch: _Watch) -> Any:
    from torch.utils._python_dispatch import TorchDispatchMode

    device_type = context.backend.device_type

    class SyncDebugMode(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            name = func._schema.name
            if _waits(name, args, kwargs, device_type):
                watch.saw(name)
            return func(*args, **kwargs)

    return SyncDebugMode()  # type: ignore[no-untyped-call]


def _is_on(value: Any, device_type: str) -> bool:
    device = getattr(value, "device", None)
    return device is not None and device.type == device_type


def _waits(name: str, args: Any, kwargs: Any, device_type: str) -> bool:
    """Whether the host has to wait for the outcome of this operation."""
    if name in _WAITING:
        return _is_on(args[0], device_type)
    if name in _BY_MASK:  # how many places a mask chooses is counted on the device
        return any(_is_on(index, device_type) and not index.dtype.is_signed for index in args[1] if index is not None)
    return name in _COPIES and _crosses(name, args, kwargs, device_type)


def _crosses(name: str, args: Any, kwargs: Any, device_type: str) -> bool:
    """Whether a copy goes between host and device without `non_blocking`."""
    if kwargs.get("non_blocking") or (len(args) > 2 and args[2]):
        return False
    if name == "aten::_to_copy":
        target = kwargs.get("device")
        return target is not None and (target.type == device_type) != _is_on(args[0], device_type)
    return _is_on(args[0], device_type) != _is_on(args[1], device_type)
