"""FullyShardedDataParallel does everything on the stream that computes, unless TORCH_MUSA_FSDP_DEFAULT_STREAM_ONLY=0."""

from __future__ import annotations

import os
from typing import Any

from torch.distributed.fsdp import _runtime_utils as torchs

_TORCH_MUSA_FSDP_DEFAULT_STREAM_ONLY = True
#: The vendor reads it only where there is one stream, and it is about others.
_TORCH_MUSA_FSDP_FORCE_SYNC_ALL_REDUCE = False

_init_torchs_streams: Any = torchs._init_streams
_STREAMS = ("_unshard_stream", "_post_backward_stream", "_pre_unshard_stream", "_all_reduce_stream")


def _init_streams(state: Any) -> None:
    """Give the root's state its streams, which all parts of the model share."""
    _init_torchs_streams(state)
    if _TORCH_MUSA_FSDP_DEFAULT_STREAM_ONLY:
        for name in _STREAMS:
            setattr(state, name, state._default_stream)


def _apply_runtime_utils_patch() -> None:
    global _TORCH_MUSA_FSDP_DEFAULT_STREAM_ONLY
    _TORCH_MUSA_FSDP_DEFAULT_STREAM_ONLY = os.environ.get("TORCH_MUSA_FSDP_DEFAULT_STREAM_ONLY", "1") == "1"
    torchs._init_streams = _init_streams


_apply_runtime_utils_patch()
