"""torch.nn.parallel on the device: torch_musa's own functions copy, and replicas use its devices and streams.

The vendor's patches also name _MUSAC._broadcast_out, _scatter_out and _gather_out, which do not exist; the same holds here.
"""

from __future__ import annotations

import sys
from typing import Any

from torch.nn.parallel import _functions, comm
from torch.nn.parallel.parallel_apply import parallel_apply

from .rewriting import rewrite

_COPIES = ("broadcast", "broadcast_coalesced", "scatter", "gather")


def install() -> None:
    module: Any = comm
    module.torch_musa = sys.modules["torch_musa"]
    for name in _COPIES:
        rewrite(getattr(comm, name), {"torch": "torch_musa", "_C": "_MUSAC"})
    # Newer releases use torch.accelerator, so their functions do not contain this name.
    rewrite(parallel_apply, {"cuda": "musa"}, {"cuda": "musa"})
    rewrite(_functions.Scatter.forward, {"cuda": "musa"}, {"cuda": "musa"})
