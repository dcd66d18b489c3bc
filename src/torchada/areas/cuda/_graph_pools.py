"""Gives the pool of a graph back with the graph. Adapters whose graphs never do keep the memory of all that were ever captured."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torchada.areas.cuda._native_names import native_names
from torchada.redirect.context import Context

if TYPE_CHECKING:
    from torchada.areas.cuda._graph_types import Graph


class Pools:
    """The pools of captured graphs. Each graph counts as one user of its pool; the last one frees it."""

    def __init__(
        self, pool_of: Callable[[Graph], tuple[int, int]], release: Callable[[int, tuple[int, int]], None]
    ) -> None:
        self._pool_of, self._release = pool_of, release

    def taken(self, graph: Graph, device: int) -> None:
        """`graph` has just been captured on `device`."""
        user = weakref.finalize(graph, self._release, device, self._pool_of(graph))
        user.atexit = False
        graph._torchada_pool = user

    @staticmethod
    def given_back(graph: Graph) -> None:
        """`graph` has discarded its recording."""
        user: Any = vars(graph).pop("_torchada_pool", None)
        if user is not None:
            user()


def pools_for(context: Context, graph: Any) -> Pools | None:
    """None where the adapter has no function that releases a pool."""
    _, release = native_names(context).get("_cuda_releasePool", ("", None))
    if release is None:
        return None
    function: Any = release
    return Pools(graph.pool, function)
