"""PTX that says nothing but what C++ for MUSA says as well: one instruction in, one expression out.

Every other instruction is refused (None), also where a modifier is not known: .ftz, .sat, an address in shared memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

_LANE = b"((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x) % warpSize"
_TYPES = {
    **dict.fromkeys((b"b32", b"u32"), b"unsigned int"),
    **dict.fromkeys((b"b64", b"u64"), b"unsigned long long"),
    **dict.fromkeys((b"b16", b"u16"), b"unsigned short"),
    **dict.fromkeys((b"b8", b"u8"), b"unsigned char"),
    b"s8": b"signed char",
    b"s16": b"short",
    b"s32": b"int",
    b"s64": b"long long",
    b"f32": b"float",
    b"f64": b"double",
}
_REGISTERS = {b"f32": b"f", b"f64": b"d"}
_HINTS = re.compile(rb"(?:weak|ca|cg|cs|lu|cv|nc|wb|wt|l1::\w+|l2::\w+)")
_ROUNDINGS = {b"rn": b"rn", b"rz": b"rz", b"rm": b"rd", b"rp": b"ru"}
_FENCES = {b"gl": b"__threadfence()", b"cta": b"__threadfence_block()", b"sys": b"__threadfence_system()"}
_OPERANDS = re.compile(rb"\{[^{}]*\}|\[[^\[\]]*\]|[^,{}\[\]]+")
_NUMBERED = re.compile(rb"%(\d)")
_LITERAL = re.compile(rb"-?(?:0[xX][0-9a-fA-F]+|\d+)[uU]?")

# Fields of bits, with PTX's rules for positions and lengths that are too large.
_MASK = b"(n > 31 ? ~0u : (1u << n) - 1u)"
_FIELD = b"[](unsigned int a, unsigned int p, unsigned int n) { p &= 255u; n &= 255u; "
_BFE_UNSIGNED = _FIELD + b"return p > 31 ? 0u : (a >> p) & %b; }" % _MASK
_BFE_SIGNED = (
    b"[](int a, unsigned int p, unsigned int n) { p &= 255u; n &= 255u; if (n == 0) return 0; "
    b"const int s = p > 31 ? a >> 31 : a >> p; if (p + n > 31) return s; "
    b"return (int)((unsigned int)s << (32 - n)) >> (32 - n); }"
)
_BFI = (
    b"[](unsigned int a, unsigned int b, unsigned int p, unsigned int n) { p &= 255u; n &= 255u; if (p > 31) return b; "
    b"const unsigned int m = %b << p; return (b & ~m) | ((a << p) & m); }" % _MASK
)
# Bit i of the table says what the operation makes of three bits that spell i.
_LOP3 = (
    b"[](unsigned int a, unsigned int b, unsigned int c, unsigned int t) { unsigned int r = 0; "
    b"for (unsigned int i = 0; i < 8; ++i) if (t >> i & 1) r |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c); "
    b"return r; }"
)
# The manual bounds the error of these, and C++'s functions are within the bounds.
_APPROXIMATE = {
    b"tanh": b"tanhf",
    b"ex2": b"exp2f",
    b"lg2": b"log2f",
    b"sin": b"sinf",
    b"cos": b"cosf",
    b"sqrt": b"sqrtf",
    b"rsqrt": b"rsqrtf",
    b"rcp": b"1.0f / ",
}


class Operand(NamedTuple):
    """What stands behind %n: the constraint without its `=`, and the C++ expression."""

    constraint: bytes
    expression: bytes


def translated(instruction: bytes, outputs: Sequence[Operand], inputs: Sequence[Operand]) -> bytes | None:
    """An expression that does what the one `instruction` does; None where there is none."""
    head, _, rest = instruction.strip().rstrip(b";").rstrip().partition(b" ")
    name, *modifiers = head.lower().split(b".")
    rule = _RULES.get(name)
    if rule is None or b";" in rest:
        return None
    operands = [found.strip() for found in _OPERANDS.findall(rest) if found.strip()]
    return rule(modifiers, operands, _Values(outputs, inputs))


class _Values:
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


def _several(operand: bytes) -> list[bytes]:
    return [each.strip() for each in operand.strip(b"{}").split(b",")]


def _access(modifiers: list[bytes]) -> tuple[bytes, int, bool] | None:
    """The type of a load or store, how many of them there are, and whether it is volatile."""
    count, is_volatile, rest = 1, False, []
    for each in modifiers[:-1]:
        if each in (b"v2", b"v4"):
            count = int(each[1:])
        elif each == b"volatile":
            is_volatile = True
        elif each != b"global" and not _HINTS.fullmatch(each):
            rest.append(each)
    known = modifiers and modifiers[-1] in _TYPES and b"global" in modifiers
    return (modifiers[-1], count, is_volatile) if known and not rest else None


def _register(kind: bytes) -> bytes:
    return _REGISTERS.get(kind) or {b"64": b"l", b"16": b"h"}.get(kind[1:], b"r")


def _load(modifiers: list[bytes], operands: list[bytes], values: _Values) -> bytes | None:
    access = _access(modifiers)
    if access is None or len(operands) != 2:
        return None
    kind, count, is_volatile = access
    register = _register(kind)
    targets = [values.output(each, register) for each in _several(operands[0])]
    address = values.input(operands[1].strip(b"[] "), b"l")
    if address is None or len(targets) != count or None in targets:
        return None
    pointer = b"const %b%b*" % (b"volatile " if is_volatile else b"", _TYPES[kind])
    stores = b" ".join(b"%b = torchada_p[%d];" % (target or b"", at) for at, target in enumerate(targets))
    return b"[&](%b torchada_p) { %b }((%b)(%b))" % (pointer, stores, pointer, address)


def _store(modifiers: list[bytes], operands: list[bytes], values: _Values) -> bytes | None:
    access = _access(modifiers)
    if access is None or len(operands) != 2:
        return None
    kind, count, is_volatile = access
    sources = [values.input(each, _register(kind)) for each in _several(operands[1])]
    address = values.input(operands[0].strip(b"[] "), b"l")
    if address is None or len(sources) != count or None in sources:
        return None
    element = _TYPES[kind]
    pointer = b"%b%b*" % (b"volatile " if is_volatile else b"", element)
    stores = b" ".join(
        b"torchada_p[%d] = (%b)(%b);" % (at, element, source or b"") for at, source in enumerate(sources)
    )
    return b"[&](%b torchada_p) { %b }((%b)(%b))" % (pointer, stores, pointer, address)


def _function(kinds: dict[tuple[bytes, ...], tuple[bytes, bytes]]) -> Callable[..., bytes | None]:
    """`output = function(inputs)`, with the function and the kinds of registers by the instruction's modifiers."""

    def rule(modifiers: list[bytes], operands: list[bytes], values: _Values) -> bytes | None:
        function, registers = kinds.get(tuple(modifiers), (b"", b""))
        if len(operands) != len(registers) or not registers:
            return None
        target = values.output(operands[0], registers[:1])
        inputs = [values.input(operand, registers[at : at + 1]) for at, operand in enumerate(operands) if at]
        if target is None or None in inputs:
            return None
        return b"%b = %b(%b)" % (target, function, b", ".join(each or b"" for each in inputs))

    return rule


