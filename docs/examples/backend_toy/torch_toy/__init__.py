"""A device for PyTorch in pure Python: a GPU that is the CPU. Importing the package registers the device "toy"."""

from __future__ import annotations

import torch
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend as register

from torch_toy import kernels, memory, namespace

__version__ = "1.0"

register(rename="toy", backend_module=namespace)
kernels.install()
torch.UntypedStorage.__new__ = staticmethod(memory.make_storage)  # type: ignore[method-assign]
