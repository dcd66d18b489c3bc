"""PTX's integer instructions that C++ has no operator for: on bytes and halves, saturating, selecting, converting from floats."""

from __future__ import annotations

import re

from torchada.porting.ptx.arithmetic import Functions
from torchada.porting.ptx.registers import Rule, Values

_SIGNED = {b"u32": False, b"s32": True}
_LIMITS = {
    (False, b""): b"0ll, 4294967295ll",
    (False, b"h"): b"0ll, 65535ll",
    (False, b"b"): b"0ll, 255ll",
    (True, b""): b"-2147483648ll, 2147483647ll",
    (True, b"h"): b"-32768ll, 32767ll",
    (True, b"b"): b"-128ll, 127ll",
}
_PARTS = {
    (False, b""): b"unsigned int",
    (False, b"h"): b"unsigned short",
    (False, b"b"): b"unsigned char",
    (True, b""): b"int",
    (True, b"h"): b"short",
    (True, b"b"): b"signed char",
}
_PART = re.compile(rb"(%\d|[^.%]+)(?:\.(b[0-3]|h[01]))?")
_SECOND = {b"add": b"t += c;", b"min": b"t = t < c ? t : c;", b"max": b"t = t > c ? t : c;"}
_OPERATIONS = {
    b"vadd": b"a + b",
    b"vsub": b"a - b",
    b"vabsdiff": b"a < b ? b - a : a - b",
    b"vmin": b"a < b ? a : b",
    b"vmax": b"a > b ? a : b",
    b"vshl.clamp": b"(long long)((unsigned long long)a << (b > 32 ? 32 : b))",
    b"vshl.wrap": b"(long long)((unsigned long long)a << (b & 31))",
    b"vshr.clamp": b"a >> (b > 32 ? 32 : b)",
    b"vshr.wrap": b"a >> (b & 31)",
}


def _part(operand: bytes) -> tuple[bytes, bytes, int]:
    """The operand itself, which part of it is meant (`b` or `h`, nothing for all of it) and by how many bits that is shifted."""
    match = _PART.fullmatch(operand)
    if match is None:
        return b"", b"", 0
    width = (match[2] or b"")[:1]
    return match[1], width, int(match[2][1:]) * {b"b": 8, b"h": 16}[width] if width else 0


def _extended(operand: bytes, kind: bytes, values: Values) -> bytes | None:
    """The part of an input, as a number of 64 bits."""
    name, width, shift = _part(operand)
    value = values.input(name, b"r")
    part = _PARTS[_SIGNED[kind], width]
    return None if value is None else b"(long long)(%b)((unsigned int)(%b) >> %d)" % (part, value, shift)


def _video(operation: bytes) -> Rule:
    """`d = second(saturated(a operation b), c)`, or what is saturated put into a part of c."""
    whole = operation in (b"vmin", b"vmax")

    def rule(modifiers: list[bytes], operands: list[bytes], values: Values) -> bytes | None:
        kinds, saturates = modifiers[:3], modifiers[3:4] == [b"sat"]
        second = modifiers[4:] if saturates else modifiers[3:]
        if len(kinds) < 3 or not set(kinds) <= set(_SIGNED) or len(second) > 1 or not set(second) <= set(_SECOND):
            return None
        # PTX does not say with which bits of an intermediate result it compares, where that may have more than 32.
        if second and second != [b"add"] and not saturates and not (whole and len(set(kinds)) == 1):
            return None
        name, width, shift = _part(operands[0]) if operands else (b"", b"", 0)
        if len(operands) != 3 + bool(second or width) or (second and width):
            return None
        body = b"long long t = %b; " % _OPERATIONS[operation]
        if saturates:
            limits = _LIMITS[_SIGNED[kinds[0]], width].split(b", ")
            body += b"t = t < %b ? %b : t > %b ? %b : t; " % (limits[0], limits[0], limits[1], limits[1])
        body += b"%b " % _SECOND[second[0]] if second else b""
        body += b"return %b;" % (_merged(width, shift) if width else b"(unsigned int)t")
        sources = [_extended(operands[1], kinds[1], values), _extended(operands[2], kinds[2], values)]
        sources += [values.input(operand, b"r") for operand in operands[3:]]
        return _called(values.output(name, b"r"), body, sources, _PARTS[_SIGNED[kinds[0]], b""])

    return rule


def _shift(name: bytes) -> Rule:
    """A shift of the video instructions: the same, with a mode that says what a number of bits above 31 means."""

    def rule(modifiers: list[bytes], operands: list[bytes], values: Values) -> bytes | None:
        at = 4 if modifiers[3:4] == [b"sat"] else 3
        operation = b".".join([name, *modifiers[at : at + 1]])
        # PTX does not say with how many bits it saturates what was shifted to the left.
        if operation not in _OPERATIONS or modifiers[2] != b"u32" or (at == 4 and name == b"vshl"):
            return None
        return _video(operation)([*modifiers[:at], *modifiers[at + 1 :]], operands, values)

    return rule


