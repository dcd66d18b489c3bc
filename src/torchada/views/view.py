"""The views of a process: a table by module, which is looked up at each question, and what decides where it has no answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchada.base.warnings import warn_once
from torchada.views.asking import Globals, key_of
from torchada.views.state import Decider, State

if TYPE_CHECKING:
    from torchada.backends.descriptor import Backend
    from torchada.base.settings import Settings
    from torchada.views.decision import Decision


class Views:
    """Who sees CUDA. `table` answers for modules that have asked before, by `key_of(globals)`; `decide` for all others.

    What decides is loaded at the first question, because `import torch` asks none. `state` is what the process knows; the rules of
    the views that were made last are in force there.
    """

    def __init__(
        self, settings: Settings, adapter: str, backend: Backend | None = None, state: State | None = None
    ) -> None:
        self._settings = settings
        self._adapter = adapter
        self._backend = backend
        self.state = State() if state is None else state
        self.state.begin(self._decider)
        self.table = self.state.table

    @property
    def decisions(self) -> dict[str, Decision]:
        """The decisions so far, by package; the package of a script is the path of its file."""
        decider = self.state.decider
        return {} if decider is None else decider.decisions

    def sees_cuda(self, namespace: Globals) -> bool:
        """Whether code whose globals are `namespace` sees CUDA; otherwise it sees the backend."""
        known = self.table.get(key_of(namespace))
        return self.decide(namespace) if known is None else known

    def decide(self, namespace: Globals) -> bool:
        """As `sees_cuda`, for globals that are not in the table. The answer is remembered where it is the same each time."""
        try:
            return self.state.decisive().view_of(namespace)
        except Exception as error:
            if self._settings.strict or isinstance(error, RecursionError):  # the latter is the program's
                raise
            name = namespace.get("__name__")
            warn_once(f"who asks cannot be found out, so {name} sees CUDA: {type(error).__name__}: {error}")
            return True

    def is_told_cuda(self, namespace: Globals) -> bool:
        """Whether somebody has said that code with these globals sees CUDA; code whose sources decide may ask for the backend."""
        return self.sees_cuda(namespace) and self.state.decisive().is_told_cuda(namespace)

    def _decider(self, state: State) -> Decider:
        from torchada.views import decider
        from torchada.views.rules import Rules
        from torchada.views.sources import MUSA, Words

        words = Words.of(self._backend) if self._backend is not None else MUSA
        return decider.Decider(Rules(self._settings, self._adapter, words, state.chosen), state)
