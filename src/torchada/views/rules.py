"""The reasons for a decision, in order. The first that concerns the asker decides."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from torchada.views import projects, source_cache, sources
from torchada.views.asker import Asker, is_standard
from torchada.views.by_name import known
from torchada.views.decision import Decision
from torchada.views.sources import MUSA, Words

if TYPE_CHECKING:
    from torchada.base.settings import Settings

# PyTorch and this project. A backend's adapter is added by name.
STACK = frozenset({"torch", "functorch", "torchgen", "torchada", "_torchada_startup", "musasim", "_torchada_cache"})

# The beginning of the names of modules that torch.distributed.nn writes from a template of its own.
_WRITTEN_BY_TORCH = "_remote_module_"


class Rules:
    """The rules of one process: `settings` are the user's, `adapter` is the name of the backend's package, `words` are those by
    which sources show that they know the backend, and `chosen` is what the program has said, by package."""

    def __init__(
        self, settings: Settings, adapter: str, words: Words = MUSA, chosen: Mapping[str, str] | None = None
    ) -> None:
        self._settings = settings
        self._chosen = {} if chosen is None else chosen
        self._words = words
        self._stack = STACK | {adapter}
        self._projects: dict[str, Decision | None] = {}

    def decide(self, asker: Asker) -> Decision:
        """The view of the package that `asker` belongs to."""
        rules: tuple[Callable[[Asker], Decision | None], ...] = (
            self._of_the_stack,
            self._by_the_user,
            self._by_name,
            self._by_its_project,
            self._by_its_sources,
        )
        for rule in rules:
            decision = rule(asker)
            if decision is not None:
                return decision
        nothing = f"it does not mention {self._words.shown}"
        return Decision(True, nothing if _is_readable(asker) else "it has no sources to search")

    def is_said(self, asker: Asker) -> bool:
        """Whether the user or a row of the table says what `asker` sees, and not its sources."""
        return any(rule(asker) is not None for rule in (self._by_the_user, self._by_name))

    def is_of_the_stack(self, asker: Asker) -> bool:
        """Whether torch, its adapter, torchada or the standard library asks."""
        return self._is_torchs(asker) or is_standard(asker)

    def _is_torchs(self, asker: Asker) -> bool:
        return asker.package in self._stack or asker.package.startswith(_WRITTEN_BY_TORCH)

    def _of_the_stack(self, asker: Asker) -> Decision | None:
        if self._is_torchs(asker):
            return Decision(False, "it is part of PyTorch, of its adapter or of torchada")
        if is_standard(asker):
            return Decision(False, "it is part of the standard library")
        return None

    def _by_the_user(self, asker: Asker) -> Decision | None:
        for name in asker.names:
            chosen = self._chosen.get(name)
            if chosen is not None:
                return Decision(chosen == "cuda", "torchada.set_view")
        for view, packages in (("cuda", self._settings.cuda_view), ("musa", self._settings.musa_view)):
            if not packages.isdisjoint(asker.names):
                return Decision(view == "cuda", f"TORCHADA_{view.upper()}_VIEW names it")
        if self._settings.view != "caller":
            return Decision(self._settings.view == "cuda", f"TORCHADA_VIEW={self._settings.view}")
        return None

    def _by_name(self, asker: Asker) -> Decision | None:
        rows = (known(name) for name in asker.names)
        return next((Decision(*row) for row in rows if row is not None), None)

    def _by_its_project(self, asker: Asker) -> Decision | None:
        """Tests and examples compare what they see with what their project's packages say."""
        root = next(filter(None, map(projects.root_of, asker.sources)), None)
        if root is None:
            return None
        if root not in self._projects:
            self._projects[root] = self._of_the_project(root)
        return self._projects[root]

    def _of_the_project(self, root: str) -> Decision | None:
        """The view of the first package of a project that has been given one, or that mentions the backend."""
        for name, place in projects.packages(root):
            package = Asker(name, name, (place,))
            for rule in (self._by_the_user, self._by_name, self._by_its_sources):
                decision = None if self._is_torchs(package) else rule(package)
                if decision is not None:
                    return Decision(decision.sees_cuda, f"it belongs to the project of {name}: {decision.why}")
        return None

    def _by_its_sources(self, asker: Asker) -> Decision | None:
        if asker.text:
            place = sources.mention(asker.text.encode(errors="replace"), self._words)
            return Decision(False, f"its line {place[0]} says {place[1]}") if place else None
        mention = source_cache.find(asker.sources, self._settings.cache, self._words)
        if mention is None:
            return None
        return Decision(False, f"{_shown(mention.file, asker)}:{mention.line} says {mention.word}")


def _shown(file: str, asker: Asker) -> str:
    """A file of a package from the package's folder on, other files in full."""
    for place in asker.sources:
        if file.startswith(place + os.sep):
            return os.path.join(asker.package, file[len(place) + 1 :])
    return file


def _is_readable(asker: Asker) -> bool:
    return bool(asker.text) or any(map(sources.exists, asker.sources))
