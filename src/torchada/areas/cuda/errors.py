"""Texts of the errors that torch raises: code that sees CUDA reads "CUDA out of memory" and "cuda:0", as on CUDA.

They are made in C++. Programs look into them, by `str(error)` or `error.args`, and people read them. An error that is of a class of
torch's own stays what it is, and what is read of it depends on who reads. Python's own classes belong to the whole process and are
left alone; an error of such a class is renamed under the native mechanism, as torch raises it, for the program that called torch.
There, an error of the runtime also gets the class that CUDA raises, torch.AcceleratorError.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.native import error_texts
from torchada.redirect.owners import imported

# Their subclasses inherit from them.
_CLASSES = ("OutOfMemoryError", "AcceleratorError", "_DistError")


def of_torch(context: Context) -> Iterator[Patch]:
    native = context.torch._C
    for kind in (getattr(native, name) for name in _CLASSES if hasattr(native, name)):
        for name, entry in _entries(context, kind).items():
            yield Patch(kind, name, entry, None, note=f"{kind.__name__}.{name} by who asks")


def of_python(context: Context) -> Iterator[Patch]:
    if not context.mechanism.native:
        raise Skip("this is done by the native mechanism")

    def replaced(error: BaseException) -> BaseException:
        from torchada.redirect.backend_words import error_of_cuda  # no error is raised at the start

        return error_of_cuda(error, context)

    yield error_texts(replaced)


def _entries(context: Context, kind: Any) -> dict[str, object]:
    renamed, is_told = _renamed(context), _is_told_cuda(context)

    def shown(original: Callable[[Any], str]) -> Callable[[Any], str]:
        def text(self: Any) -> str:
            own = original(self)
            other = renamed(own)
            return other if other != own and is_told() else own

        return text

    own_args: Any = kind.args

    def args(self: Any) -> tuple[Any, ...]:
        kept: tuple[Any, ...] = own_args.__get__(self)
        others = tuple(renamed(value) if type(value) is str else value for value in kept)
        return others if others != kept and is_told() else kept

    return {
        "__str__": shown(kind.__str__),
        "__repr__": shown(kind.__repr__),
        "args": property(args, own_args.__set__),
    }


def _renamed(context: Context) -> Callable[[str], str]:
    def renamed(text: str) -> str:
        from torchada.redirect.backend_words import as_cuda  # no error is read at the start

        return as_cuda(context.backend)(text)

    return renamed


def _is_told_cuda(context: Context) -> Callable[[], bool]:
    """Whether whoever reads a text of an error sees CUDA: the caller of the function that calls this one."""
    views, frame = context.views, sys._getframe

    def is_told_cuda() -> bool:
        try:
            asking = frame(2)
        except ValueError:  # the interpreter prints an error that has ended the program
            return views.sees_cuda(vars(imported()["__main__"]))
        return views.sees_cuda(asking.f_globals)

    return is_told_cuda
