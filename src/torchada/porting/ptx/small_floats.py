"""Functions of halves, bfloat16s and floats of eight bits, mostly two in one register: extremes, comparisons, conversions."""

from __future__ import annotations

from torchada.porting.ptx.arithmetic import BFLOAT16, HALF, PAIR, Functions, lambda_of, small

HALF_AS_FLOAT = b"__half2float(__ushort_as_half((unsigned short)(%b)))"
# The bits of such a number in place, then moved to those of a half, whose exponent counts by 8 less; all ones is no number.
E4M3_AS_FLOAT = b"((%b & 127u) == 127u ? __uint_as_float(0x7fffffffu) : 256.0f * " + (
    HALF_AS_FLOAT % b"(%b & 128u) << 8 | (%b & 127u) << 7" + b")"
)
_AS_FLOAT = {b"e4m3": E4M3_AS_FLOAT % (b"a >> %d", b"a >> %d", b"a >> %d"), b"e5m2": HALF_AS_FLOAT % b"a >> %d << 8"}
_TO_F8 = b"__musa_cvt_float_to_fp8(%b, __MT_SATFINITE, __MT_%b)"
_NOT_NEGATIVE = b"(%b < 0.0f ? 0.0f : %b)"

_ORDERED = {
    b"eq": b"x == y",
    b"ne": b"x < y || x > y",
    b"lt": b"x < y",
    b"le": b"x <= y",
    b"gt": b"x > y",
    b"ge": b"x >= y",
}
# True where one is no number, too: what is not so the other way round.
_UNORDERED = {b"equ": b"ne", b"neu": b"eq", b"ltu": b"ge", b"leu": b"gt", b"gtu": b"le", b"geu": b"lt"}
_COMPARISONS = {**_ORDERED, **{name: b"!(%b)" % _ORDERED[other] for name, other in _UNORDERED.items()}}


def _compared(comparison: bytes) -> bytes:
    """Of two pairs of halves; what is true is 16 ones."""
    low, high = (b"c(%b, %b)" % (HALF_AS_FLOAT % (b"a" + at), HALF_AS_FLOAT % (b"b" + at)) for at in (b"", b" >> 16"))
    return (
        b"[](unsigned int a, unsigned int b) { const auto c = [](float x, float y) { return %b; }; "
        b"return (%b ? 0xffffu : 0u) | (%b ? 0xffff0000u : 0u); }" % (comparison, low, high)
    )


def _without_negatives(of: tuple[bytes, bytes], function: bytes, name: bytes) -> Functions:
    """cvt.rn.relu.f16x2.f32 d, a, b: a goes to the upper half."""
    high, low = (of[0] % (b"%b(%b)" % (function, _NOT_NEGATIVE % (word, word))) for word in (b"a", b"b"))
    return {(b"rn", b"relu", name + b"x2", b"f32"): (b"rff", lambda_of(b"ff", PAIR % (low, high)))}


def _of_eight_bits(name: bytes) -> Functions:
    """To two halves, and from two floats, the first of which goes to the upper part, or two halves."""
    halves = (b"__half_as_ushort(__float2half_rn(%b))" % _AS_FLOAT[name].replace(b"%d", at) for at in (b"0", b"8"))
    to_bits = [_TO_F8 % (word, name.upper()) for word in (b"b", b"a")]
    of_halves = [_TO_F8 % (HALF_AS_FLOAT % word, name.upper()) for word in (b"a", b"a >> 16")]
    packed = b"(unsigned short)((unsigned int)%b | (unsigned int)%b << 8)"
    return {
        (b"rn", b"f16x2", name + b"x2"): (b"rh", lambda_of(b"h", PAIR % tuple(halves))),
        (b"rn", b"satfinite", name + b"x2", b"f32"): (b"hff", lambda_of(b"ff", packed % tuple(to_bits))),
        (b"rn", b"satfinite", name + b"x2", b"f16x2"): (b"hr", lambda_of(b"r", packed % tuple(of_halves))),
    }


def _approximate(function: bytes) -> Functions:
    return {**small(HALF, function, 1, (b"approx",), b"f16"), **small(BFLOAT16, function, 1, (b"approx",), b"bf16")}


def _extreme(function: bytes) -> Functions:
    return {**small(HALF, function, 2, (), b"f16"), **small(BFLOAT16, function, 2, (), b"bf16")}


FUNCTIONS: dict[bytes, Functions] = {
    b"max": _extreme(b"__hmax"),
    b"min": _extreme(b"__hmin"),
    b"set": {(name, b"u32", b"f16x2"): (b"rrr", _compared(body)) for name, body in _COMPARISONS.items()},
    b"ex2": _approximate(b"hexp2"),
    b"cvt": {
        **_without_negatives(HALF, b"__float2half_rn", b"f16"),
        **_without_negatives(BFLOAT16, b"__float2bfloat16_rn", b"bf16"),
        **_of_eight_bits(b"e4m3"),
        **_of_eight_bits(b"e5m2"),
    },
    b"dp4a": {
        (b"s32", b"s32"): (b"rrrr", b"[](int a, int b, int c) { return __dp4a(a, b, c); }"),
        (b"u32", b"u32"): (b"rrrr", b"__dp4a"),
    },
}
