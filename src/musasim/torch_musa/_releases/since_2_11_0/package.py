"""Names of the package itself."""

from __future__ import annotations

import torch

from ...core import _lazy_init as _lazy_init_mod
from ...core import ipc

__all__ = ["AcceleratorError", "_lazy_init_mod", "ipc"]

AcceleratorError = torch._C.AcceleratorError
