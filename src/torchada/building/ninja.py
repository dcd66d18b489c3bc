"""Ninja files written by torch, completed by what their rule for CUDA sources lacks where torch was built without CUDA."""

from __future__ import annotations

import re
from pathlib import Path

from torchada.building.environment import variable

_RULE = re.compile(r"^rule cuda_compile\n(?:  .*\n?)+", re.MULTILINE)


def with_dependencies(text: str) -> str:
    """`text` with the rule for CUDA sources telling ninja which headers they include; without it, changed headers go unnoticed."""
    rule = _RULE.search(text)
    if rule is None or "depfile" in rule[0]:
        return text
    new = rule[0].replace("rule cuda_compile\n", "rule cuda_compile\n  depfile = $out.d\n  deps = gcc\n", 1)
    new = new.replace("command = $nvcc ", "command = $nvcc -MD -MF $out.d ", 1)
    return text[: rule.start()] + new + text[rule.end() :]


def complete(path: str) -> None:
    """Do so for the file at `path`, unless the user has a compiler cache that does not support dependencies, and has said so."""
    if variable("TORCH_EXTENSION_SKIP_NVCC_GEN_DEPENDENCIES") == "1":
        return
    file = Path(path)
    text = file.read_text()
    new = with_dependencies(text)
    if new != text:
        file.write_text(new)
