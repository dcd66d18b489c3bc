"""Addresses of shared memory, and copies to it in the background, which are made at once: nobody can tell but by the time."""

from __future__ import annotations

from torchada.porting.ptx.memory import SHARED_SPACES, address_of
from torchada.porting.ptx.registers import CPP, Rule, Values

_NOTHING = b"(void)0"
_SIZES = {b"ca": (b"4", b"8", b"16"), b"cg": (b"16",)}
_PREFETCHED = (b"l2::64b", b"l2::128b", b"l2::256b")
_HINT = b"l2::cache_hint"
# n bytes are written, of which k are read and the others are zero.
_COPY = (
    b"[](void* d, const void* s, unsigned int n, unsigned int k) { if (k < n) { for (unsigned int i = 0; i < n; ++i) "
    b"((unsigned char*)d)[i] = i < k ? ((const unsigned char*)s)[i] : 0; } "
    b"else if (n == 16) *(uint4*)d = *(const uint4*)s; else if (n == 8) *(uint2*)d = *(const uint2*)s; "
    b"else *(unsigned int*)d = *(const unsigned int*)s; }(%b, (const void*)(%b), %b, %b)"
)
_TO_SPACE = {
    **dict.fromkeys(SHARED_SPACES, b"__cvta_generic_to_shared"),
    b"global": b"__cvta_generic_to_global",
}
_TO_GENERIC = {
    **dict.fromkeys(SHARED_SPACES, b"__cvta_shared_to_generic"),
    b"global": b"__cvta_global_to_generic",
}
_ADDRESSES = {b"u64": b"l", b"u32": b"r"}


def _copy(modifiers: list[bytes], operands: list[bytes], values: Values) -> bytes | None:
    """cp.async.cg.shared.global [to], [from], 16, and how many bytes are read, and a policy of the cache."""
    if modifiers[:1] != [b"async"]:
        return None
    if modifiers[1:] in ([b"commit_group"], [b"wait_all"]) and not operands:
        return _NOTHING
    if modifiers[1:] == [b"wait_group"] and len(operands) == 1:
        return None if values.input(operands[0], b"r") is None else _NOTHING
    cached, spaces, hints = modifiers[1:2], modifiers[2:4], modifiers[4:]
    if not cached or cached[0] not in _SIZES or spaces[:1] == [] or spaces[0] not in SHARED_SPACES:
        return None
    if spaces[1:] != [b"global"] or any(hint not in (*_PREFETCHED, _HINT) for hint in hints):
        return None
    return _copied(operands[:-1] if _HINT in hints else operands, _SIZES[cached[0]], values)


def _copied(operands: list[bytes], sizes: tuple[bytes, ...], values: Values) -> bytes | None:
    if len(operands) not in (3, 4):
        return None
    target, source = address_of(operands[0], values, True), address_of(operands[1], values, False)
    size, read = values.input(operands[2], b"r"), values.input(operands[-1], b"r")
    if target is None or source is None or size is None or read is None or (size.isdigit() and size not in sizes):
        return None
    return _COPY % (target, source, size, read)


def _convert(modifiers: list[bytes], operands: list[bytes], values: Values) -> bytes | None:
    """cvta.to.shared.u64 d, a and cvta.shared.u64 d, a"""
    kind = _ADDRESSES.get(modifiers[-1]) if modifiers else None
    if kind is None or len(operands) != 2:
        return None
    target, given = values.output(operands[0], kind), values.input(operands[1], kind)
    is_to_space = modifiers[0] == b"to"
    function = (_TO_SPACE if is_to_space else _TO_GENERIC).get(b".".join(modifiers[is_to_space:-1]))
    if target is None or given is None or function is None:
        return None
    argument = b"(const void*)(%b)" % given if is_to_space else given
    return b"%b = (%b)%b(%b)" % (target, CPP[kind], function, argument)


def _policy(modifiers: list[bytes], operands: list[bytes], values: Values) -> bytes | None:
    """What says how long the cache keeps something says nothing about values."""
    target = values.output(operands[0], b"l") if operands and modifiers[-1:] == [b"b64"] else None
    return None if target is None or modifiers[0] != b"fractional" else b"%b = 0" % target


RULES: dict[bytes, Rule] = {b"cp": _copy, b"cvta": _convert, b"createpolicy": _policy}
