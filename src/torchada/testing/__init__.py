"""What an adapter has to offer so that CUDA code runs on its device, as something one runs: `check_backend(backend)`.

`python -m torchada.testing BACKEND` does the same from a shell. See docs/extending.md.
"""

from __future__ import annotations

from torchada.testing.contract import check_backend
from torchada.testing.report import Report, Result

__all__ = ["Report", "Result", "check_backend"]
