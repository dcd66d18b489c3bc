"""From which line of whose code a call came: the first frame that is neither ours, nor the backend's, nor torch's own."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from inspect import CO_NESTED
from types import CodeType, FrameType
from typing import Any, NamedTuple

_TORCH = frozenset({"torch", "functorch", "torchgen"})
# Glue between a caller and what he called. sys.stdlib_module_names exists from Python 3.10 on.
_STDLIB = frozenset(
    getattr(sys, "stdlib_module_names", {"contextlib", "functools", "importlib", "os", "runpy", "threading"})
) | {"typing_extensions"}  # what torch has deprecated is called through it
# The proxy that stands between a caller and the recording function, and what records.
_TRANSPARENT = ("torchada.redirect.entry_point", "torchada.telemetry")
_GLUE, _OURS, _LIBRARY, _PROGRAM = range(4)


@dataclass(frozen=True)
class Site:
    """A line of a program. `package` is whose code it is, `through` the function of torch that it called, if it called one.

    `file` is what the code says of itself: an absolute path, or "<string>"; `package` is "__main__" for a script.
    """

    file: str
    line: int
    function: str
    package: str
    through: str = ""


class Caller(NamedTuple):
    """The frames between which a call passed from the program to torch: `entry` is the outermost of torch's, or None.

    `traced`: on the way there is torch.compile. Where no program is on the stack, `frame` and `entry` are both torch's.
    """

    frame: FrameType
    entry: FrameType | None
    traced: bool = False

    @property
    def is_torch(self) -> bool:
        """Whether torch itself made the call, on its own behalf or the program's."""
        return self.entry is not None

    @property
    def key(self) -> tuple[int, ...]:
        """Equal for calls from the same place, as long as their code lives. Cheap: a line number costs a table's decoding."""
        place = (id(self.frame.f_code), self.frame.f_lasti)
        return place if self.entry is None else (*place, id(self.entry.f_code))

    @property
    def codes(self) -> tuple[CodeType, CodeType | None]:
        """What must be kept alive for the key to stay unique."""
        return self.frame.f_code, self.entry.f_code if self.entry else None

    def site(self) -> Site:
        """The place in words."""
        entry = self.entry if self.entry is not self.frame else None
        through = f"{_module(entry)}.{_function(entry.f_code)}" if entry else ""
        if self.traced:
            through = "torch.compile"
            if (site := _compiled_site(through)) is not None:
                return site
        code = self.frame.f_code
        return Site(_path(code.co_filename), self.frame.f_lineno or 0, _function(code), _package(self.frame), through)


class Callers:
    """Finds callers; `backend` names the top-level packages whose calls among themselves are not the program's."""

    def __init__(self, backend: frozenset[str]) -> None:
        self._ours = backend | {"torchada", "_torchada_startup"}
        self._roles: dict[str, int] = {}

    def find(self, frame: FrameType | None) -> Caller | None:
        """Who called what `frame` is executing; None where torchada or the backend did, for its own purposes.

        Where no frame of a program is on the stack (a thread of torch's own), the outermost frame of torch is the caller.
        """
        entry: FrameType | None = None
        last, traced, direct = frame, False, True
        while frame is not None:
            name = _module(frame)
            role = self._roles.get(name)
            if role is None:
                role = self._roles[name] = self._role(name)
            if role == _PROGRAM:
                return Caller(frame, entry, traced)
            if role == _OURS and direct:
                return None
            if role != _GLUE:
                direct = False
            if role == _LIBRARY:
                entry = entry if _decorates(frame, last) else frame
                last = frame
                traced = traced or name.startswith("torch._dynamo.")
            frame = frame.f_back
        return Caller(last, last, traced) if last is not None else None

    def _role(self, module: str) -> int:
        if not module or module.startswith(_TRANSPARENT):  # code that torch.fx has made has no name
            return _GLUE
        top = module.partition(".")[0]
        if top in self._ours:
            return _OURS
        if top in _TORCH:
            return _LIBRARY
        return _GLUE if top in _STDLIB and not top.startswith("__") else _PROGRAM


def _decorates(frame: FrameType, called: FrameType | None) -> bool:
    """Whether the frame is that of a decorator around the function of `called`, which is what the program has named."""
    return called is not None and called.f_back is frame and bool(frame.f_code.co_flags & CO_NESTED)


def _module(frame: FrameType) -> str:
    return frame.f_globals.get("__name__") or ""


def _function(code: CodeType) -> str:
    return getattr(code, "co_qualname", code.co_name)


def _path(file: str) -> str:
    return file if file.startswith("<") else os.path.abspath(file)


def _package(frame: FrameType) -> str:
    name = _module(frame)
    if name in ("__main__", "__mp_main__"):
        name = getattr(frame.f_globals.get("__spec__"), "name", None) or "__main__"  # python -m package.module
    return name.partition(".")[0] or "__main__"


def _compiled_site(through: str) -> Site | None:
    """The line that torch.compile is tracing: it is on no stack, but the tracer knows it."""
    context: Any = getattr(sys.modules.get("torch._guards"), "TracingContext", None)
    stack = context.extract_stack() if context is not None else None
    if not stack:
        return None
    last = stack[-1]
    package = next(
        (n for n, m in list(sys.modules.items()) if getattr(m, "__file__", None) == last.filename), "__main__"
    )
    return Site(_path(last.filename), last.lineno or 0, last.name, package.partition(".")[0], through)
