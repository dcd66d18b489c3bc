"""Turn a statement of PTX into an expression of C++ for MUSA, where one does the same.

Every other statement is refused (None), also where a modifier is not known.
"""

from __future__ import annotations

from functools import lru_cache

from torchada.porting.ptx import program
from torchada.porting.ptx.instructions import translated_instruction
from torchada.porting.ptx.registers import Operand, Values

__all__ = ["Operand", "header_of", "translated"]

_HEADERS = ((b"_half", "musa_fp16.h"), (b"bfloat16", "musa_bf16.h"), (b"_to_fp8", "musa_fp8.h"))


@lru_cache(4096)
def translated(statement: bytes, outputs: tuple[Operand, ...], inputs: tuple[Operand, ...]) -> bytes | None:
    """An expression that does what the instructions of `statement` do; None where there is none."""
    text = statement.strip().replace(b"%%", b"%")
    if b"//" in text or b"/*" in text:
        return None
    if text[:1] == b"{" and text[-1:] == b"}":
        text = text[1:-1].strip()
    instructions = [part.strip() for part in text.split(b";") if part.strip()]
    reads_outputs = any(operand.constraint[:1] == b"+" for operand in outputs)
    if len(instructions) == 1 and not reads_outputs and instructions[0][:1] not in (b"@", b"."):
        return translated_instruction(instructions[0], Values(outputs, inputs))
    return program.translated(instructions, outputs, inputs)


def header_of(expression: bytes) -> tuple[str, ...]:
    """The headers of MUSA's whose functions are called in a translated expression."""
    return tuple(header for word, header in _HEADERS if word in expression)
