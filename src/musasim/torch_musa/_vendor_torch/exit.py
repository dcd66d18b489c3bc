"""Lets autograd's device threads release their Python objects before the interpreter shuts down.

After a backward pass such a thread still has Python objects to release, and waits for the interpreter lock to do so. A
program that ends at that moment never gives the lock back. Up to Python 3.13 the thread is then killed inside C++ code,
and the process aborts. On a GPU the end of a program takes long enough, but a small program here is too fast.
"""

from __future__ import annotations

import atexit
import sys
import time

_LONG_ENOUGH = 0.01


def _wait_for_device_threads() -> None:
    package = sys.modules.get("torch_musa")
    if package is not None and package.is_initialized():
        # Sleeping releases the lock to the waiting threads.
        time.sleep(_LONG_ENOUGH)


def install() -> None:
    atexit.unregister(_wait_for_device_threads)
    atexit.register(_wait_for_device_threads)
