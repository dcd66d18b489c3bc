"""The views of a process: decided once for each package, and looked up by module at each question."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING
from weakref import WeakSet

from torchada._warnings import warn_once
from torchada.redirect.views.asker import Asker, Globals, asker, is_one, is_standard, key_of, names_one
from torchada.redirect.views.on_behalf import asks_on_behalf
from torchada.redirect.views.rules import Decision, Rules
from torchada.redirect.views.tracing import TRACING, traced_globals

if TYPE_CHECKING:
    from torchada._settings import Settings

# These stand between a function and its caller: recording functions, and proxies.
_BETWEEN = ("torchada.telemetry", "torchada.redirect.entry_point", "wrapt")

# Patches that are applied again after `disable` keep the views that they were made with.
_ALL: WeakSet[Views] = WeakSet()


def forget_all() -> None:
    """Let every view of this process be decided anew."""
    for views in list(_ALL):
        views.forget()


class Views:
    """Who sees CUDA. `decisions` are by package; the package of a script is the path of its file.

    `table` answers by module, for code that asks at each call: by `key_of(globals)`, and by name where that is unique. `decide`
    answers for what is not in it.
    """

    def __init__(self, settings: Settings, adapter: str) -> None:
        self._settings = settings
        self._rules = Rules(settings, adapter)
        self.table: dict[str, bool] = {}
        self.decisions: dict[str, Decision] = {}
        _ALL.add(self)

    def sees_cuda(self, namespace: Globals) -> bool:
        """Whether code whose globals are `namespace` sees CUDA; otherwise it sees the backend."""
        known = self.table.get(key_of(namespace))
        return self.decide(namespace) if known is None else known

    def decide(self, namespace: Globals) -> bool:
        """As `sees_cuda`, for globals that are not in the table. The answer is remembered where it is the same each time."""
        try:
            return self._view_of(namespace)
        except Exception as error:
            if self._settings.strict:
                raise
            name = namespace.get("__name__")
            warn_once(f"who asks cannot be found out, so {name} sees CUDA: {type(error).__name__}: {error}")
            return True

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

    def _view_of(self, namespace: Globals, frame: FrameType | None = None) -> bool:
        """The view of the code in `frame`, whose globals are `namespace`; None where it may be anywhere on the stack."""
        who = asker(namespace)
        if who.name in TRACING:
            traced = traced_globals()
            return traced is not None and self.sees_cuda(traced)
        passed_on_by = self._passed_on_by(who)
        if passed_on_by is None:
            answer = self.decision(who).sees_cuda
            self._remember(namespace, answer)
            return answer
        if frame is None:
            frame = _frame_of(namespace)
        if frame is None:  # a function that torch.compile is tracing
            frame, passed_on_by = sys._getframe(), self._rules.is_of_the_stack
        while frame is not None and passed_on_by(asker(frame.f_globals)):
            frame = frame.f_back
        return self._view_of(frame.f_globals, frame) if frame is not None else self._of_the_program()

    def _remember(self, namespace: Globals, answer: bool) -> None:
        """The native mechanism looks modules up by their name, and the portable one by their file."""
        if is_one(namespace):
            self.table[key_of(namespace)] = answer
        if names_one(namespace):
            self.table[namespace["__name__"]] = answer

    def _passed_on_by(self, who: Asker) -> Callable[[Asker], bool] | None:
        """For code that asks for somebody else: which code between the two passes the question on. None for all other code.

        The standard library asks for whoever called it: `logging` for the line that logs a device. With torch it is torch.
        """
        if _is_between(who):
            return _is_between
        if asks_on_behalf(who.name):
            return self._rules.is_of_the_stack
        return is_standard if is_standard(who) else None

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
