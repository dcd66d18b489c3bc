"""torch.cuda._gpu_trace, by whose callbacks torch.cuda's sanitizer finds races between streams.

The backend's allocator, streams and events report to PyTorch, and PyTorch calls the callbacks in the namespace of their device.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip


def patches(context: Context) -> Iterator[Patch]:
    from torch.cuda import _gpu_trace

    if hasattr(context.namespace, "_gpu_trace"):
        raise Skip(f"torch.{context.backend.namespace} has callbacks of its own")
    yield Patch(context.namespace, "_gpu_trace", _gpu_trace, "torch.cuda._gpu_trace")
