"""Several instructions in one statement, with registers and predicates of their own.

All of a statement's operands are read before the first instruction and written after the last one, as a compiler does that keeps
them in registers; so it does not matter whether a variable is an output and an input.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from torchada.porting.ptx.instructions import translated_instruction
from torchada.porting.ptx.registers import CPP, Operand, Values, kind_of

_DECLARED = re.compile(rb"\.reg\s*\.(\w+)\s+([\w$%,\s]+)")
_NAME = re.compile(rb"%?[A-Za-z_$][\w$]*")
_GUARDED = re.compile(rb"@(!?)\s*(%?[A-Za-z_$][\w$]*)\s+(.+)")


def translated(instructions: Sequence[bytes], outputs: Sequence[Operand], inputs: Sequence[Operand]) -> bytes | None:
    """An expression that does what `instructions` do one after the other; None where one of them has no counterpart."""
    declared: dict[bytes, Operand] = {}
    locals_ = _locals(outputs, inputs)
    if locals_ is None:
        return None
    names = [
        Operand(operand.constraint.lstrip(b"+"), b"torchada_%d" % at) for at, operand in enumerate([*outputs, *inputs])
    ]
    values = Values(names[: len(outputs)], names[len(outputs) :], declared)
    body = [locals_]
    for instruction in instructions:
        made = _declaration(instruction, declared) or _statement(instruction, values)
        if made is None:
            return None
        body.append(made)
    written = (b"%b = torchada_%d;" % (operand.expression, at) for at, operand in enumerate(outputs))
    return b"[&]() { %b }()" % b" ".join(filter(None, [*body, *written]))


def _locals(outputs: Sequence[Operand], inputs: Sequence[Operand]) -> bytes | None:
    """Variables for the operands; None where one is of a kind that is not known."""
    made = []
    for at, operand in enumerate([*outputs, *inputs]):
        kind = CPP.get(b"r" if operand.constraint == b"n" else operand.constraint.lstrip(b"+"))
        if kind is None:
            return None
        given = b"(%b)%b" % (kind, operand.expression) if at >= len(outputs) or operand.constraint[:1] == b"+" else b"0"
        made.append(b"%b torchada_%d = %b;" % (kind, at, given))
    return b" ".join(made)


def _declaration(instruction: bytes, declared: dict[bytes, Operand]) -> bytes | None:
    """.reg .pred p, q"""
    match = _DECLARED.fullmatch(instruction)
    kind = kind_of(match[1]) if match else None
    names = [name.strip() for name in match[2].split(b",")] if match else []
    if kind is None or not all(_NAME.fullmatch(name) and name not in declared for name in names):
        return None
    made = []
    for name in names:
        declared[name] = Operand(kind, b"torchada_r%d" % len(declared))
        made.append(b"%b %b = 0;" % (CPP[kind], declared[name].expression))
    return b" ".join(made)


def _statement(instruction: bytes, values: Values) -> bytes | None:
    guarded = _GUARDED.fullmatch(instruction)
    expression = translated_instruction(guarded[3] if guarded else instruction, values)
    if expression is None or guarded is None:
        return None if expression is None else expression + b";"
    condition = values.input(guarded[2], b"p")
    return None if condition is None else b"if (%b%b) { %b; }" % (guarded[1], condition, expression)
