"""The host's collectives: Gloo's, with the constructor and the options of NCCL's."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from torch.distributed import ProcessGroupGloo


class Options(ProcessGroupGloo._Options):  # type: ignore[misc, name-defined]
    """NCCL's options, of which the timeout counts."""

    def __init__(self, is_high_priority_stream: bool = False) -> None:
        super().__init__()
        self.is_high_priority_stream = is_high_priority_stream
        self._timeout = timedelta(minutes=10)


class ProcessGroupHOST(ProcessGroupGloo):
    """A process group whose tensors are in the memory of the processes."""

    Options = Options

    def __init__(self, store: Any, rank: int, size: int, options: Any = None) -> None:
        timeout = options if isinstance(options, timedelta) else getattr(options, "_timeout", timedelta(minutes=10))
        super().__init__(store, rank, size, timeout)
