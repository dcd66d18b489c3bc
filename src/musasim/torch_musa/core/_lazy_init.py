"""Lazy initialisation. The first call that needs the device initialises it; a child forked after that cannot use it."""

# ruff: noqa: F401

from __future__ import annotations

import contextlib
import faulthandler
import threading
import traceback
from collections.abc import Callable
from typing import Any, Literal

import torch

from musasim.base import settings

from .. import _MUSAC, torch_musa
from ._utils import _get_musa_device_index

_tls = threading.local()
_initialization_lock = threading.Lock()
_initialized = False
_queued_calls: list[tuple[Callable[[], None], list[str]]] = []
_is_in_bad_fork: Callable[[], bool] = getattr(_MUSAC, "_musa_isInBadFork", lambda: False)
_musart: Any = None
default_generators: tuple[torch.Generator, ...] = ()


class _LazySeedTracker:
    """Queues seeds that are set before initialisation. The latest one wins, whichever call set it."""

    def __init__(self) -> None:
        self.manual_seed_all_cb: Any = None
        self.manual_seed_cb: Any = None
        self.call_order: list[Any] = []

    def queue_seed_all(self, cb: Callable[[], None], traceback: list[str]) -> None:
        self.manual_seed_all_cb = (cb, traceback)
        self.call_order = [self.manual_seed_cb, self.manual_seed_all_cb]

    def queue_seed(self, cb: Callable[[], None], traceback: list[str]) -> None:
        self.manual_seed_cb = (cb, traceback)
        self.call_order = [self.manual_seed_all_cb, self.manual_seed_cb]

    def get_calls(self) -> list[Any]:
        return self.call_order


_lazy_seed_tracker = _LazySeedTracker()


class DeferredMusaCallError(Exception):
    """A call that was queued before initialisation failed when it ran."""


class MusaError(RuntimeError):
    """A runtime call returned an error code."""

    def __init__(self, code: int) -> None:
        # The number itself, or the name that the runtime's binding has for it.
        super().__init__(f"{musart().musaGetErrorString(musart().musaError(code))} ({code})")


def is_initialized() -> bool:
    """Whether this process has initialised the device; a forked child has not."""
    return _initialized and not _is_in_bad_fork()


def _lazy_call(callable: Callable[[], None], **kwargs: Any) -> None:
    """Call it now, or when the device is initialised."""
    with _initialization_lock:
        if is_initialized():
            callable()
            return
        # The text is needed only if the deferred call fails, and formatting is slow, so keep the frames.
        where = traceback.format_stack()
        if kwargs.get("seed_all", False):
            _lazy_seed_tracker.queue_seed_all(callable, where)
        elif kwargs.get("seed", False):
            _lazy_seed_tracker.queue_seed(callable, where)
        else:
            _queued_calls.append((callable, where))


def init() -> None:
    """Initialise the device now."""
    _lazy_init()


def _lazy_init() -> None:
    if is_initialized() or hasattr(_tls, "is_initializing"):
        return
    with _initialization_lock:
        if is_initialized():
            return
        _check_not_forked()
        # The calls below use the device and enter _lazy_init again. The flag keeps this thread from waiting for itself.
        _tls.is_initializing = True
        try:
            _show_where_faults_are()
            _MUSAC._musa_init()
            _run_queued_calls()
        finally:
            del _tls.is_initializing
        _publish()


def _show_where_faults_are() -> None:
    """With MUSASIM_PROTECT=1, let the report of a fault end with Python's stack. A stderr without a file cannot show it."""
    if settings.is_on("MUSASIM_PROTECT") and not faulthandler.is_enabled():
        with contextlib.suppress(OSError, ValueError, AttributeError, RuntimeError):
            faulthandler.enable()


def _check_not_forked() -> None:
    if _is_in_bad_fork():
        raise RuntimeError(
            "Cannot re-initialize MUSA in forked subprocess. To use MUSA with "
            "multiprocessing, you must use the 'spawn' start method"
        )


def _run_queued_calls() -> None:
    _queued_calls.extend(calls for calls in _lazy_seed_tracker.get_calls() if calls)
    for queued_call, where in _queued_calls:
        try:
            queued_call()
        except Exception as error:
            raise DeferredMusaCallError(
                f"MUSA call failed lazily at initialization with error: {error}\n\n"
                f"MUSA call was originally invoked at:\n\n{''.join(where)}"
            ) from error


def _publish() -> None:
    global _initialized, default_generators
    _initialized = True
    default_generators = torch_musa.default_generators
    # torch_musa 2.7.1 copies the flag at import, so torch.musa._initialized stays False for ever. torch's
    # checkpoint() reads it to decide whether to keep the device's random state, and with False it recomputes with
    # other dropout masks, which gives wrong gradients without a message. A simulator must not compute wrong results.
    torch_musa._initialized = True


def musart() -> Any:
    """The runtime's own functions, such as musaGetErrorString and musaMemGetInfo."""
    global _musart
    _lazy_init()
    if _musart is None:
        _musart = _MUSAC._musart
    return _musart


def check_error(res: int) -> None:
    """Raise MusaError unless a runtime call returned success."""
    if res != musart().musaError.success:
        raise MusaError(res)


class device:
    """Make `device` current inside the block. The public class of that name is core.device.Device."""

    def __init__(self, device: Any) -> None:
        self.idx = _get_musa_device_index(device, optional=True)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = _MUSAC._musa_exchangeDevice(self.idx)

    def __exit__(self, type: Any, value: Any, traceback: Any) -> Literal[False]:
        self.idx = _MUSAC._musa_maybeExchangeDevice(self.prev_idx)
        return False


@staticmethod  # type: ignore[misc]
def _lazy_new(cls: Any, *args: Any, **kwargs: Any) -> Any:
    # Legacy constructors do not call the factory functions, which initialise the device themselves.
    _lazy_init()
    return super(_MusaBase, cls).__new__(cls, *args, **kwargs)


class _MusaBase:
    """What legacy storage classes share."""

    is_cuda = True
    is_sparse = False

    def type(self, *args: Any, **kwargs: Any) -> Any:
        with device(self.get_device()):  # type: ignore[attr-defined]
            return super().type(*args, **kwargs)  # type: ignore[misc]

    __new__ = _lazy_new


# Not at the top, because that module imports this one. The real package has the classes under both names.
from .musa import (  # noqa: E402
    BFloat16Storage,
    BoolStorage,
    ByteStorage,
    CharStorage,
    DoubleStorage,
    FloatStorage,
    HalfStorage,
    IntStorage,
    LongStorage,
    ShortStorage,
)
