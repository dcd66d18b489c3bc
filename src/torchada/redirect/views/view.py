"""The views of a process: decided once for each package, and looked up by module at each question."""

from __future__ import annotations

import sys
from types import FrameType
from typing import TYPE_CHECKING

from torchada.redirect.views.asker import Asker, Globals, asker, key_of
from torchada.redirect.views.rules import ON_BEHALF, Decision, Rules
from torchada.redirect.views.tracing import TRACING, traced_globals

if TYPE_CHECKING:
    from torchada._settings import Settings

# Functions in Python that answer by who asks stand between these decisions and the frame that asks.
_OURS = "torchada.redirect.views"
# The functions that record calls stand between a replacement and its caller.
_RECORDING = "torchada.telemetry"


class Views:
    """Who sees CUDA. `decisions` are by package.

    `table` answers by module, for code that asks at each call: by `key_of(globals)`. What is not in it is decided by `decide`.
    """

    def __init__(self, settings: Settings, adapter: str) -> None:
        self._rules = Rules(settings, adapter)
        self.table: dict[str, bool] = {}
        self.decisions: dict[str, Decision] = {}

    def sees_cuda(self, namespace: Globals) -> bool:
        """Whether code whose globals are `namespace` sees CUDA; otherwise it sees the backend."""
        known = self.table.get(key_of(namespace))
        return self.decide(namespace) if known is None else known

    def decide(self, namespace: Globals) -> bool:
        """As `sees_cuda`, for globals that are not in the table. The answer is remembered where it is the same each time."""
        who = asker(namespace)
        if who.name.startswith(_RECORDING):
            return self._of_the_recorded()
        if who.name in TRACING:
            traced = traced_globals()
            return traced is not None and self.sees_cuda(traced)
        if _asks_on_behalf(who):
            return self._of_the_program()
        if self._rules.is_of_the_library(who):
            return self._of_the_librarys_user()
        answer = self.decision(who).sees_cuda
        self.table[key_of(namespace)] = answer
        return answer

    def decision(self, who: Asker) -> Decision:
        """The decision for the package that `who` belongs to."""
        known = self.decisions.get(who.package)
        if known is None:
            known = self.decisions[who.package] = self._rules.decide(who)
        return known

    def forget(self) -> None:
        """Decide anew from now on."""
        self.decisions.clear()
        self.table.clear()

    def _of_the_librarys_user(self) -> bool:
        """The view of the innermost frame outside of the standard library, which formats and calls for others; it compares nothing.

        So a log's lines say what the program's own texts say, and a thread pool calls as the program would. Without such a frame,
        as where a thread's target is a builtin, it is the main program's.
        """
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            who = asker(frame.f_globals)
            if not self._rules.is_of_the_library(who) and not who.name.startswith(_OURS):
                return self.sees_cuda(frame.f_globals)
            frame = frame.f_back
        main = vars(sys.modules["__main__"]) if "__main__" in sys.modules else {}
        who = asker(main)
        return self.decision(Asker("", "", ()) if self._rules.is_of_the_library(who) else who).sees_cuda

    def _of_the_recorded(self) -> bool:
        """The view of the code that calls a function whose calls are recorded."""
        frame: FrameType | None = sys._getframe(2)
        names = []
        while frame is not None:
            names.append(str(frame.f_globals.get("__name__")))
            if len(names) > 1 and names[-2].startswith(_RECORDING) and not names[-1].startswith(_RECORDING):
                return self.sees_cuda(frame.f_globals)
            frame = frame.f_back
        return False

    def _of_the_program(self) -> bool:
        """The view of the innermost frame that is neither torch's nor the standard library's; without one, that of CUDA code."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            who = asker(frame.f_globals)
            if not self._rules.is_of_the_stack(who):
                return self.sees_cuda(frame.f_globals)
            frame = frame.f_back
        return self.decision(Asker("", "", ())).sees_cuda


def _asks_on_behalf(who: Asker) -> bool:
    return any(who.name == each or who.name.startswith(f"{each}.") for each in ON_BEHALF)
