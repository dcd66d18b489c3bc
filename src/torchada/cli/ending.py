"""How a command ends where its reader has gone, where its output finds no room, and at Ctrl-C: in one line, with a code for it.

`torchada status | head -1` ends as a shell reports a program that SIGPIPE ended, Ctrl-C as one that SIGINT ended.
"""

from __future__ import annotations

import argparse
import errno
import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any

from torchada.base.warnings import TorchadaError

_READER_GONE = 128 + signal.SIGPIPE
_INTERRUPTED = 128 + signal.SIGINT
_FAILED = 2
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def in_one_line(command: str, act: Callable[[], int]) -> int:
    """The exit code of `act`; for what ends it before its time a line on stderr and the code for that."""
    try:
        code = act()
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        _drop(sys.stdout)
        return _READER_GONE
    except OSError as error:
        if _lacks_folder():
            _say(f"{command}: the current folder is not there any more")
            return _FAILED
        if error.errno not in _NO_ROOM or error.filename is not None:  # the output has no name
            raise
        _drop(sys.stdout)
        _say(f"{command}: the output cannot be written: {error.strerror}")
        return _FAILED
    except TorchadaError as error:
        _say(f"{command}: {error}")
        return _FAILED
    except KeyboardInterrupt:
        _say(f"{command}: interrupted")
        return _INTERRUPTED
    return code


def code(options: argparse.Namespace, document: Mapping[str, Any], otherwise: int) -> int:
    """The exit code of a run whose report is `document`; a line says where Ctrl-C ended it."""
    if not document["interrupted"]:
        return otherwise
    _say(f"torchada {options.command}: interrupted {document['interrupted']}")
    return _INTERRUPTED


def _lacks_folder() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _drop(stream: Any) -> None:
    """Write nothing more: the interpreter flushes once more when it ends, and would report an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _say(line: str) -> None:
    if sys.stderr is not None:
        print(line, file=sys.stderr)
