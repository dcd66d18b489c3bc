"""Commands that are read by others: `torchada status | head -1`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable


def quiet(act: Callable[[], int]) -> int:
    """What `act` returns; once its reader has gone, what a shell says of a program that SIGPIPE has ended."""
    try:
        code = act()
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes once more at its end, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    return code