def _special(modifiers: list[bytes], operands: list[bytes], values: _Values) -> bytes | None:
    """The number of the lane."""
    if modifiers not in ([b"u32"], [b"s32"], [b"b32"]) or len(operands) != 2 or operands[1] != b"%%laneid":
        return None
    target = values.output(operands[0], b"r")
    return None if target is None else b"%b = %b" % (target, _LANE)


def _fence(modifiers: list[bytes], operands: list[bytes], _: _Values) -> bytes | None:
    return _FENCES.get(modifiers[0]) if len(modifiers) == 1 and not operands else None


def _sleep(modifiers: list[bytes], operands: list[bytes], values: _Values) -> bytes | None:
    time = values.input(operands[0], b"r") if modifiers == [b"u32"] and len(operands) == 1 else None
    return None if time is None else b"__nanosleep(%b)" % time


_RULES: dict[bytes, Callable[[list[bytes], list[bytes], _Values], bytes | None]] = {
    b"ld": _load,
    b"st": _store,
    b"mov": _special,
    b"prmt": _function({(b"b32",): (b"__byte_perm", b"rrrr")}),
    b"bfe": _function({(b"u32",): (_BFE_UNSIGNED, b"rrrr"), (b"s32",): (_BFE_SIGNED, b"rrrr")}),
    b"bfi": _function({(b"b32",): (_BFI, b"rrrrr")}),
    b"fma": _function(
        {
            (ptx, kind): (b"%b_%b" % (function, cuda), register * 4)
            for kind, function, register in ((b"f32", b"__fmaf", b"f"), (b"f64", b"__fma", b"d"))
            for ptx, cuda in _ROUNDINGS.items()
        }
    ),
    b"lop3": _function({(b"b32",): (_LOP3, b"rrrrr")}),
    **{name: _function({(b"approx", b"f32"): (function, b"ff")}) for name, function in _APPROXIMATE.items()},
    b"membar": _fence,
    b"nanosleep": _sleep,
}
