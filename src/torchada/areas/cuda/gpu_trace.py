"""torch.cuda._gpu_trace, by whose callbacks torch.cuda's sanitizer finds races between streams.

The backend's allocator, streams and events report to PyTorch, and PyTorch calls the callbacks in the namespace of their device.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip


def patches(context: Context) -> Iterator[Patch]:
    if hasattr(context.namespace, "_gpu_trace"):
        raise Skip(f"torch.{context.backend.namespace} has callbacks of its own")
    callbacks = sys.modules["torch.cuda._gpu_trace"]
    yield Patch(context.namespace, "_gpu_trace", callbacks, "torch.cuda._gpu_trace")
