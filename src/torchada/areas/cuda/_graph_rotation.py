"""More graphs than the driver allows executables: the one that was replayed longest ago gives up its executable.

What was captured is kept, and the executable is made from it again at the next replay. While no graph has given up anything, a
replay costs one test of a flag. No graph is changed before a trial has shown how this process lays out its graphs, and then only
one whose members agree. A graph with keep_graph keeps its executable too: what was captured belongs to the program, which may
change it after the executable was made.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from threading import RLock
from typing import TYPE_CHECKING, Any

from torchada.areas.cuda._graph_handles import Driver, address
from torchada.areas.cuda._graph_layouts import LAYOUTS, Layout, Members
from torchada.base.warnings import tell_once

if TYPE_CHECKING:
    from torchada.areas.cuda._graph_trial import Trial
    from torchada.areas.cuda._graph_types import Graph

_NOT_KNOWN = (
    "executables of graphs cannot be given up, because this adapter lays out its graphs in a way that torchada does not "
    "know; the driver's limit holds"
)


class Rotation:
    """`driver` and `cap` are called when the first graph is captured, `trial` before the first gives up its executable.

    `on_device(index)` makes a device current for a block.
    """

    def __init__(
        self, driver: Callable[[], Driver], cap: Callable[[], int], trial: Trial, on_device: Callable[[int], Any]
    ) -> None:
        self._make_driver, self._ask_cap, self._trial, self._on_device = driver, cap, trial, on_device
        self._driver: Driver | None = None
        self._layouts = LAYOUTS  # those that all graphs agree with until now
        self._layout: Layout | None = None  # not known before the trial
        self._lock = RLock()
        self._live: OrderedDict[int, weakref.ref[Graph]] = OrderedDict()
        self._pinned: weakref.WeakSet[Graph] = weakref.WeakSet()
        self.cap = 0  # not known yet
        self.is_off = False
        self.is_under_way = False
        self.made_again = 0

    def __len__(self) -> int:
        return len(self._live) + len(self._pinned)

    def before_capture(self, graph: Graph) -> None:
        """Make room for one more executable. Here and not at the end, because during a capture the driver refuses much."""
        with self._lock:
            self._start()
            self._look(graph, lambda held: held.is_empty or held.is_full or held.is_recorded)
            self.restore(graph)  # the adapter's own error follows where it holds a graph
            self._make_room()

    def after_capture(self, graph: Graph, device: int) -> None:
        """`graph` has an executable of `device` now; or it will have one, and keeps it."""
        with self._lock:
            self._look(graph, lambda held: held.is_full or held.is_recorded)
            if self.is_off:
                return
            if any(held.is_recorded for held in self._held(graph)):
                self._pinned.add(graph)
                return
            graph._torchada_device = device
            key = id(graph)
            self._live[key] = weakref.ref(graph, lambda _: self._live.pop(key, None))

    def replay(self, graph: Graph, launch: Callable[[Graph], object]) -> None:
        """Launch `graph`, and nothing takes its executable away meanwhile."""
        with self._lock:
            key = id(graph)
            if key in self._live:
                self._live.move_to_end(key)
            else:
                self.restore(graph)
            launch(graph)

    def restore(self, graph: Graph) -> None:
        """Make the executable again if `graph` has given it up. Raises RuntimeError where the driver refuses."""
        with self._lock:
            held = self._members(graph) if self.is_under_way else None
            if held is None or not held.is_recorded or "_torchada_device" not in vars(graph):
                return
            self._make_room()
            self._instantiate(graph, held)
            self.after_capture(graph, graph._torchada_device)
            self.made_again += 1

    def pin(self, graph: Graph) -> None:
        """Let `graph` keep its executable, because what was captured is lost, or the program has asked for its handle."""
        with self._lock:
            self.restore(graph)
            if self._live.pop(id(graph), None) is not None:
                self._pinned.add(graph)

    def forget(self, graph: Graph) -> None:
        """`graph` is about to be reset."""
        with self._lock:
            self._live.pop(id(graph), None)
            self._pinned.discard(graph)
            vars(graph).pop("_torchada_device", None)

    def _start(self) -> None:
        if self._driver is None and not self.is_off:
            try:
                self._driver, self.cap = self._make_driver(), self._ask_cap()
            except (OSError, AttributeError) as missing:
                self._stop(f"executables of graphs cannot be given up, so the driver's limit holds: {missing}")

    def _stop(self, why: str) -> None:
        """Give up no more executables. What has been given up is still made again."""
        if not self.is_off:
            self.is_off = True
            tell_once(why)

    def _held(self, graph: Graph) -> list[Members]:
        """The members of `graph` in each layout that is still possible."""
        place = address(graph)
        return [layout.from_address(place) for layout in self._layouts] if place else []

    def _members(self, graph: Graph) -> Members | None:
        place = address(graph)
        return self._layout.from_address(place) if place and self._layout else None

    def _look(self, graph: Graph, is_right: Callable[[Members], bool]) -> None:
        """Only those layouts remain possible that show `graph` as it should be. A graph that was dumped is in no such state."""
        if not self.is_off and graph not in self._pinned:
            self._layouts = tuple(type(held) for held in self._held(graph) if is_right(held))
            if not self._layouts:
                self._stop(_NOT_KNOWN)

    def _prove(self) -> None:
        """Learn the layout from a trial, while there is still room for one more executable."""
        if self.is_off or self._layout is not None or len(self) + 1 < self.cap or not self._trial.is_possible():
            return
        layout = self._trial.layout()
        if layout in self._layouts:
            self._layout, self._layouts = layout, (layout,)
        else:
            self._stop(_NOT_KNOWN)

    def _make_room(self) -> None:
        self._prove()
        while not self.is_off and self._layout and self._live and len(self) >= self.cap:
            key, reference = next(iter(self._live.items()))
            graph = reference()
            if graph is not None:
                self._give_up(graph)
            self._live.pop(key, None)

    def _give_up(self, graph: Graph) -> None:
        held = self._members(graph)
        assert self._driver is not None
        if held is None or not held.is_full:
            return
        self.is_under_way = True
        with self._on_device(graph._torchada_device):
            error = self._driver.give_up(held)
        if error:
            self._stop(f"the driver refuses to give up an executable of a graph (error {error}); its limit holds")

    def _instantiate(self, graph: Graph, held: Members) -> None:
        assert self._driver is not None
        with self._on_device(graph._torchada_device):
            error = self._driver.instantiate(held)
        if error:
            raise RuntimeError(
                f"The executable of a graph that had been given up cannot be made again: error {error} of the driver, with "
                f"{len(self)} executables in this process. TORCHADA_GRAPH_EXEC_CAP sets how many there may be."
            )
