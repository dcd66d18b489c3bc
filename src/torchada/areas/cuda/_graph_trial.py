"""A graph that is captured only to see where its class keeps its members, before those of a program's graphs are changed.

Where the class has keep_graph, the executable is made after the capture has ended: the flag that changes then is its own, and
nothing is written. An older class makes both at once. There the flag is cleared in the throw-away graph for a moment: replay()
refuses a graph without an executable, so it tells whether the flag is the right one.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from torchada.areas.cuda._graph_handles import address
from torchada.areas.cuda._graph_layouts import SIZE, Layout, Life, Members, proven
from torchada.areas.cuda._signatures import Method, takes

if TYPE_CHECKING:
    from types import ModuleType


class Trial:
    """For the class `graph`, whose methods are read now, before torchada changes any."""

    def __init__(self, torch: ModuleType, namespace: Any, device_type: str, graph: Any) -> None:
        self._torch, self._namespace, self._device_type, self._graph = torch, namespace, device_type, graph
        self._begin, self._end, self._replay, self._reset = (
            getattr(graph, name) for name in ("capture_begin", "capture_end", "replay", "reset")
        )
        self._instantiate: Method | None = graph.instantiate if takes(graph.__new__, "keep_graph") else None
        self._raw: Method | None = getattr(graph, f"raw_{device_type}_graph", None)
        self._raw_executable: Method | None = getattr(graph, f"raw_{device_type}_graph_exec", None)

    def is_possible(self) -> bool:
        """Whether the current stream can be captured. Where it cannot, the capture that the program is about to begin fails too."""
        namespace = self._namespace
        is_default = namespace.current_stream() == namespace.default_stream()
        return not (is_default or namespace.is_current_stream_capturing())

    def layout(self) -> Layout | None:
        """The layout that a graph of this process was seen to have."""
        graph = self._graph(keep_graph=True) if self._instantiate else self._graph()
        place = address(graph)
        if place is None:
            return None
        observe = self._kept if self._instantiate else self._plain
        try:
            with self._torch.utils._python_dispatch._disable_current_modes():
                return observe(graph, place, self._torch.zeros(1, device=self._device_type))
        except RuntimeError:  # the capture has failed
            return None

    def _kept(self, graph: Any, place: int, number: Any) -> Layout | None:
        assert self._instantiate is not None
        new, under_way, ended = self._captured(graph, place, number)
        is_refused = self._raw_executable is None or _refuses(self._raw_executable, graph)
        self._instantiate(graph)
        instantiated = _memory(place)
        told = [method and method(graph) for method in (self._raw, self._raw_executable)]
        self._reset(graph)
        layout = proven(Life(new, under_way, ended, instantiated, _memory(place)))
        if layout is None or not is_refused:
            return None
        held = layout.from_buffer_copy(instantiated)
        is_same = all(handle in (None, own) for handle, own in zip(told, (held.graph, held.executable)))
        return layout if is_same else None

    def _plain(self, graph: Any, place: int, number: Any) -> Layout | None:
        new, under_way, ended = self._captured(graph, place, number)
        layout = proven(Life(new, under_way, ended, None, new))  # a reset comes last, and is compared then
        is_right = layout is not None and self._owns_flag(graph, layout.from_address(place))
        self._namespace.current_stream().synchronize()
        self._reset(graph)
        return proven(Life(new, under_way, ended, None, _memory(place))) if is_right else None

    def _captured(self, graph: Any, place: int, number: Any) -> tuple[bytes, bytes, bytes]:
        """The memory of `graph` before, during and after the capture of an operation that needs no memory of its own."""
        number.zero_()  # what an operation does only once cannot be captured
        new = _memory(place)
        self._begin(graph, capture_error_mode="thread_local")
        try:
            under_way = _memory(place)
            number.zero_()
        finally:
            self._end(graph)
        return new, under_way, _memory(place)

    def _owns_flag(self, graph: Any, held: Members) -> bool:
        """Whether the class takes `graph` for one without an executable exactly while the flag is cleared."""
        held.has_executable = 0
        try:
            is_refused = _refuses(self._replay, graph)
        finally:
            held.has_executable = 1
        return is_refused and not _refuses(self._replay, graph)


def _memory(place: int) -> bytes:
    return ctypes.string_at(place, SIZE)


def _refuses(method: Method, graph: Any) -> bool:
    try:
        method(graph)
    except RuntimeError:
        return True
    return False
