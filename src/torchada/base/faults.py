"""Which errors are none of ours."""

from __future__ import annotations


def pass_on_interrupt(error: BaseException) -> None:
    """Raise the KeyboardInterrupt or SystemExit that `error` stands for, if any: it must not be reported as a fault of torchada.

    Until Python 3.12, what is raised in `__set_name__`, while a class is made, arrives as the cause of a RuntimeError. Start-up has
    these lines too, for the case that nothing of torchada can be imported.
    """
    cause = error.__cause__
    while cause is not None:
        if not isinstance(cause, Exception):
            raise cause
        cause = cause.__cause__
