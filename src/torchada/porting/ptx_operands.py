"""The operands of an asm statement, and instructions that are a function of theirs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

_NUMBERED = re.compile(rb"%(\d)")
_LITERAL = re.compile(rb"-?(?:0[xX][0-9a-fA-F]+|\d+)[uU]?")


class Operand(NamedTuple):
    """What stands behind %n: the constraint without its `=`, and the C++ expression."""

    constraint: bytes
    expression: bytes


class Values:
    """The operands of a statement, by their numbers."""

    def __init__(self, outputs: Sequence[Operand], inputs: Sequence[Operand]) -> None:
        self.all = [*outputs, *inputs]
        self.outputs = len(outputs)

    def output(self, operand: bytes, constraint: bytes) -> bytes | None:
        found = _NUMBERED.fullmatch(operand)
        number = int(found[1]) if found else len(self.all)
        fits = number < self.outputs and self.all[number].constraint == constraint
        return self.all[number].expression if fits else None

    def input(self, operand: bytes, constraint: bytes) -> bytes | None:
        """An input in a register of that kind, or a literal for a register of 32 bits."""
        if constraint == b"r" and _LITERAL.fullmatch(operand):
            return operand
        found = _NUMBERED.fullmatch(operand)
        number = int(found[1]) if found else len(self.all)
        if not self.outputs <= number < len(self.all):
            return None
        if self.all[number].constraint not in ((constraint, b"n") if constraint == b"r" else (constraint,)):
            return None
        return self.all[number].expression


#: From an instruction's modifiers and operands, an expression that does the same; None where there is none.
Rule = Callable[[list[bytes], list[bytes], Values], "bytes | None"]


def function(kinds: dict[tuple[bytes, ...], tuple[bytes, bytes]]) -> Rule:
    """`output = function(inputs)`, with the function and the kinds of registers by the instruction's modifiers."""

    def rule(modifiers: list[bytes], operands: list[bytes], values: Values) -> bytes | None:
        call, registers = kinds.get(tuple(modifiers), (b"", b""))
        if len(operands) != len(registers) or not registers:
            return None
        target = values.output(operands[0], registers[:1])
        inputs = [values.input(operand, registers[at : at + 1]) for at, operand in enumerate(operands) if at]
        if target is None or None in inputs:
            return None
        return b"%b = %b(%b)" % (target, call, b", ".join(each or b"" for each in inputs))

    return rule
