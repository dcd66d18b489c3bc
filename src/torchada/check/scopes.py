"""What the names of a module stand for, statement by statement: the paths that imports and assignments give them.

A name stands for a set of paths ("torch.cuda"), because branches may give it several; OPAQUE in it is any other value. Bodies of
functions run later, so they see every value that a name of an enclosing scope ever had.
"""

from __future__ import annotations

from collections.abc import Iterable

Paths = frozenset[str]
NOTHING: Paths = frozenset()
OPAQUE = ""
OTHER: Paths = frozenset({OPAQUE})


def known(paths: Paths) -> Paths:
    """The paths without the mark for any other value."""
    return paths - OTHER if OPAQUE in paths else paths


class Scope:
    """The names of a module, class or function. `now` is what they stand for here, `ever` all that they have stood for."""

    def __init__(self, parent: Scope | None = None, is_class: bool = False) -> None:
        self.parent, self.is_class = parent, is_class
        self.now: dict[str, Paths] = {}
        self.ever: dict[str, Paths] = {}
        self.stars: list[str] = []
        self._elsewhere: dict[str, Scope] = {}

    def bind(self, name: str, paths: Paths) -> None:
        """Let the name stand for `paths` from here on."""
        scope = self._elsewhere.get(name)
        if scope is not None:  # global, nonlocal
            scope.ever[name] = scope.now[name] = scope.ever.get(name, NOTHING) | paths
            return
        self.now[name] = paths
        self.ever[name] = self.ever.get(name, NOTHING) | paths

    def delete(self, name: str) -> None:
        """Forget the name, as `del` does."""
        self.now.pop(name, None)

    def declare_global(self, names: Iterable[str]) -> None:
        """These names are the module's."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        self._elsewhere.update(dict.fromkeys(names, scope))

    def declare_nonlocal(self, names: Iterable[str]) -> None:
        """These names are those of a function around this one."""
        for name in names:
            scope = self.parent
            while scope is not None and (scope.is_class or name not in scope.ever):
                scope = scope.parent
            if scope is not None:
                self._elsewhere[name] = scope

    def find(self, name: str) -> Paths | None:
        """What the name stands for; None for one that is bound nowhere."""
        scope = self._elsewhere.get(name, self)
        if scope is self and name in self.now:
            return self.now[name]
        if scope is not self:
            return scope.ever.get(name)
        above = self.parent
        while above is not None:
            if not above.is_class and name in above.ever:
                return above.ever[name]
            above = above.parent
        return None

    def starred(self) -> list[str]:
        """Modules whose names are all imported into the module of this scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return [*scope.stars, *(self.stars if scope is not self else ())]

    def state(self) -> dict[str, Paths]:
        """A copy of what names stand for now."""
        return dict(self.now)

    def merge(self, *states: dict[str, Paths]) -> None:
        """Go on from any of several states: where a name is bound in some of them, it may be unbound in the others."""
        merged: dict[str, Paths] = {}
        for state in states:
            for name, paths in state.items():
                merged[name] = merged.get(name, NOTHING) | paths
        self.now = merged
