"""Ninja files written by torch, completed: by what the rule for CUDA sources lacks without CUDA, and by precompiled headers."""

from __future__ import annotations

import re
import shlex
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


def with_program(text: str, program: str) -> str:
    """`text` with `program` started before the host's compiler, in the rule for C++ sources."""
    started = shlex.quote(program).replace("$", "$$")
    return text.replace("rule compile\n  command = $cxx ", f"rule compile\n  command = {started} $cxx ", 1)


def complete(path: str, program: str | None) -> None:
    """Do both for the file at `path`.

    A user who has a compiler cache that does not support dependencies, and has said so, gets none; there may be no `program`.
    """
    file = Path(path)
    text = new = file.read_text()
    if variable("TORCH_EXTENSION_SKIP_NVCC_GEN_DEPENDENCIES") != "1":
        new = with_dependencies(new)
    if program is not None:
        new = with_program(new, program)
    if new != text:
        file.write_text(new)
