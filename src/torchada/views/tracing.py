"""Questions that torch.compile evaluates while it traces a function are that function's own, and not torch's.

A function belongs to one module, so what is compiled for it never has to be compiled again for the other view.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

# The modules of torch.compile that evaluate the traced function's expressions. None of them asks for purposes of its own.
_MODULES = (
    "base",
    "builtin",
    "constant",
    "dicts",
    "distributed",
    "functions",
    "lists",
    "misc",
    "object_protocol",
    "script_object",
    "torch",
    "user_defined",
)
TRACING = frozenset(f"torch._dynamo.variables.{name}" for name in _MODULES)
_TRANSLATORS = "torch._dynamo.symbolic_convert"


def traced_globals() -> dict[str, Any] | None:
    """The globals of the function that torch.compile is tracing in this thread; None where it traces none."""
    translator: Any = getattr(sys.modules.get(_TRANSLATORS), "InstructionTranslatorBase", None)
    frame: FrameType | None = sys._getframe(1) if translator is not None else None
    while frame is not None:
        # What torch calls the translator of a function, in its functions and in the translator's own methods.
        for name in ("tx", "self"):
            candidate = frame.f_locals.get(name)
            if isinstance(candidate, translator):
                namespace: dict[str, Any] = candidate.f_globals
                return namespace
        frame = frame.f_back
    return None
