"""What CUDA code expects where there is not enough memory: torch.cuda.OutOfMemoryError, and "out of memory" in its text.

The CPU's allocator raises a plain RuntimeError, from C++. It is answered where functions of ours call PyTorch to make or move a
tensor; operators are PyTorch's own, and raise what they raise.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from torchada.areas.host._places import CPU
from torchada.redirect.context import Context

_REFUSED = re.compile(r"DefaultCPUAllocator: .*tried to allocate (\d+) bytes")


def answering(context: Context) -> Callable[[RuntimeError, int | None], None]:
    """A function that is given an error and the index of the device that a tensor was wanted on.

    It raises torch.OutOfMemoryError where memory of a device was refused, and returns otherwise.
    """
    kind: Any = context.torch.OutOfMemoryError

    def answer(error: RuntimeError, index: int | None) -> None:
        refused = _REFUSED.search(str(error)) if index not in (None, CPU) else None
        if refused is not None:
            raise kind(f"CUDA out of memory. Tried to allocate {refused[1]} bytes of the host's memory.") from error

    return answer
