"""The adapter of the platform `host`: `torch.host` has the functions of torch.cuda for a machine without an accelerator.

Its devices are the CPU under other numbers. Kernels are done when they return, so streams are always in order and there is
nothing to wait for; figures of memory are those of the process, and those of a device are the machine's. Nothing is compiled,
and importing it changes nothing but the two names `torch.host` and `torch.distributed.ProcessGroupHOST`.
"""

from __future__ import annotations

import sys

import torch

from torch_host import namespace

__version__ = "1.0"

torch.host = namespace  # type: ignore[attr-defined]
sys.modules.setdefault("torch.host", namespace)

if torch.distributed.is_available():
    from torch_host.collectives import ProcessGroupHOST

    torch.distributed.ProcessGroupHOST = ProcessGroupHOST  # type: ignore[attr-defined]
