"""An error that ends the program is followed by the way out, where one is known."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import TracebackType

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

Hook = Callable[[type[BaseException], BaseException, TracebackType | None], object]


def patches(context: Context) -> Iterator[Patch]:
    if context.backend.computes_on is not None:
        raise Skip("there is no device whose errors would need a hint")
    yield Patch(
        sys, "excepthook", _hook(context, sys.excepthook), None, note="the way out of an error that ends the program"
    )


def _hook(context: Context, original: Hook) -> Hook:
    """Whatever was there shows the error first; what is put in its place later decides whether to call us."""

    def excepthook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> object:
        shown = original(kind, error, traceback)
        try:
            from torchada.areas.cuda._hints import way_out  # no program needs it before it fails

            way = way_out(error, context.backend)
            if way and sys.stderr is not None:
                sys.stderr.write(f"torchada: {way}\n")
        except Exception:  # the error of the program is what counts, and it has been shown
            pass
        return shown

    return disguise(excepthook, original)
