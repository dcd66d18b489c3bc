"""The reasons for a decision, in order. The first that concerns the asker decides."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from torchada.redirect.views import sources
from torchada.redirect.views.asker import Asker, is_standard
from torchada.redirect.views.chosen import CHOSEN
from torchada.redirect.views.known import KNOWN

if TYPE_CHECKING:
    from torchada._settings import Settings

# PyTorch and this project. A backend's adapter is added by name.
STACK = frozenset({"torch", "functorch", "torchgen", "torchada", "_torchada_startup", "musasim", "_build_cache"})
# Modules of torch that ask on behalf of the program that uses them, which therefore get the program's view.
ON_BEHALF = ("torch.testing._internal", "torch.utils.collect_env", "torch.utils.benchmark")


class Decision(NamedTuple):
    """Whether a package sees CUDA, and why."""

    sees_cuda: bool
    why: str


class Rules:
    """The rules of one process: `settings` are the user's, `adapter` is the name of the backend's package."""

    def __init__(self, settings: Settings, adapter: str) -> None:
        self._settings = settings
        self._stack = STACK | {adapter}

    def decide(self, asker: Asker) -> Decision:
        """The view of the package that `asker` belongs to."""
        rules: tuple[Callable[[Asker], Decision | None], ...] = (
            self._of_the_stack,
            self._by_the_user,
            self._by_name,
            self._by_its_sources,
        )
        for rule in rules:
            decision = rule(asker)
            if decision is not None:
                return decision
        return Decision(True, "it does not mention MUSA" if asker.sources else "it has no sources to search")

    def is_of_the_stack(self, asker: Asker) -> bool:
        """Whether torch, its adapter, torchada or the standard library asks."""
        return asker.package in self._stack or is_standard(asker.package, asker.sources)

    def _of_the_stack(self, asker: Asker) -> Decision | None:
        if asker.package in self._stack:
            return Decision(False, "it is part of PyTorch, of its adapter or of torchada")
        if is_standard(asker.package, asker.sources):
            return Decision(False, "it is part of the standard library")
        return None

    def _by_the_user(self, asker: Asker) -> Decision | None:
        if asker.package in CHOSEN:
            return Decision(CHOSEN[asker.package] == "cuda", "torchada.set_view")
        for view, packages in (("cuda", self._settings.cuda_view), ("musa", self._settings.musa_view)):
            if asker.package in packages:
                return Decision(view == "cuda", f"TORCHADA_{view.upper()}_VIEW names it")
        if self._settings.view != "caller":
            return Decision(self._settings.view == "cuda", f"TORCHADA_VIEW={self._settings.view}")
        return None

    def _by_name(self, asker: Asker) -> Decision | None:
        why = KNOWN.get(asker.package)
        return Decision(False, why) if why is not None else None

    def _by_its_sources(self, asker: Asker) -> Decision | None:
        if asker.package == "__main__":
            return _by_its_text(_text_of_command())
        found = sources.find(asker.sources)
        if found is None:
            return None
        file = found.file
        for place in asker.sources:
            if file.startswith(place + os.sep):
                file = os.path.join(asker.package, file[len(place) + 1 :])
        return Decision(False, f"{file}:{found.line} says {found.word}")


def _by_its_text(text: str) -> Decision | None:
    found = sources.mention(text.encode(errors="replace"))
    return Decision(False, f"its line {found[0]} says {found[1]}") if found else None


def _text_of_command() -> str:
    """The program of `python -c`; empty for standard input and for a notebook."""
    words = list(getattr(sys, "orig_argv", ()))
    if sys.argv[:1] == ["-c"] and "-c" in words:
        return "".join(words[words.index("-c") + 1 :][:1])
    return ""
