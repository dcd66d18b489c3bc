"""Functions that answer by the view of the code that calls them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from torchada.redirect.calls import disguise
from torchada.views.view import Views

if TYPE_CHECKING:
    from torchada.redirect.types import P, R


class Question(NamedTuple):
    """What a function that answers by view is made of."""

    cuda: Callable[..., Any]
    honest: Callable[..., Any]
    depth: int


# By the function that answers; recording takes them apart, because its own functions would stand between the caller and these.
QUESTIONS: WeakKeyDictionary[Callable[..., Any], Question] = WeakKeyDictionary()


def by_view(views: Views, cuda: Callable[P, R], honest: Callable[P, R], *, depth: int = 1) -> Callable[P, R]:
    """A function in the place of `honest`: code that sees CUDA gets the answer of `cuda`, and other code that of `honest`.

    `depth` is how many frames away the code is that asks: 1 for the caller.
    """
    sees_cuda, frame = views.sees_cuda, sys._getframe

    def answer(*args: P.args, **kwargs: P.kwargs) -> R:
        return cuda(*args, **kwargs) if sees_cuda(frame(depth).f_globals) else honest(*args, **kwargs)

    return declared(disguise(answer, honest), Question(cuda, honest, depth))


def declared(function: Callable[P, R], question: Question) -> Callable[P, R]:
    """Register that `function` answers `question` by view, and return it."""
    QUESTIONS[function] = question
    return function


def is_by_view(function: object) -> bool:
    """Whether a function answers by view, which is the same answer each time for code of one module."""
    return isinstance(function, (FunctionType, BuiltinFunctionType)) and function in QUESTIONS
