"""Where the adapter's graph objects keep the driver's graph, its executable and a flag for each: the layouts of its releases.

torch_musa has no call for what the members tell, so their places were read in its sources (torch_musa/csrc/aten/musa/MUSAGraph.h):

- 2.0.0, 2.0.1, 2.1.0, 2.1.1, 2.5.0, 2.7.0, 2.7.1 (the tags): graph_, graph_exec_, has_graph_, has_graph_exec_. For 2.9.1 no
  other text was found.
- 2.9.1.post1 (commit 5e25af75): graph_, graph_exec_, has_graph_, capture_ended_, has_graph_exec_. For 2.11.0.post1 and
  2.11.0.post2 no other text was found.

In all of them a number of 8 bytes follows, so the flags and the unused bytes behind them are bytes 16 to 23. What was read of one
release proves nothing of another. So a layout counts only after `proven` has compared it with the life of a graph in this process.
The order of the two handles is proven where the class has keep_graph; for a class without it, it is only what the sources say.
"""

from __future__ import annotations

import ctypes
from typing import NamedTuple

SIZE = 24
_HANDLES = (("graph", ctypes.c_void_p), ("executable", ctypes.c_void_p))
_FLAG = ctypes.c_uint8


class Members(ctypes.Structure):
    """The first members of a graph object, in any layout: two handles, then flags."""

    graph: int | None
    executable: int | None
    has_graph: int
    has_executable: int

    @classmethod
    def flags_end(cls) -> int:
        """The first byte behind the flags."""
        return 2 * ctypes.sizeof(ctypes.c_void_p) + len(cls._fields_[2:])

    def _flags(self) -> dict[str, int]:
        return {name: getattr(self, name) for name, *_ in self._fields_[2:]}

    @property
    def is_empty(self) -> bool:
        """As before a capture. Releases with keep_graph leave the handle of a graph that was dumped and reset."""
        return not self.executable and not any(self._flags().values())

    @property
    def is_recorded(self) -> bool:
        """As after a capture, without an executable."""
        flags = self._flags()
        has_executable = flags.pop("has_executable")
        return bool(self.graph) and not self.executable and not has_executable and set(flags.values()) == {1}

    @property
    def is_full(self) -> bool:
        """As after a capture, with an executable."""
        return bool(self.graph and self.executable) and set(self._flags().values()) == {1}

    def set_executable(self, handle: int | None) -> None:
        self.executable, self.has_executable = handle, int(handle is not None)


class Since20(Members):
    """torch_musa 2.0.0 to 2.7.1."""

    _fields_ = (*_HANDLES, ("has_graph", _FLAG), ("has_executable", _FLAG))


class Since291Post1(Members):
    """torch_musa 2.9.1.post1, and probably later."""

    _fields_ = (*_HANDLES, ("has_graph", _FLAG), ("capture_ended", _FLAG), ("has_executable", _FLAG))


Layout = type[Members]
LAYOUTS: tuple[Layout, ...] = (Since20, Since291Post1)


class Life(NamedTuple):
    """The first SIZE bytes of a graph object at moments of its life."""

    new: bytes
    under_way: bytes
    ended: bytes
    instantiated: bytes | None  # None where the executable is made when the capture ends
    reset: bytes


def proven(life: Life) -> Layout | None:
    """The known layout that agrees with all of `life`; None where none does."""
    return next((layout for layout in LAYOUTS if _agrees(layout, life)), None)


def _agrees(layout: Layout, life: Life) -> bool:
    memories = [memory for memory in life if memory is not None]
    if len({memory[layout.flags_end() : SIZE] for memory in memories}) != 1:
        return False  # a flag changes that the layout does not have
    new, under_way, ended, *made, reset = (layout.from_buffer_copy(memory) for memory in memories)
    if any(not members.is_empty or members.graph for members in (new, under_way, reset)):
        return False
    # An executable that is made as the capture ends sets its flag together with the others, so a third flag could be any of them.
    if not made:
        return layout is Since20 and ended.is_full
    # The flag of the executable is the one that changes with its handle, and not when the capture ends.
    return ended.is_recorded and made[0].is_full and made[0].graph == ended.graph
