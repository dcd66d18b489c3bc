"""The types of a backend's graph objects, for annotations."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Protocol


class Tracker(Protocol):
    """torch.utils._cuda_debug._CUDAGraphInputLivenessTracker, which older versions of torch lack."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def check_alive(self, capture_pool: tuple[int, int], /) -> None: ...


class Graph(Protocol):
    """A graph of the backend; `_torchada_tracker` is there while its inputs are checked, the device once it is captured."""

    replay: Callable[[], object]
    _torchada_tracker: Tracker
    _torchada_device: int
    _torchada_pool: weakref.finalize[..., Graph]

    def capture_begin(self) -> None: ...

    def pool(self) -> tuple[int, int]: ...

    def enable_debug_mode(self) -> None: ...

    def debug_dump(self, debug_path: str) -> None: ...
