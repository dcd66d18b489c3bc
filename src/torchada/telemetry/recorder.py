"""Counts the uses of APIs. Called from any thread, from finalizers and in forked children, so it has no lock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import get_ident
from types import FrameType

from torchada.telemetry.sites import Callers, Site

_MANY = 50_000  # limit of places by code object, because a program may create code without end


@dataclass(frozen=True)
class Use:
    """An API in CUDA's terms, how it is answered (one of `kinds`), and by what; "untouched" means that no area redirects it."""

    api: str
    kind: str
    to: str = ""

    def __post_init__(self) -> None:
        """`is_torchs_business`: a call that torch itself makes says nothing about the program."""
        names = self.api.partition("(")[0].split(".")
        private = any(name.startswith("_") and not name.endswith("__") for name in names)
        question = names[-1] == "is_cuda"
        object.__setattr__(self, "is_torchs_business", private or question or self.kind == "untouched")

    is_torchs_business: bool = field(init=False, compare=False, repr=False)


class Count:
    """The number of times a use came from a site; each thread has its own counter, so that no count is lost and no thread waits."""

    __slots__ = ("_by_thread",)

    def __init__(self) -> None:
        self._by_thread: dict[int, int] = {}

    def add(self) -> None:
        thread = get_ident()
        self._by_thread[thread] = self._by_thread.get(thread, 0) + 1

    def total(self) -> int:
        return sum(list(self._by_thread.values()))


Counts = dict[tuple[Use, Site], int]
_Known = tuple[Count, object]  # with the objects that must stay alive, because the key consists of their ids


class Recorder:
    """Calls `announce` for the first use of each API at each site, and `complain(what, error)` for errors."""

    def __init__(
        self,
        callers: Callers,
        complain: Callable[[str, Exception], None],
        announce: Callable[[Use, Site], None] | None = None,
    ) -> None:
        self._callers = callers
        self._complain = complain
        self._announce = announce
        self._announced: set[tuple[Use, Site]] = set()
        self.clear()

    def clear(self) -> None:
        """Forget all counts; those that a forked child inherits belong to its parent."""
        self._counts: dict[tuple[Use, Site], Count] = {}
        self._known: dict[tuple[int, ...], _Known] = {}

    def drain(self) -> Counts:
        """The counts so far; counting starts again at zero."""
        counts = self._counts
        self.clear()
        return {place: count.total() for place, count in counts.items()}

    def note(self, use: Use, frame: FrameType) -> None:
        """Count a use by the code that `frame` executes."""
        try:
            # Most calls come directly from a line that has made them before.
            known = self._known.get((id(use), id(frame.f_code), frame.f_lasti))
            if known is None:
                known = self._find(use, frame)
            if known is not None:
                known[0].add()
        except Exception as error:
            self._complain(f"recording a call of {use.api}", error)

    def _find(self, use: Use, frame: FrameType) -> _Known | None:
        caller = self._callers.find(frame)
        if caller is None or (use.is_torchs_business and caller.is_torch):
            return None
        if caller.traced:
            # Calls of torch.cuda at this point are the compiler's own; the program's calls are made by the compiled code.
            return None if use.api.startswith("torch.cuda.") else (self._count(use, caller.site()), None)
        key = (id(use), *caller.key)
        known = self._known.get(key)
        if known is None:
            if len(self._known) > _MANY:
                self._known.clear()
            known = self._known[key] = (self._count(use, caller.site()), (use, caller.codes))
        return known

    def _count(self, use: Use, site: Site) -> Count:
        place = (use, site)
        if self._announce is not None and place not in self._announced:
            self._announced.add(place)
            self._announce(use, site)
        return self._counts.setdefault(place, Count())
