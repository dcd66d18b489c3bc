"""What the lanes of a warp do together."""

from __future__ import annotations

from torchada.porting.ptx.registers import Rule, Values

LANE = b"((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x) % warpSize"
_SHUFFLES = {
    b"bfly": (b"__shfl_xor_sync", 31),
    b"idx": (b"__shfl_sync", 31),
    b"down": (b"__shfl_down_sync", 31),
    b"up": (b"__shfl_up_sync", 0),
}
_ORDERED = {b"min": b"y < x ? y : x", b"max": b"x < y ? y : x"}
_WHOLE = {b"add": b"x + y", **_ORDERED}
_REDUCED = {
    **{(name, b"u32"): (b"r", b"unsigned int", function) for name, function in _WHOLE.items()},
    **{(name, b"s32"): (b"r", b"int", function) for name, function in _ORDERED.items()},
    (b"add", b"s32"): (b"r", b"unsigned int", _WHOLE[b"add"]),
    **{
        (name, b"b32"): (b"r", b"unsigned int", b"x %b y" % mark)
        for name, mark in ((b"and", b"&"), (b"or", b"|"), (b"xor", b"^"))
    },
    **{(name, b"f32"): (b"f", b"float", b"f%b(x, y)" % name) for name in _ORDERED},
}
_ALL_LANES = (b"0xffffffff", b"-1")
_AMONG_ALL = (
    b"[](%b x) { for (int d = 16; d > 0; d /= 2) { const %b y = __shfl_xor_sync(0xffffffffu, x, d, 32); x = %b; } "
    b"return x; }"
)
_AMONG_SOME = (
    b"[](%b v, unsigned int m) { auto x = __shfl_sync(m, v, __ffs(m) - 1, 32); for (unsigned int n = m & (m - 1); n; n &= n - 1) "
    b"{ const %b y = __shfl_sync(m, v, __ffs(n) - 1, 32); x = %b; } return x; }"
)


def _shuffle(modifiers: list[bytes], operands: list[bytes], values: Values) -> bytes | None:
    """Among 32 lanes, which is what the fourth operand says: shfl.sync.bfly.b32 d, a, b, 0x1f, mask"""
    if len(modifiers) != 3 or modifiers[0] != b"sync" or modifiers[2] != b"b32" or len(operands) != 5:
        return None
    function, clamp = _SHUFFLES.get(modifiers[1], (b"", -1))
    lane, mask = values.input(operands[2], b"r"), values.input(operands[4], b"r")
    if operands[3] not in (b"%d" % clamp, b"0x%x" % clamp) or lane is None or mask is None:
        return None
    target, given = values.output_of(operands[0], b"b32"), values.input_of(operands[1], b"b32")
    if target is None or given is None:
        return None
    return b"%b = %b(%b, %b, %b, 32)" % (target, function, mask, given, lane)


def _reduce(modifiers: list[bytes], operands: list[bytes], values: Values) -> bytes | None:
    """redux.sync.add.u32 d, a, mask, by shuffles. min and max of f32 ignore NaN, as fminf and fmaxf do."""
    if len(modifiers) != 3 or modifiers[0] != b"sync" or len(operands) != 3:
        return None
    kind, type_, function = _REDUCED.get((modifiers[1], modifiers[2]), (b"", b"", b""))
    target, given = values.output(operands[0], kind), values.input(operands[1], kind)
    mask = values.input(operands[2], b"r")
    if not kind or target is None or given is None or mask is None:
        return None
    if operands[2].lower() in _ALL_LANES:
        return b"%b = %b(%b)" % (target, _AMONG_ALL % (type_, type_, function), given)
    return b"%b = %b(%b, %b)" % (target, _AMONG_SOME % (type_, type_, function), given, mask)


def _elect(modifiers: list[bytes], operands: list[bytes], values: Values) -> bytes | None:
    """elect.sync d|p, mask: the lowest lane of the mask is the leader, of which PTX says only that it is always the same one."""
    if modifiers != [b"sync"] or len(operands) != 2 or operands[0].count(b"|") != 1:
        return None
    leader, is_leader = (part.strip() for part in operands[0].split(b"|"))
    target, predicate = values.output(leader, b"r"), values.output(is_leader, b"p")
    mask = values.input(operands[1], b"r")
    if predicate is None or mask is None or (target is None and leader != b"_"):
        return None
    lowest = b"__ffs((int)(%b)) - 1" % mask
    chosen = b"%b = (int)(%b) == %b" % (predicate, LANE, lowest)
    return b"__syncwarp(%b), %b" % (mask, chosen if target is None else b"%b = %b, %b" % (target, lowest, chosen))


RULES: dict[bytes, Rule] = {b"shfl": _shuffle, b"redux": _reduce, b"elect": _elect}
