"""Decides the view of code that asks: once for each package, and for code that asks on behalf of others at each question."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

from torchada.views.asker import Asker, asker, asks_for_its_caller, is_one
from torchada.views.askers_for_others import asks_on_behalf
from torchada.views.asking import Globals, key_of
from torchada.views.decision import Decision
from torchada.views.rules import Rules
from torchada.views.state import State
from torchada.views.tracing import TRACING, traced_globals

# These stand between a function and its caller: recording functions, proxies, and what shows the error that ends a program.
_BETWEEN = ("torchada.telemetry", "torchada.redirect.entry_point", "torchada.areas.cuda.hints", "wrapt")


class Decider:
    """`decisions` are by package; answers that stay the same are given to `state`, by module."""

    def __init__(self, rules: Rules, state: State) -> None:
        self._rules = rules
        self._state = state
        self.decisions: dict[str, Decision] = {}
        self._askers: dict[str, Asker] = {}

    def decision(self, who: Asker) -> Decision:
        """The decision for the package that `who` belongs to."""
        known = self.decisions.get(who.package)
        if known is None:
            known = self.decisions[who.package] = self._rules.decide(who)
        return known

    def is_told_cuda(self, namespace: Globals) -> bool:
        """Whether the user, or a row of the table, says that code with these globals sees CUDA."""
        return self.view_of(namespace) and self._rules.is_said(self._asker(namespace))

    def view_of(self, namespace: Globals, frame: FrameType | None = None) -> bool:
        """The view of the code in `frame`, whose globals are `namespace`; None where it may be anywhere on the stack."""
        who = self._asker(namespace)
        if who.name in TRACING:
            traced = traced_globals()
            return traced is not None and self.view_of(traced)
        passed_on_by = self._passed_on_by(who)
        if passed_on_by is None:
            answer = self.decision(who).sees_cuda
            if is_one(namespace):
                self._state.keep(self, key_of(namespace), answer)
            return answer
        if frame is None:
            frame = _frame_of(namespace)
        if frame is None:  # a function that torch.compile is tracing
            frame, passed_on_by = sys._getframe(), self._rules.is_of_the_stack
        while frame is not None and passed_on_by(self._asker(frame.f_globals)):
            frame = frame.f_back
        return self.view_of(frame.f_globals, frame) if frame is not None else self._of_the_program()

    def _asker(self, namespace: Globals) -> Asker:
        """As `asker`, remembered: all frames of a stack may have to be looked at."""
        known = self._askers.get(key_of(namespace))
        if known is None:
            known = asker(namespace)
            if is_one(namespace):
                self._askers[key_of(namespace)] = known
        return known

    def _passed_on_by(self, who: Asker) -> Callable[[Asker], bool] | None:
        """For code that asks for somebody else: which code between the two passes the question on. None for all other code.

        The standard library asks for whoever called it: `logging` for the line that logs a device. With torch it is torch.
        """
        if _is_between(who):
            return _is_between
        if asks_on_behalf(who.name):
            return self._rules.is_of_the_stack
        return asks_for_its_caller if asks_for_its_caller(who) else None

    def _of_the_program(self) -> bool:
        """The view of the script or module that was started, where it is not on the stack: in another thread, for instance."""
        main = asker(vars(sys.modules["__main__"]))
        return self.decision(Asker("", "", ()) if self._rules.is_of_the_stack(main) else main).sees_cuda


def _is_between(who: Asker) -> bool:
    return who.name.startswith(_BETWEEN)


def _frame_of(namespace: Globals) -> FrameType | None:
    """The innermost frame with these globals."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals is not namespace:
        frame = frame.f_back
    return frame
