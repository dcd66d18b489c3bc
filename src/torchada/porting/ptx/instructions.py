"""One instruction of PTX as an expression."""

from __future__ import annotations

import re

from torchada.porting.ptx import arithmetic, barriers, copies, integers, lanes, matrices, memory, small_floats
from torchada.porting.ptx.registers import CPP, Rule, Values, kind_of

_TABLES = (integers.FUNCTIONS, arithmetic.FUNCTIONS, small_floats.FUNCTIONS)
_FUNCTIONS = {
    name: {modifiers: function for table in _TABLES for modifiers, function in table.get(name, {}).items()}
    for name in {name for table in _TABLES for name in table}
}
_HEAD = re.compile(rb"[\w.:]+")
_OPERANDS = re.compile(rb"\{[^{}]*\}|\[[^\[\]]*\]|[^,{}\[\]]+")
_SPECIAL = {
    b"%laneid": lanes.LANE,
    b"%lanemask_eq": b"1u << (%b)" % lanes.LANE,
    b"%lanemask_lt": b"(1u << (%b)) - 1u" % lanes.LANE,
    b"%lanemask_le": b"(2u << (%b)) - 1u" % lanes.LANE,
    b"%lanemask_gt": b"~((2u << (%b)) - 1u)" % lanes.LANE,
    b"%lanemask_ge": b"~((1u << (%b)) - 1u)" % lanes.LANE,
    **{
        b"%" + ptx + b"." + axis: cuda + b"." + axis
        for ptx, cuda in (
            (b"tid", b"threadIdx"),
            (b"ntid", b"blockDim"),
            (b"ctaid", b"blockIdx"),
            (b"nctaid", b"gridDim"),
        )
        for axis in (b"x", b"y", b"z")
    },
}
_COMPARED = {b"eq": b"==", b"ne": b"!=", b"lt": b"<", b"le": b"<=", b"gt": b">", b"ge": b">="}
_UNSIGNED = {b"lo": b"<", b"ls": b"<=", b"hi": b">", b"hs": b">="}
_SIGNED = {b"s32": b"(int)", b"s64": b"(long long)"}
_HALVES = {b"r": (b"h", 16), b"l": (b"r", 32)}
_NOTHING = b"(void)0"


def translated_instruction(instruction: bytes, values: Values) -> bytes | None:
    """An expression that does what `instruction` does; it has no predicate before it and no semicolon behind."""
    head = _HEAD.match(instruction)
    if head is None:
        return None
    name, *modifiers = head[0].lower().split(b".")
    rest = instruction[head.end() :]
    operands = [operand.strip() for operand in _OPERANDS.findall(rest) if operand.strip()]
    if name in _FUNCTIONS:
        return _function(name, modifiers, operands, values)
    rule = _RULES.get(name)
    return None if rule is None else rule(modifiers, operands, values)


def _function(name: bytes, modifiers: list[bytes], operands: list[bytes], values: Values) -> bytes | None:
    """`output = function(inputs)`"""
    registers, function = _FUNCTIONS[name].get(tuple(modifiers), (b"", b""))
    if len(operands) != len(registers) or not registers:
        return None
    target = values.output(operands[0], registers[:1])
    inputs = [values.input(operand, registers[at : at + 1]) for at, operand in enumerate(operands) if at]
    if target is None or None in inputs:
        return None
    return b"%b = %b(%b)" % (target, function, b", ".join(value or b"" for value in inputs))


def _move(modifiers: list[bytes], operands: list[bytes], values: Values) -> bytes | None:
    """A special register, a register or number of the same size, or two halves of one."""
    if len(modifiers) != 1 or len(operands) != 2 or (kind := kind_of(modifiers[0])) is None:
        return None
    target, source = operands
    special = source.replace(b"%%", b"%", 1)
    if special in _SPECIAL:
        output = values.output(target, b"r") if modifiers[0] in (b"u32", b"s32", b"b32") else None
        return None if output is None else b"%b = %b" % (output, _SPECIAL[special])
    if source[:1] == b"{":
        return _joined(kind, target, _names(source), values)
    if target[:1] == b"{":
        return _split(kind, _names(target), source, values)
    return _copied(modifiers[0], target, source, values)


def _names(braces: bytes) -> list[bytes]:
    return [name.strip() for name in braces.strip(b"{}").split(b",")]


