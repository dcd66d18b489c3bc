"""Autocast of double precision, which CUDA leaves as it is: the PyTorch of torch_musa 2.7.1 turns it into halves.

Its patch of ATen/autocast_mode.h counts float64 among the types to convert, so the vendor's rules make halves of doubles, or single
precision. What stands in front of them is in the library of gates, so it is there where gates are in C++: in Python, each operator
under autocast would pay for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchada.areas.kernels._gates import gates
from torchada.areas.kernels._selection import need_own_kernels
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip


def patches(context: Context) -> Iterator[Patch]:
    need_own_kernels(context)
    if not context.settings.all_dtypes:
        raise Skip("TORCHADA_ALL_DTYPES=0 leaves them to the backend")
    to = "double precision as it is, where gates are in C++"
    yield Patch(gates.Switch(context), "leave_doubles", True, None, "emulated", to, note="torch.autocast of float64")
