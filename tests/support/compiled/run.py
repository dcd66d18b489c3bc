"""Run programs eagerly and compiled, each from the same state of the process."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from support.compiled.outcome import outcome, types_only
from support.compiled.program import Program


class Runner:
    """`spelling` is "cuda" or "musa", `backend` what torch.compile is given."""

    def __init__(self, spelling: str, backend: str) -> None:
        self.spelling, self.backend = spelling, backend
        self._space = getattr(torch, spelling)

    def seen(self, program: Program) -> dict[str, Any]:
        """`eager` and `compiled` outcomes; `full`, whether one graph did it, and `why` not."""
        used: set[int] = set()
        with _calls_noted(used):
            eager = self._outcome(program.function)
        # Without a native program to compare with, it does not matter whether the code is one graph.
        full = self._compiled(program, fullgraph=True) if program.native else ["raised", "", ""]
        why = ""
        same = types_only if program.volatile else (lambda seen: seen)
        if same(full) == same(eager):
            return {"eager": eager, "full": True, "compiled": full, "why": "", "used": used}
        if full[0] == "raised":
            why = f"{full[1]}: {full[2]}"
        return {"eager": eager, "full": False, "compiled": self.compiled(program), "why": why, "used": used}

    def eager(self, program: Program) -> Any:
        """The outcome of the program as it is."""
        return self._outcome(program.function)

    def compiled(self, program: Program) -> Any:
        """The outcome of compiled code that may break its graph."""
        return self._compiled(program, fullgraph=False)

    def _compiled(self, program: Program, *, fullgraph: bool) -> Any:
        torch._dynamo.eval_frame.remove_from_cache(program.function)
        function = torch.compile(program.function, backend=self.backend, fullgraph=fullgraph)
        return self._outcome(function)

    def _outcome(self, function: Callable[..., Any]) -> Any:
        self._settle()
        x = torch.arange(4.0, device=self.spelling)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seen = outcome(lambda: function(x))
        self._settle()
        return seen

    def _settle(self) -> None:
        """Undo what a program may have left behind."""
        space = self._space
        if self.spelling == "cuda":
            space.set_sync_debug_mode(0)
        for index in range(space.device_count()):
            space.set_stream(space.default_stream(index))
        space.set_device(0)
        torch.set_default_device(None)
        torch.set_default_dtype(torch.float32)
        torch.set_autocast_enabled(self.spelling, False)
        torch.manual_seed(0)
        # torch remembers on which device a factory of "cuda" without a number made a fake tensor, also when another is current.
        FakeTensorMode.cache_clear()


@contextmanager
def _calls_noted(used: set[int]) -> Iterator[None]:
    """Record what is called: code objects of functions, and functions implemented in C, by id."""

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            used.add(id(frame.f_code))
        elif event == "c_call":
            used.add(id(argument))

    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)
