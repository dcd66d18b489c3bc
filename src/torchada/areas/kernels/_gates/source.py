"""The C++ source of the gates: a line for each operator that this PyTorch has, over the types of its schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torchada.areas.kernels._gates.operators import OPERATORS

HEADERS = Path(__file__).parent / "csrc"
_TIMER = Path("torch", "csrc", "distributed", "c10d", "reducer_timer.hpp")


def write(torch: Any) -> str:
    has_operator, folder = torch._C._dispatch_has_kernel, Path(torch.__file__).parent / "include" / "ATen" / "ops"
    lines, includes = [], set()
    for name in OPERATORS:
        header = _header(folder, name)
        if header is not None and has_operator(f"aten::{name}"):
            includes.add(f"#include <ATen/ops/{header}>")
            lines.append(f'  torchada::add<at::_ops::{name.replace(".", "_")}>("{name}"),')
    if torch.distributed.is_available() and (folder.parents[1] / _TIMER).is_file():
        includes.add('#include "ddp_timer.h"')
    return "\n".join(['#include "gate.h"', *sorted(includes), "static const bool gates[] = {", *lines, "};", ""])


def _header(folder: Path, name: str) -> str | None:
    """`mul_` is in the header of `mul`, unless it has one of its own."""
    packet = name.partition(".")[0]
    names = (f"{stem}_ops.h" for stem in (packet, packet.removesuffix("_")))
    return next((header for header in names if (folder / header).is_file()), None)
