"""Output that another program reads and may stop reading: `torchada status | head -1`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable


def quiet(act: Callable[[], int]) -> int:
    """The result of `act`; once its reader has gone, the exit code that a shell reports for a program ended by SIGPIPE."""
    try:
        code = act()
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes once more when it ends, and would report an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    return code
