"""torch.cuda.set_sync_debug_mode: warn about operations that make the host wait for the device, or refuse them.

On CUDA the calls of the runtime are checked. Here a dispatch mode of torch checks every operation of the thread that has switched
the mode on, and only while it is on.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from numbers import Integral
from types import FrameType
from typing import TYPE_CHECKING, Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torch import Tensor
    from torch._ops import OpOverload

    Arguments = tuple[Any, ...]  # of an operator, whose schema says what they are
    Keywords = dict[str, Any]

_LEVELS = {"default": 0, "warn": 1, "error": 2}
# Operators whose result, or its size, the host needs; that look for errors, or at numbers of the device, before they go on; that
# the host has a part in; and lift_fresh, which ends torch.tensor(values, device="cuda").
_WAITING = frozenset(
    f"aten::{name}"
    for name in (
        "_ctc_loss",
        "_linalg_check_errors",
        "_linalg_eigvals",
        "_local_scalar_dense",
        "_to_sparse",
        "_to_sparse_bsc",
        "_to_sparse_bsr",
        "_to_sparse_csc",
        "_to_sparse_csr",
        "_unique",
        "_unique2",
        "allclose",
        "bincount",
        "cholesky",
        "equal",
        "is_nonzero",
        "lift_fresh",
        "linalg_eig",
        "linalg_eigvals",
        "linalg_lstsq",
        "linalg_matrix_exp",
        "masked_select",
        "nonzero",
        "unique_consecutive",
        "unique_dim",
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
        original: Callable[..., object] = getattr(cuda, call.__name__)
        yield Patch(
            cuda,
            call.__name__,
            disguise(call, original),
            f"torch.cuda.{call.__name__}",
            kind="emulated",
            to="a dispatch mode",
        )


def _level(debug_mode: int | str) -> int:
    """The level that a program names, refused as by CUDA: a bool is no number, and neither is 1.0."""
    if isinstance(debug_mode, str):
        if debug_mode not in _LEVELS:
            raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, `error`")
        return _LEVELS[debug_mode]
    if not isinstance(debug_mode, Integral) or isinstance(debug_mode, bool):
        raise RuntimeError("invalid argument to set_sync_debug_mode")
    if debug_mode not in (0, 1, 2):
        raise RuntimeError("invalid value of debug_mode, expected one of 0,1,2")
    return int(debug_mode)


class _Watch:
    """The level in force, and the dispatch mode while there is one."""

    def __init__(self, context: Context) -> None:
        self.level = 0
        self._context = context
        self._mode: AbstractContextManager[object] | None = None

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
        """Called before an operation for which the host waits."""
        if self.level == 2:
            raise RuntimeError(f"called a synchronizing CUDA operation: {name}")
        if self.level == 1:
            frame = _caller()
            text, place = f"called a synchronizing CUDA operation: {name}", (frame.f_code.co_filename, frame.f_lineno)
            warnings.warn_explicit(
                text, UserWarning, *place, registry=frame.f_globals.setdefault("__warningregistry__", {})
            )


def _caller() -> FrameType:
    """The frame of the program: the innermost one that is neither torch's nor ours."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_back is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] not in ("torch", "torchada"):
            break
        frame = frame.f_back
    assert frame is not None
    return frame


def _is_innermost(mode: object) -> bool:
    # The mode cannot be left while another mode is on top of it. It then stays on the stack, and does nothing.
    from torch.utils._python_dispatch import _get_current_dispatch_mode

    return _get_current_dispatch_mode() is mode


def _dispatch_mode(context: Context, watch: _Watch) -> AbstractContextManager[object]:
    from torch.utils._python_dispatch import TorchDispatchMode

    device_type = context.backend.device_type

    class SyncDebugMode(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(
            self, func: OpOverload[..., object], types: object, args: Arguments = (), kwargs: Keywords | None = None
        ) -> object:
            kwargs = kwargs or {}
            name = func._schema.name
            if _waits(name, args, kwargs, device_type):
                watch.saw(name)
            return func(*args, **kwargs)

    return SyncDebugMode()  # type: ignore[no-untyped-call]


def _sorts(elements: Tensor, tests: Tensor, assume_unique: bool = False, **_: object) -> bool:
    """Whether isin looks for what is there several times, and does not compare each with each."""
    return not assume_unique and tests.numel() >= 10 * elements.numel() ** 0.145


# Operators for which the host waits in some of their calls, by what they are called with.
_SOMETIMES: dict[str, Callable[..., bool]] = {
    "aten::_linalg_svd": lambda a, *_, **__: a.numel() != 0,  # looks whether it has converged
    "aten::histc": lambda a, bins=100, min=0, max=0: min == max,  # looks for the least and the largest
    "aten::isin": _sorts,
    "aten::linalg_pinv": lambda a, *_, hermitian=False, **__: a.numel() != 0 and not hermitian,
    "aten::repeat_interleave": lambda repeats, *_, output_size=None: output_size is None,
    "aten::segment_reduce": lambda *_, lengths=None, unsafe=False, **__: lengths is not None and not unsafe,
}
# The places of numbers that an operator reads if they are tensors of the device.
_NUMBERS = {
    "aten::index_fill": (3,),
    "aten::linspace": (0, 1),
    "aten::logspace": (0, 1),
    "aten::masked_fill": (2,),
    "aten::normal": (1,),
}


def _is_on(value: object, device_type: str) -> bool:
    device = getattr(value, "device", None)
    return device is not None and device.type == device_type


def _waits(name: str, args: Arguments, kwargs: Keywords, device_type: str) -> bool:
    """Whether the host has to wait for the outcome of this operation."""
    if name in _WAITING:
        return _is_on(args[0], device_type)
    own = name.removesuffix("_")
    if own in _NUMBERS:
        return any(_is_on(args[place], device_type) for place in _NUMBERS[own] if place < len(args))
    if name in _SOMETIMES:
        return _is_on(args[0], device_type) and _SOMETIMES[name](*args, **kwargs)
    if name in _BY_MASK:  # the device counts how many elements a mask selects
        return any(_is_on(index, device_type) and not index.dtype.is_signed for index in args[1] if index is not None)
    return name in _COPIES and _crosses(name, args, kwargs, device_type)


def _crosses(name: str, args: Arguments, kwargs: Keywords, device_type: str) -> bool:
    """Whether a copy goes between host and device without `non_blocking`."""
    if kwargs.get("non_blocking") or (len(args) > 2 and args[2]):
        return False
    if name == "aten::_to_copy":
        target = kwargs.get("device")
        return target is not None and (target.type == device_type) != _is_on(args[0], device_type)
    return _is_on(args[0], device_type) != _is_on(args[1], device_type)
