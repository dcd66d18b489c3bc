"""What the names of a module stand for, statement by statement: the paths that imports and assignments give them.

A name stands for a set of paths ("torch.cuda"), because branches may give it several; OPAQUE in it is any other value. Bodies of
functions run later, so they see every value that a name of an enclosing scope ever had.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

Paths = frozenset[str]
NOTHING: Paths = frozenset()
OPAQUE = ""
OTHER: Paths = frozenset({OPAQUE})
OF_A_CLASS = "\0"  # begins what stands for a class of the module itself; OPAQUE is always beside it


def known(paths: Paths) -> Paths:
    """The paths without the marks for any other value."""
    return frozenset(path for path in paths if path and path[0] != OF_A_CLASS) if OPAQUE in paths else paths


class Scope:
    """The names of a module, class or function. `now` is what they stand for here, `ever` all that they have stood for.

    `of_class` are the names that the body of a class binds; None for other scopes. `from_inside` is what functions within bind here
    by global and nonlocal; they may have run at any time. It outlives the scope, so that the next reading of its body sees it.
    """

    def __init__(
        self,
        parent: Scope | None = None,
        of_class: Collection[str] | None = None,
        from_inside: dict[str, Paths] | None = None,
    ) -> None:
        self.parent, self._of_class = parent, of_class
        self.from_inside = {} if from_inside is None else from_inside
        self.is_class = of_class is not None
        self.now: dict[str, Paths] = {}
        self.ever: dict[str, Paths] = {}
        self.stars: list[str] = []
        self._elsewhere: dict[str, Scope] = {}
        self._recorded: list[dict[str, Paths]] = []

    def bind(self, name: str, paths: Paths) -> None:
        """Let the name stand for `paths` from here on."""
        scope = self._elsewhere.get(name)
        if scope is not None:  # global, nonlocal
            scope.from_inside[name] = scope.from_inside.get(name, NOTHING) | paths
            return
        self.now[name] = paths
        for all_of_them in (self.ever, *self._recorded):
            all_of_them[name] = all_of_them.get(name, NOTHING) | paths

    @contextmanager
    def recording(self) -> Iterator[dict[str, Paths]]:
        """Everything that names are bound to meanwhile: what a handler of exceptions may see."""
        self._recorded.append({})
        try:
            yield self._recorded[-1]
        finally:
            self._recorded.pop()

    def delete(self, name: str) -> None:
        """Forget the name, as `del` does."""
        self.now.pop(name, None)

    def declare_global(self, names: Iterable[str]) -> None:
        """These names are the module's."""
        self._elsewhere.update(dict.fromkeys(names, self._module()))

    def declare_nonlocal(self, names: Iterable[str]) -> None:
        """These names are those of a function around this one."""
        for name in names:
            scope = self.parent
            while scope is not None and (scope.is_class or scope.whenever(name) is None):
                scope = scope.parent
            if scope is not None:
                self._elsewhere[name] = scope

    def find(self, name: str) -> Paths | None:
        """What the name stands for; None for one that is bound nowhere."""
        scope = self._elsewhere.get(name, self)
        if scope is not self:
            return scope.whenever(name)
        if name in self.now or name in self.from_inside:
            return self.now.get(name, NOTHING) | self.from_inside.get(name, NOTHING)
        return self._around(name)

    def whenever(self, name: str) -> Paths | None:
        """Everything that the name stands for at any time; None where nothing binds it."""
        if name in self.ever or name in self.from_inside:
            return self.ever.get(name, NOTHING) | self.from_inside.get(name, NOTHING)
        return None

    def _around(self, name: str) -> Paths | None:
        """What the name stands for outside. One that a class binds is the module's before that, and no function's."""
        if self._of_class is not None and name in self._of_class:
            return self._module().whenever(name)
        above = self.parent
        while above is not None:
            paths = None if above.is_class else above.whenever(name)
            if paths is not None:
                return paths
            above = above.parent
        return None

    def _module(self) -> Scope:
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def starred(self) -> list[str]:
        """Modules whose names are all imported into the module of this scope."""
        module = self._module()
        return [*module.stars, *(self.stars if module is not self else ())]

    def state(self) -> dict[str, Paths]:
        """A copy of what names stand for now."""
        return dict(self.now)

    def merge(self, *states: dict[str, Paths]) -> None:
        """Go on from any of several states. In a class, a name that a state lacks is the one outside."""
        merged: dict[str, Paths] = {}
        for name in {name: None for state in states for name in state}:
            unbound = (self._around(name) or NOTHING) if self.is_class else NOTHING
            merged[name] = NOTHING.union(*(state.get(name, unbound) for state in states))
        self.now = merged
