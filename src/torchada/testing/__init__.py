"""`check_backend(backend)` checks whether an adapter offers what CUDA code needs to run on its device.

`python -m torchada.testing BACKEND` does the same from a shell. See docs/extending.md.
"""

from __future__ import annotations

from torchada.testing.contract import check_backend
from torchada.testing.report import Report, Result

__all__ = ["Report", "Result", "check_backend"]
