"""Memory in PTX: loads and stores with their hints and orders, atomic functions, fences.

An address of shared memory is a number of 32 bits, which MUSA makes of a pointer and back as CUDA does. One without a space is the
pointer itself, as one of global memory is.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from torchada.porting.ptx.registers import CPP, Values, kind_of

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
_HINTS = re.compile(rb"(?:weak|ca|cg|cs|lu|cv|nc|wb|wt|l1::\w+|l2::\w+)")
_ADDRESS = re.compile(rb"\[\s*(%?\w+)\s*(?:\+\s*(-?\d+)\s*)?\]")
SHARED_SPACES = (b"shared", b"shared::cta")
SHARED = b"__cvta_shared_to_generic(%b)"
_COUNTS = {b"v2": 2, b"v4": 4, b"v8": 8}
_ORDERS = (b"relaxed", b"acquire", b"release", b"acq_rel")
_SCOPES = {b"cta": b"__threadfence_block()", b"gpu": b"__threadfence()", b"sys": b"__threadfence_system()"}
_FENCES = {b"gl": _SCOPES[b"gpu"], b"cta": _SCOPES[b"cta"], b"sys": _SCOPES[b"sys"]}
_ATOMICS = {
    b"add": (b"atomicAdd", (b"u32", b"s32", b"u64", b"f32", b"f64")),
    b"min": (b"atomicMin", (b"u32", b"s32", b"u64", b"s64")),
    b"max": (b"atomicMax", (b"u32", b"s32", b"u64", b"s64")),
    b"and": (b"atomicAnd", (b"b32", b"b64")),
    b"or": (b"atomicOr", (b"b32", b"b64")),
    b"xor": (b"atomicXor", (b"b32", b"b64")),
    b"exch": (b"atomicExch", (b"b32", b"b64")),
    b"cas": (b"atomicCAS", (b"b32", b"b64")),
}


class _Access(NamedTuple):
    """How memory is accessed: `order` and `scope` are empty where the instruction says nothing of other threads."""

    kind: bytes
    elements: int
    is_volatile: bool
    order: bytes
    scope: bytes
    is_shared: bool

    @property
    def fence(self) -> bytes:
        return _SCOPES[self.scope] + b";"


def load(modifiers: list[bytes], operands: list[bytes], values: Values) -> bytes | None:
    access = _access(modifiers)
    if access is None or len(operands) != 2 or access.order in (b"release", b"acq_rel"):
        return None
    targets = [values.output_of(operand, access.kind) for operand in _several(operands[0])]
    address = address_of(operands[1], values, access.is_shared)
    if address is None or len(targets) != access.elements or None in targets:
        return None
    pointer = b"const %b%b*" % (b"volatile " if access.is_volatile else b"", _TYPES[access.kind])
    body = [b"%b = torchada_p[%d];" % (target or b"", at) for at, target in enumerate(targets)]
    body += [access.fence] if access.order == b"acquire" else []
    return b"[&](%b torchada_p) { %b }((%b)(%b))" % (pointer, b" ".join(body), pointer, address)


def store(modifiers: list[bytes], operands: list[bytes], values: Values) -> bytes | None:
    access = _access(modifiers)
    if access is None or len(operands) != 2 or access.order in (b"acquire", b"acq_rel"):
        return None
    sources = [values.input_of(operand, access.kind) for operand in _several(operands[1])]
    address = address_of(operands[0], values, access.is_shared)
    if address is None or len(sources) != access.elements or None in sources:
        return None
    element = _TYPES[access.kind]
    pointer = b"%b%b*" % (b"volatile " if access.is_volatile else b"", element)
    body = [access.fence] if access.order == b"release" else []
    body += [b"torchada_p[%d] = (%b)(%b);" % (at, element, source or b"") for at, source in enumerate(sources)]
    return b"[&](%b torchada_p) { %b }((%b)(%b))" % (pointer, b" ".join(body), pointer, address)


def atomic(modifiers: list[bytes], operands: list[bytes], values: Values) -> bytes | None:
    """atom.global.add.u32 d, [a], b: what was there before goes to d."""
    if not operands:
        return None
    target = values.output(operands[0], kind_of(modifiers[-1] if modifiers else b"") or b"")
    changed = reduction(modifiers, operands[1:], values)
    if target is None or changed is None:
        return None
    return b"%b = %b" % (target, changed)


def reduction(modifiers: list[bytes], operands: list[bytes], values: Values) -> bytes | None:
    """red.global.add.u32 [a], b"""
    if len(modifiers) < 2 or not operands:
        return None
    function, types = _ATOMICS.get(modifiers[-2], (b"", ()))
    access = _access([*modifiers[:-2], modifiers[-1]], is_atomic=True)
    if access is None or access.kind not in types or access.is_volatile or access.elements != 1:
        return None
    given = [values.input(operand, kind_of(access.kind) or b"") for operand in operands[1:]]
    address = address_of(operands[0], values, access.is_shared)
    if address is None or None in given or len(given) != (2 if modifiers[-2] == b"cas" else 1):
        return None
    element = _TYPES[access.kind]
    words = b", ".join(b"(%b)(%b)" % (element, value or b"") for value in given)
    call = b"%b((%b*)(%b), %b)" % (function, element, address, words)
    before = access.fence + b" " if access.order in (b"release", b"acq_rel") else b""
    after = b" " + access.fence if access.order in (b"acquire", b"acq_rel") else b""
    if not before and not after:
        return call
    return b"[&]() { %bconst %b torchada_old = %b;%b return torchada_old; }()" % (before, element, call, after)


def membar(modifiers: list[bytes], operands: list[bytes], _: Values) -> bytes | None:
    return _FENCES.get(modifiers[0]) if len(modifiers) == 1 and not operands else None


def fence(modifiers: list[bytes], operands: list[bytes], _: Values) -> bytes | None:
    """fence.acq_rel.gpu; CUDA's own __threadfence() is the stronger fence.sc."""
    if operands or len(modifiers) not in (1, 2) or modifiers[0] not in (b"acq_rel", b"sc", *_SCOPES):
        return None
    return _SCOPES.get(modifiers[-1])


