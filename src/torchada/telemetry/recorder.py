"""Counts who used what. Called from any thread, from finalizers and in forked children, so there is no lock in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import get_ident
from types import FrameType
from typing import Any

from torchada.telemetry.sites import Callers, Site

_MANY = 50_000  # places by code object; code made at run time would pile up


@dataclass(frozen=True)
class Use:
    """An API in CUDA's terms, how it is answered (one of `kinds`), and by what; "untouched" is what no area redirects."""

    api: str
    kind: str
    to: str = ""

    def __post_init__(self) -> None:
        """`is_torchs_business`: where torch itself calls it, it tells nothing of the program."""
        name = self.api.partition("(")[0].rpartition(".")[2]
        private = name.startswith("_") and not name.endswith("__")
        question = name == "is_cuda"
        object.__setattr__(self, "is_torchs_business", private or question or self.kind == "untouched")

    is_torchs_business: bool = field(init=False, compare=False, repr=False)


class Count:
    """How often a use came from a site; each thread has a number of its own, so that none is lost and none waits."""

    __slots__ = ("_by_thread",)

    def __init__(self) -> None:
        self._by_thread: dict[int, int] = {}

    def add(self) -> None:
        thread = get_ident()
        self._by_thread[thread] = self._by_thread.get(thread, 0) + 1

    def total(self) -> int:
        return sum(list(self._by_thread.values()))


Counts = dict[tuple[Use, Site], int]
_Known = tuple[Count, Any]  # with what must be kept alive for the key, of ids, to stay unique


class Recorder:
    """`announce` is told of each use at each site when it first happens; `complain(what, error)` of faults."""

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
        """Forget all counts: what a forked child has inherited is its parent's."""
        self._counts: dict[tuple[Use, Site], Count] = {}
        self._known: dict[Any, _Known] = {}

    def drain(self) -> Counts:
        """The counts so far; counting begins anew."""
        counts = self._counts
        self.clear()
        return {place: count.total() for place, count in counts.items()}

    def note(self, use: Use, frame: FrameType) -> None:
        """Count a use by what `frame` is executing."""
        try:
            # Most calls come straight from a line that has made them before.
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
            # What the compiler asks torch.cuda, it asks for itself; what stands in the program is called by the compiled code.
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
