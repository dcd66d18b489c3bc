"""The views of a process: a table by module, which is looked up at each question, and what decides where it has no answer."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakSet

from torchada.base.warnings import warn_once
from torchada.views.asking import Globals, key_of

if TYPE_CHECKING:
    from torchada.backends.descriptor import Backend
    from torchada.base.settings import Settings
    from torchada.views.decider import Decider
    from torchada.views.rules import Decision

# Patches that are applied again after `disable` keep the views that they were made with.
_ALL: WeakSet[Views] = WeakSet()


def forget_all() -> None:
    """Let every view of this process be decided anew."""
    for views in list(_ALL):
        views.forget()


class Views:
    """Who sees CUDA. `table` answers for modules that have asked before, by `key_of(globals)`; `decide` for all others.

    What decides is loaded at the first question, because `import torch` asks none.
    """

    def __init__(self, settings: Settings, adapter: str, backend: Backend | None = None) -> None:
        self._settings = settings
        self._adapter = adapter
        self._backend = backend
        self._decider: Decider | None = None
        self.table: dict[str, bool] = {}
        _ALL.add(self)

    @property
    def decisions(self) -> dict[str, Decision]:
        """The decisions so far, by package; the package of a script is the path of its file."""
        return {} if self._decider is None else self._decider.decisions

    def sees_cuda(self, namespace: Globals) -> bool:
        """Whether code whose globals are `namespace` sees CUDA; otherwise it sees the backend."""
        known = self.table.get(key_of(namespace))
        return self.decide(namespace) if known is None else known

    def decide(self, namespace: Globals) -> bool:
        """As `sees_cuda`, for globals that are not in the table. The answer is remembered where it is the same each time."""
        try:
            return self._decisive().view_of(namespace)
        except Exception as error:
            if self._settings.strict or isinstance(error, RecursionError):  # the latter is the program's
                raise
            name = namespace.get("__name__")
            warn_once(f"who asks cannot be found out, so {name} sees CUDA: {type(error).__name__}: {error}")
            return True

    def forget(self) -> None:
        """Decide anew from now on."""
        self.table.clear()
        self._decider = None

    def _decisive(self) -> Decider:
        if self._decider is None:
            from torchada.views.decider import Decider
            from torchada.views.rules import Rules
            from torchada.views.sources import MUSA, Words

            words = Words.of(self._backend) if self._backend is not None else MUSA
            self._decider = Decider(Rules(self._settings, self._adapter, words), self.table)
        return self._decider
