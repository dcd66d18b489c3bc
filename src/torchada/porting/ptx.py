"""PTX that says nothing but what C++ for MUSA says as well: one instruction in, one expression out.

Every other instruction is refused (None), also where a modifier is not known: .ftz, .sat, an address in shared memory.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from torchada.porting.ptx_integers import INTEGERS
from torchada.porting.ptx_operands import Operand, Rule, Values, function

_LANE = b"((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x) % warpSize"
_SPECIAL = {
    b"%laneid": _LANE,
    b"%lanemask_eq": b"1u << (%b)" % _LANE,
    b"%lanemask_lt": b"(1u << (%b)) - 1u" % _LANE,
    b"%lanemask_le": b"(2u << (%b)) - 1u" % _LANE,
    b"%lanemask_gt": b"~((2u << (%b)) - 1u)" % _LANE,
    b"%lanemask_ge": b"~((1u << (%b)) - 1u)" % _LANE,
}
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


def translated(instruction: bytes, outputs: Sequence[Operand], inputs: Sequence[Operand]) -> bytes | None:
    """An expression that does what the one `instruction` does; None where there is none."""
    head, _, rest = instruction.strip().rstrip(b";").rstrip().partition(b" ")
    name, *modifiers = head.lower().split(b".")
    rule = _RULES.get(name)
    if rule is None or b";" in rest:
        return None
    operands = [found.strip() for found in _OPERANDS.findall(rest) if found.strip()]
    return rule(modifiers, operands, Values(outputs, inputs))


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


def _load(modifiers: list[bytes], operands: list[bytes], values: Values) -> bytes | None:
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


def _store(modifiers: list[bytes], operands: list[bytes], values: Values) -> bytes | None:
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


def _special(modifiers: list[bytes], operands: list[bytes], values: Values) -> bytes | None:
    """The number of the lane, and the masks of the lanes on either side of it."""
    if modifiers not in ([b"u32"], [b"s32"], [b"b32"]) or len(operands) != 2:
        return None
    target, value = values.output(operands[0], b"r"), _SPECIAL.get(operands[1].replace(b"%%", b"%", 1))
    return None if target is None or value is None else b"%b = %b" % (target, value)


def _fence(modifiers: list[bytes], operands: list[bytes], _: Values) -> bytes | None:
    return _FENCES.get(modifiers[0]) if len(modifiers) == 1 and not operands else None


def _sleep(modifiers: list[bytes], operands: list[bytes], values: Values) -> bytes | None:
    time = values.input(operands[0], b"r") if modifiers == [b"u32"] and len(operands) == 1 else None
    return None if time is None else b"__nanosleep(%b)" % time


_RULES: dict[bytes, Rule] = {
    **INTEGERS,
    b"ld": _load,
    b"st": _store,
    b"mov": _special,
    b"prmt": function({(b"b32",): (b"__byte_perm", b"rrrr")}),
    b"bfe": function({(b"u32",): (_BFE_UNSIGNED, b"rrrr"), (b"s32",): (_BFE_SIGNED, b"rrrr")}),
    b"bfi": function({(b"b32",): (_BFI, b"rrrrr")}),
    b"fma": function(
        {
            (ptx, kind): (b"%b_%b" % (name, cuda), register * 4)
            for kind, name, register in ((b"f32", b"__fmaf", b"f"), (b"f64", b"__fma", b"d"))
            for ptx, cuda in _ROUNDINGS.items()
        }
    ),
    # An approximation, of which PTX says only how far it may be off; what C++ computes is nearer.
    b"rcp": function({(b"approx", b"ftz", b"f64"): (b"[](double a) { return 1.0 / a; }", b"dd")}),
    b"membar": _fence,
    b"nanosleep": _sleep,
}