def _copied(kind: bytes, target: bytes, source: bytes, values: Values) -> bytes | None:
    """Bits are copied, of whatever type the instruction says that they are."""
    bits = b"b" + kind[1:] if kind[1:] in (b"32", b"64") else kind
    output, given = values.output_of(target, bits), values.input_of(source, bits)
    if output is None or given is None:
        output, given = values.output_of(target, kind), values.input_of(source, kind)  # of a number with a point
    return None if output is None or given is None else b"%b = (%b)" % (output, given)


def _joined(kind: bytes, target: bytes, sources: list[bytes], values: Values) -> bytes | None:
    half, width = _HALVES.get(kind, (b"", 0))
    output, given = values.output(target, kind), [values.input_of(source, b"b%d" % width) for source in sources]
    if output is None or not half or len(given) != 2 or None in given:
        return None
    low, high = (b"(%b)(%b)(%b)" % (CPP[kind], CPP[half], value or b"") for value in given)
    return b"%b = %b | %b << %d" % (output, low, high, width)


def _split(kind: bytes, targets: list[bytes], source: bytes, values: Values) -> bytes | None:
    half, width = _HALVES.get(kind, (b"", 0))
    given, outputs = values.input(source, kind), [values.output_of(target, b"b%d" % width) for target in targets]
    if given is None or not half or len(outputs) != 2 or None in outputs:
        return None
    low, high = outputs
    body = b"%b = (%b)torchada_x; %b = (%b)(torchada_x >> %d);" % (low or b"", CPP[half], high or b"", CPP[half], width)
    return b"[&](%b torchada_x) { %b }(%b)" % (CPP[kind], body, given)


def _compare(modifiers: list[bytes], operands: list[bytes], values: Values) -> bytes | None:
    """setp.ne.u32 p, a, b. Of floats, `ne` is false where one is NaN, and != of C++ is true."""
    if len(modifiers) != 2 or len(operands) != 3 or (kind := kind_of(modifiers[1])) is None:
        return None
    marks = _COMPARED if modifiers[1][:1] != b"u" else {**_COMPARED, **_UNSIGNED}
    mark = marks.get(modifiers[0])
    if mark is None or kind not in (b"r", b"l", b"f") or (kind == b"f" and mark == b"!="):
        return None
    target = values.output(operands[0], b"p")
    left, right = (values.input(operand, kind) for operand in operands[1:])
    if target is None or left is None or right is None:
        return None
    as_type = _SIGNED.get(modifiers[1], b"(%b)" % CPP[kind])
    return b"%b = %b(%b) %b %b(%b)" % (target, as_type, left, mark, as_type, right)


def _select(modifiers: list[bytes], operands: list[bytes], values: Values) -> bytes | None:
    """selp.b32 d, a, b, p"""
    if len(modifiers) != 1 or len(operands) != 4:
        return None
    target, condition = values.output_of(operands[0], modifiers[0]), values.input(operands[3], b"p")
    yes, no = (values.input_of(operand, modifiers[0]) for operand in operands[1:3])
    if target is None or condition is None or yes is None or no is None:
        return None
    return b"%b = %b ? %b : %b" % (target, condition, yes, no)


def _sleep(modifiers: list[bytes], operands: list[bytes], values: Values) -> bytes | None:
    time = values.input(operands[0], b"r") if modifiers == [b"u32"] and len(operands) == 1 else None
    return None if time is None else b"__nanosleep(%b)" % time


def _trap(modifiers: list[bytes], operands: list[bytes], _: Values) -> bytes | None:
    return None if modifiers or operands else b"__trap()"


def _dependency(modifiers: list[bytes], operands: list[bytes], _: Values) -> bytes | None:
    """griddepcontrol matters only to a kernel that starts before its predecessor has ended, which does not happen on MUSA."""
    return _NOTHING if modifiers in ([b"wait"], [b"launch_dependents"]) and not operands else None


def _prefetch(modifiers: list[bytes], operands: list[bytes], _: Values) -> bytes | None:
    return _NOTHING if modifiers[:1] == [b"global"] and len(modifiers) == 2 and len(operands) == 1 else None


_RULES: dict[bytes, Rule] = {
    **integers.RULES,
    b"ld": memory.load,
    b"st": memory.store,
    b"atom": memory.atomic,
    b"red": memory.reduction,
    b"membar": memory.membar,
    b"fence": memory.fence,
    b"mov": _move,
    b"setp": _compare,
    b"selp": _select,
    **lanes.RULES,
    **copies.RULES,
    **matrices.RULES,
    **barriers.RULES,
    b"trap": _trap,
    b"griddepcontrol": _dependency,
    b"prefetch": _prefetch,
    b"nanosleep": _sleep,
}
