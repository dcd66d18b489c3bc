"""Lets autograd's device threads put down what they hold before the interpreter is taken apart.

After a backward pass such a thread still has Python objects to release, and waits for the interpreter lock to do so. A
program that ends right then takes the lock away for good; up to Python 3.13 the thread is killed in the middle of C++
code and the process aborts. On a GPU the end of a program gives them time enough, a small program here does not.
"""

from __future__ import annotations

import atexit
import sys
import time

_LONG_ENOUGH = 0.01


def _wait_for_device_threads() -> None:
    package = sys.modules.get("torch_musa")
    if package is not None and package.is_initialized():
        # Sleeping gives the lock to those who wait for it.
        time.sleep(_LONG_ENOUGH)


def install() -> None:
    atexit.unregister(_wait_for_device_threads)
    atexit.register(_wait_for_device_threads)