def _merged(width: bytes, shift: int) -> bytes:
    mask = {b"b": 0xFF, b"h": 0xFFFF}[width] << shift
    return b"((unsigned int)c & %#xu) | (((unsigned int)t << %d) & %#xu)" % (mask ^ 0xFFFFFFFF, shift, mask)


def _called(target: bytes | None, body: bytes, sources: list[bytes | None], last: bytes) -> bytes | None:
    """A function of a, b and, where there are three `sources`, c, which is read as of the type `last`."""
    if target is None or None in sources:
        return None
    given = [source or b"" for source in sources]
    given[2:] = [b"(%b)%b" % (last, value) for value in given[2:]]
    parameters = b", ".join(b"long long %c" % name for name in b"abc"[: len(given)])
    return b"%b = [](%b) { %b }(%b)" % (target, parameters, body, b", ".join(given))


def _multiply(modifiers: list[bytes], operands: list[bytes], values: Values) -> bytes | None:
    if len(modifiers) != 3 or not set(modifiers) <= set(_SIGNED) or len(operands) != 4:
        return None
    sources = [_extended(operands[at], modifiers[at], values) for at in (1, 2)]
    body = b"return (unsigned int)a * (unsigned int)b + (unsigned int)c;"
    return _called(values.output(operands[0], b"r"), body, [*sources, values.input(operands[3], b"r")], b"unsigned int")


def _converted() -> Functions:
    """PTX's conversions from floats to integers clamp with and without `.sat`, as CUDA's functions do."""
    functions: Functions = {}
    kinds = ((b"s32", b"int", b"r"), (b"u32", b"uint", b"r"), (b"s64", b"ll", b"l"), (b"u64", b"ull", b"l"))
    sources = ((b"f32", b"__float2", b"f"), (b"f64", b"__double2", b"d"))
    roundings = ((b"rni", b"rn"), (b"rzi", b"rz"), (b"rmi", b"rd"), (b"rpi", b"ru"))
    for rounding, suffix in roundings:
        for source, begin, register in sources:
            for sat in ((), (b"sat",)):
                for kind, word, target in kinds:
                    functions[(rounding, *sat, kind, source)] = (target + register, b"%b%b_%b" % (begin, word, suffix))
                narrow = b"[](%b a) { const unsigned int t = %buint_%b(a); return t > 255u ? 255u : t; }"
                number = b"float" if source == b"f32" else b"double"
                functions[(rounding, *sat, b"u8", source)] = (b"r" + register, narrow % (number, begin, suffix))
    for bits, word in ((b"8", b"signed char"), (b"16", b"short")):
        for source in (b"u32", b"s32"):
            functions[b"s" + bits, source] = (b"rr", b"(int)(%b)" % word)
            functions[b"u" + bits, source] = (b"rr", b"(unsigned int)(unsigned %b)" % word.split()[-1])
    return functions


_SELECTED = {b"s32": (b"int", b"r"), b"u32": (b"unsigned int", b"r"), b"b32": (b"unsigned int", b"r")}
_SELECTED |= {b"f32": (b"float", b"f"), b"f64": (b"double", b"d")}
_COMPARISONS = {b"eq": b"==", b"ne": b"!=", b"lt": b"<", b"le": b"<=", b"gt": b">", b"ge": b">="}
_HIGHEST = b"[](unsigned int a) { return 31 - __clz((int)a); }"

# Rules by the instruction's name.
RULES: dict[bytes, Rule] = {
    **{operation: _video(operation) for operation in _OPERATIONS if b"." not in operation},
    b"vshl": _shift(b"vshl"),
    b"vshr": _shift(b"vshr"),
    b"vmad": _multiply,
}
# Tables as those of arithmetic.py, by the instruction's name.
FUNCTIONS: dict[bytes, Functions] = {
    b"cvt": _converted(),
    b"bfind": {(b"u32",): (b"rr", _HIGHEST)},
    b"slct": {
        (kind, b"s32"): (register * 3 + b"r", b"[](%b a, %b b, int c) { return c >= 0 ? a : b; }" % (word, word))
        for kind, (word, register) in _SELECTED.items()
    },
    b"set": {
        (name, target, kind): (b"rrr", b"[](%b a, %b b) { return a %b b ? ~0u : 0u; }" % (word, word, sign))
        for name, sign in _COMPARISONS.items()
        for target in (b"u32", b"s32")
        for kind, word in ((b"u32", b"unsigned int"), (b"s32", b"int"))
    },
    # An approximation, of which PTX says only how far it may be off; what C++ computes is nearer.
    b"rcp": {(b"approx", b"ftz", b"f64"): (b"dd", b"[](double a) { return 1.0 / a; }")},
}