def _several(operand: bytes) -> list[bytes]:
    return [part.strip() for part in operand.strip(b"{}").split(b",")]


def address_of(operand: bytes, values: Values, is_shared: bool) -> bytes | None:
    """A pointer, or a number that can be cast to one, from an operand in brackets."""
    if not is_shared:
        return number_of(operand, values, b"l")
    number = shared_number_of(operand, values)
    return None if number is None else SHARED % number


def shared_number_of(operand: bytes, values: Values) -> bytes | None:
    """The number of an address in shared memory, which may be in a register of 64 bits."""
    short, long = number_of(operand, values, b"r"), number_of(operand, values, b"l")
    return short or (None if long is None else b"(unsigned int)(%b)" % long)


def number_of(operand: bytes, values: Values, kind: bytes) -> bytes | None:
    """An address in a register of 32 bits (r) or 64 (l)."""
    match = _ADDRESS.fullmatch(operand)
    number = values.input(match[1], kind) if match else None
    if match is None or number is None or match[2] is None:
        return number
    return b"(%b)%b + %b" % (CPP[kind], number, match[2])


def _access(modifiers: list[bytes], is_atomic: bool = False) -> _Access | None:
    """What the modifiers say; None where one is not known. The order needs its scope; atomic functions have one of their own."""
    count, is_volatile, order, scope, spaces, rest = 1, False, b"", b"", [], []
    for modifier in modifiers[:-1]:
        if modifier in _COUNTS:
            count = _COUNTS[modifier]
        elif modifier == b"volatile":
            is_volatile = True
        elif modifier in _ORDERS and not order:
            order = modifier
        elif modifier in _SCOPES and not scope:
            scope = modifier
        elif modifier in (*SHARED_SPACES, b"global"):
            spaces.append(modifier)
        elif not _HINTS.fullmatch(modifier):
            rest.append(modifier)
    known = modifiers and modifiers[-1] in _TYPES and len(spaces) < 2
    if not known or rest or (is_atomic and order and not scope) or (not is_atomic and bool(order) != bool(scope)):
        return None
    return _Access(
        modifiers[-1],
        count,
        is_volatile or bool(order and not is_atomic),
        order,
        scope,
        spaces[:1] not in ([], [b"global"]),
    )
