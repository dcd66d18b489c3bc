"""Functions that answer by the view of the code that calls them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from torchada.redirect.calls import disguise
from torchada.redirect.views.view import Views

if TYPE_CHECKING:
    from torchada.redirect.types import P, R


class Question(NamedTuple):
    """What a function of `by_view` is made of."""

    cuda: Callable[..., Any]
    honest: Callable[..., Any]
    depth: int


# By the function that was made; recording takes them apart, because its own functions would stand between the caller and these.
QUESTIONS: WeakKeyDictionary[Callable[..., Any], Question] = WeakKeyDictionary()


def by_view(views: Views, cuda: Callable[P, R], honest: Callable[P, R], *, depth: int = 1) -> Callable[P, R]:
    """A function in the place of `honest`: code that sees CUDA gets the answer of `cuda`, and other code that of `honest`.

    `depth` is how many frames away the code is that asks: 1 for the caller.
    """
    sees_cuda, frame = views.sees_cuda, sys._getframe

    def answer(*args: P.args, **kwargs: P.kwargs) -> R:
        return cuda(*args, **kwargs) if sees_cuda(frame(depth).f_globals) else honest(*args, **kwargs)

    disguised = disguise(answer, honest)
    disguised.__torchada_by_view__ = True  # type: ignore[attr-defined]
    QUESTIONS[disguised] = Question(cuda, honest, depth)
    return disguised


def is_by_view(function: object) -> bool:
    """Whether a function is one of `by_view`, whose answer is the same each time for code of one module."""
    return getattr(function, "__torchada_by_view__", False) is True
