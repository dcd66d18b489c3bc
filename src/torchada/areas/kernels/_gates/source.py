"""The C++ source of the gates: a line for each operator that this PyTorch has, over the types of its schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from torchada.areas.kernels._gates.operators import OPERATORS

HEADERS = Path(__file__).parent / "csrc"
_TIMER = Path("torch", "csrc", "distributed", "c10d", "reducer_timer.hpp")
# Autocast refuses it in any type.
_REFUSED = "binary_cross_entropy"


def write(torch: Any) -> str:
    folder = Path(torch.__file__).parent / "include" / "ATen" / "ops"
    gates, rules = _Lines(torch, folder, "add", OPERATORS), _Lines(torch, folder, "add_rule", _autocast(torch))
    includes = gates.includes | rules.includes
    if torch.distributed.is_available() and (folder.parents[1] / _TIMER).is_file():
        includes.add('#include "ddp_timer.h"')
    headers = ['#include "gate.h"', '#include "double_autocast.h"', *sorted(includes)]
    return "\n".join([*headers, "static const bool added[] = {", *gates.lines, *rules.lines, "};", ""])


class _Lines:
    """A line for each of some operators, and the headers with their types."""

    def __init__(self, torch: Any, folder: Path, function: str, names: Iterable[str]) -> None:
        self.lines: list[str] = []
        self.includes: set[str] = set()
        for name in names:
            header = _header(folder, name)
            if header is not None and torch._C._dispatch_has_kernel(f"aten::{name}"):
                self.includes.add(f"#include <ATen/ops/{header}>")
                self.lines.append(f'  torchada::{function}<at::_ops::{name.replace(".", "_")}>("{name}"),')


def _autocast(torch: Any) -> Iterator[str]:
    """What autocast has a rule for: PyTorch has one list for several devices. CUDA's key would be translated."""
    listed = torch._C._dispatch_get_registrations_for_dispatch_key("AutocastXPU")
    names = sorted(name.removeprefix("aten::") for name in listed if name.startswith("aten::"))
    return (name for name in names if name != _REFUSED)


def _header(folder: Path, name: str) -> str | None:
    """`mul_` is in the header of `mul`, unless it has one of its own."""
    packet = name.partition(".")[0]
    names = (f"{stem}_ops.h" for stem in (packet, packet.removesuffix("_")))
    return next((header for header in names if (folder / header).is_file()), None)
