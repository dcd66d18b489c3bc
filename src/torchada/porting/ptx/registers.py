"""What the names in a PTX statement stand for: %0, %1 ... of the statement, registers that it declares, and numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

_NUMBERED = re.compile(rb"%(\d+)")
_LITERAL = re.compile(rb"-?(?:0[xX][0-9a-fA-F]+|\d+)[uU]?")
_FLOAT = re.compile(rb"-?\d+\.\d+")
_FLOAT_BITS = re.compile(rb"0[fF]([0-9a-fA-F]{8})")
_WHOLE = (b"r", b"l", b"h")

# The kinds of registers by the letters of constraints; p, a predicate, has none.
CPP = {
    b"h": b"unsigned short",
    b"r": b"unsigned int",
    b"l": b"unsigned long long",
    b"f": b"float",
    b"d": b"double",
    b"p": b"bool",
}
_BY_WIDTH = {b"16": b"h", b"32": b"r", b"64": b"l"}
# A register of 32 or 64 bits holds a float as well as an integer: of each kind the other one, and the functions that give its bits.
_OTHER = {b"r": b"f", b"f": b"r", b"l": b"d", b"d": b"l"}
_BITS = {
    b"r": b"__float_as_uint(%b)",
    b"f": b"__uint_as_float(%b)",
    b"l": b"(unsigned long long)__double_as_longlong(%b)",
    b"d": b"__longlong_as_double((long long)(%b))",
}
_UNTYPED = {b"b32": b"r", b"b64": b"l"}
_ALIAS = b"*(%b __attribute__((__may_alias__))*)&%b"
_REALS = {b"f32": b"f", b"f64": b"d", b"pred": b"p", b"f16x2": b"r", b"bf16x2": b"r", b"bf16": b"h"}


class Operand(NamedTuple):
    """What stands behind %n: the constraint without its `=`, and the C++ expression."""

    constraint: bytes
    expression: bytes


def kind_of(ptx_type: bytes) -> bytes | None:
    """The kind of register that holds such a value: r for u32. Eight bits are held in a register of 32."""
    if ptx_type in (b"b8", b"u8", b"s8"):
        return b"r"
    return _REALS.get(ptx_type) or _BY_WIDTH.get(ptx_type[1:])


class Values:
    """The registers that an instruction may name. In a program of several, `declared` holds those that it declares, by their names,
    and outputs can be read as well."""

    def __init__(
        self,
        outputs: Sequence[Operand],
        inputs: Sequence[Operand],
        declared: Mapping[bytes, Operand] | None = None,
    ) -> None:
        self.all = [*outputs, *inputs]
        self.outputs = len(outputs)
        self.declared = {} if declared is None else declared
        self.is_program = declared is not None

    def output(self, operand: bytes, constraint: bytes) -> bytes | None:
        """The expression to assign to, if `operand` is a register of that kind, or one that can hold the bits of a float."""
        register = self._assigned(operand)
        if register is None:
            return None
        if register.constraint == constraint:
            return register.expression
        is_integer = constraint in (b"f", b"d") and register.constraint == _OTHER[constraint]
        return _ALIAS % (CPP[constraint], register.expression) if is_integer else None

    def output_of(self, operand: bytes, ptx_type: bytes) -> bytes | None:
        """The same for a type of PTX's: where that is plain bits, the register may be a float's."""
        register, kind = self._assigned(operand), _UNTYPED.get(ptx_type, b"")
        if register is not None and kind and register.constraint == _OTHER[kind]:
            return _ALIAS % (CPP[kind], register.expression)
        return self.output(operand, kind_of(ptx_type) or b"")

    def input_of(self, operand: bytes, ptx_type: bytes) -> bytes | None:
        """An input, or a number, of a type of PTX's: where that is plain bits, the register may be a float's."""
        kind = _UNTYPED.get(ptx_type, b"")
        value = self.input(operand, kind_of(ptx_type) or b"")
        if value is not None or not kind:
            return value
        register = self._read(operand)
        is_real = register is not None and register.constraint == _OTHER[kind]
        return _BITS[kind] % register.expression if register is not None and is_real else None

    def input(self, operand: bytes, constraint: bytes) -> bytes | None:
        """An input in a register of that kind, or a number for one."""
        literal = _literal(operand, constraint)
        if literal is not None:
            return literal
        register = self._read(operand)
        if register is None:
            return None
        if constraint in (b"f", b"d") and register.constraint == _OTHER[constraint]:
            return _BITS[constraint] % register.expression
        fits = register.constraint == constraint or (constraint == b"r" and register.constraint == b"n")
        return register.expression if fits else None

    def _assigned(self, operand: bytes) -> Operand | None:
        number = self._number(operand)
        return self.declared.get(operand) if number is None else self._at(number, 0, self.outputs)

    def _read(self, operand: bytes) -> Operand | None:
        number = self._number(operand)
        first = 0 if self.is_program else self.outputs
        return self.declared.get(operand) if number is None else self._at(number, first, len(self.all))

    def _at(self, number: int, first: int, end: int) -> Operand | None:
        return self.all[number] if first <= number < end else None

    @staticmethod
    def _number(operand: bytes) -> int | None:
        match = _NUMBERED.fullmatch(operand)
        return int(match[1]) if match else None


# From an instruction's modifiers and operands, an expression that does the same; None where there is none.
Rule = Callable[[list[bytes], list[bytes], Values], "bytes | None"]


def _literal(operand: bytes, constraint: bytes) -> bytes | None:
    if constraint in _WHOLE:
        return operand if _LITERAL.fullmatch(operand) else None
    if constraint == b"f":
        match = _FLOAT_BITS.fullmatch(operand)
        if match:
            return b"__uint_as_float(0x%bu)" % match[1]
        return operand + b"f" if _FLOAT.fullmatch(operand) else None
    return None
