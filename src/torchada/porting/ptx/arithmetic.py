"""What PTX computes in registers, as functions of C++.

A table has, by the instruction's modifiers, the kinds of its registers, the target's first, and the function. That is a name of
CUDA's that MUSA has, or an expression without captures. Where PTX and C++ differ (shifts that are too far, numbers that are no
number), PTX's rule is written out.
"""

from __future__ import annotations

from torchada.porting.ptx.registers import CPP

Functions = dict[tuple[bytes, ...], tuple[bytes, bytes]]
_ROUNDINGS = {b"rn": b"rn", b"rz": b"rz", b"rm": b"rd", b"rp": b"ru"}
_UNTYPED_32, _UNTYPED_64 = (b"u32", b"s32"), (b"u64", b"s64")
_SIGNED = {b"s32": b"int", b"s64": b"long long"}


def lambda_of(kinds: bytes, body: bytes, signed: bytes = b"") -> bytes:
    """[](unsigned int a, unsigned int b) { return a + b; }: the kinds are those of the parameters, named a, b, c and d."""
    parameters = (b"%b %b" % (signed or CPP[kinds[at : at + 1]], b"abcd"[at : at + 1]) for at in range(len(kinds)))
    return b"[](%b) { return %b; }" % (b", ".join(parameters), body)


def _whole(body: bytes, count: int, types: tuple[bytes, ...] = (*_UNTYPED_32, *_UNTYPED_64)) -> Functions:
    """Arithmetic that wraps around, so signed numbers are computed as unsigned ones."""
    kinds = {name: (b"r" if name.endswith(b"32") else b"l") for name in types}
    return {(name,): (kind * (count + 1), lambda_of(kind * count, body)) for name, kind in kinds.items()}


def _bits(body: bytes, count: int) -> Functions:
    return _whole(body, count, (b"b32", b"b64"))


def _signed(body: bytes) -> Functions:
    return {
        **_whole(body, 2, (b"u32", b"u64")),
        **{
            (name,): ((b"r" if name == b"s32" else b"l") * 3, lambda_of(b"ll", body, type_))
            for name, type_ in _SIGNED.items()
        },
    }


def _lower(functions: Functions) -> Functions:
    """mul.lo.u32"""
    return {(b"lo", *modifiers): function for modifiers, function in functions.items()}


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
# In prmt, the fourth bit of a nibble repeats the sign of the chosen byte; __byte_perm ignores that bit (seen on an H100).
_PRMT = (
    b"[](unsigned int a, unsigned int b, unsigned int s) { const unsigned int r = __byte_perm(a, b, s & 0x7777u), t = s >> 3, "
    b"m = ((t & 1u) | (t & 0x10u) << 4 | (t & 0x100u) << 8 | (t & 0x1000u) << 12) * 255u; "
    b"return (r & ~m) | ((r >> 7 & 0x01010101u) * 255u & m); }"
)
# Bit (4a + 2b + c) of the last operand is the result for the bits a, b and c.
_LOP3 = b"[](unsigned int a, unsigned int b, unsigned int c, unsigned int t) { return %b; }" % b" | ".join(
    b"(t >> %d & 1u ? %ba & %bb & %bc : 0u)" % (at, b"~"[at >> 2 :], b"~"[at >> 1 & 1 :], b"~"[at & 1 :])
    for at in range(8)
)

HALF = b"__half_as_ushort(%b)", b"__ushort_as_half(%b)"
BFLOAT16 = b"__bfloat16_as_ushort(%b)", b"__ushort_as_bfloat16(%b)"
_WIDER = b"__uint_as_float((unsigned int)%b << 16)"  # a bfloat16 is the upper half of a float
_AS_FLOAT = b"__uint_as_float((unsigned int)(%b%b))"
_FLUSH = b"(__builtin_fabsf(%b) < 1.17549435e-38f ? __builtin_copysignf(0.0f, %b) : %b)"
PAIR = b"(unsigned int)%b | (unsigned int)%b << 16"


def small(of: tuple[bytes, bytes], function: bytes, count: int, first: tuple[bytes, ...], name: bytes) -> Functions:
    """An operation on halves or bfloat16s, and on two of them in one register."""
    bits, number = of
    one = bits % (b"%b(%b)" % (function, b", ".join(number % b"abc"[at : at + 1] for at in range(count))))
    single = lambda_of(b"h" * count, one)
    halves = (
        b"%b(%b)" % (single, b", ".join(b"abc"[at : at + 1] + shift for at in range(count)))
        for shift in (b"", b" >> 16")
    )
    two = lambda_of(b"r" * count, PAIR % tuple(halves))
    return {(*first, name): (b"h" * (count + 1), single), (*first, name + b"x2"): (b"r" * (count + 1), two)}


def _packed(of: tuple[bytes, bytes], function: bytes, name: bytes) -> Functions:
    """cvt.rn.f16.f32 d, a and cvt.rn.f16x2.f32 d, a, b: a goes to the upper half."""
    low, high = (of[0] % (b"%b(%b)" % (function, operand)) for operand in (b"a", b"b"))
    return {
        (b"rn", name, b"f32"): (b"hf", lambda_of(b"f", low)),
        (b"rn", name + b"x2", b"f32"): (b"rff", lambda_of(b"ff", PAIR % (high, low))),
    }


def _to_whole() -> Functions:
    """Conversions to whole numbers clamp; NaN becomes 0."""
    made: Functions = {}
    for ptx, rounding in ((b"rni", b"rn"), (b"rzi", b"rz"), (b"rmi", b"rd"), (b"rpi", b"ru")):
        for kind, name in ((b"s32", b"int"), (b"u32", b"uint")):
            function = b"rf", lambda_of(b"f", b"a != a ? 0 : __float2%b_%b(a)" % (name, rounding))
            made |= {(ptx, kind, b"f32"): function, (ptx, b"sat", kind, b"f32"): function}
        number = b"(a != a ? 0 : __float2int_%b(a))" % rounding
        for kind, clamped in _clamped(number).items():
            made[(ptx, b"sat", kind, b"f32")] = b"rf", lambda_of(b"f", clamped)
    return made


def _clamped(number: bytes) -> dict[bytes, bytes]:
    """A whole number clamped to the range of eight bits, in a register of 32."""
    bounds = {b"s8": (-128, 127), b"u8": (0, 255), b"s16": (-32768, 32767), b"u16": (0, 65535)}
    return {
        kind: b"(unsigned int)min(max(%b, %d), %d)" % (number, *both) for kind, both in bounds.items() if b"8" in kind
    }


def _approximate(name: bytes, body: bytes) -> dict[bytes, Functions]:
    """An approximation is computed by C++'s function; .ftz replaces denormal inputs and results by zero."""
    inner = lambda_of(b"f", body)
    return {name: {(b"approx", b"f32"): (b"ff", inner), (b"approx", b"ftz", b"f32"): (b"ff", _flushed(body, 1))}}


def _flushed(body: bytes, count: int) -> bytes:
    """A function of `count` floats that replaces denormal inputs and results by zero."""
    names = [b"abc"[at : at + 1] for at in range(count)]
    parameters = b", ".join(b"float %b" % name for name in names)
    steps = b" ".join(b"%b = %b;" % (name, _FLUSH % ((name,) * 3)) for name in names)
    return b"[](%b) { %b a = %b; return %b; }" % (parameters, steps, body, _FLUSH % ((b"a",) * 3))


def _of_floats(body: bytes) -> Functions:
    """add.f32, which may be joined with another instruction, and add.rn.ftz.f32; the function for .rn stands in the table."""
    flushed = b"fff", _flushed(body, 2)
    return {(b"f32",): (b"fff", lambda_of(b"ff", body)), (b"ftz", b"f32"): flushed, (b"rn", b"ftz", b"f32"): flushed}


def _of_halves(function: bytes) -> Functions:
    """Halves are rounded to the nearest also where .rn does not say so."""
    made = small(HALF, function, 2, (), b"f16")
    return {**made, **{(b"rn", *modifiers): entry for modifiers, entry in made.items()}}


def _of_two(single: bytes, flushed: bytes, count: int, first: tuple[bytes, ...]) -> Functions:
    """An operation on two floats in one register of 64 bits, the first of them in its lower half."""

    def both(function: bytes) -> bytes:
        low, high = (
            b"(unsigned long long)__float_as_uint(%b(%b))"
            % (function, b", ".join(_AS_FLOAT % (b"abc"[at : at + 1], shift) for at in range(count)))
            for shift in (b"", b" >> 32")
        )
        return lambda_of(b"l" * count, b"%b | %b << 32" % (low, high))

    kinds = b"l" * (count + 1)
    return {(*first, b"f32x2"): (kinds, both(single)), (*first, b"ftz", b"f32x2"): (kinds, both(flushed))}


def _pairs(single: bytes, body: bytes) -> Functions:
    """add.f32x2 and add.rn.f32x2"""
    flushed = _flushed(body, 2)
    return _of_two(single, flushed, 2, ()) | _of_two(single, flushed, 2, (b"rn",))


FUNCTIONS: dict[bytes, Functions] = {
    b"prmt": {(b"b32",): (b"rrrr", _PRMT)},
    b"bfe": {(b"u32",): (b"rrrr", _BFE_UNSIGNED), (b"s32",): (b"rrrr", _BFE_SIGNED)},
    b"bfi": {(b"b32",): (b"rrrrr", _BFI)},
    b"lop3": {(b"b32",): (b"rrrrr", _LOP3)},
    b"add": {
        **_whole(b"a + b", 2),
        **_of_halves(b"__hadd"),
        (b"rn", b"f32"): (b"fff", b"__fadd_rn"),
        **_of_floats(b"a + b"),
        **_pairs(b"__fadd_rn", b"a + b"),
    },
    b"sub": {
        **_whole(b"a - b", 2),
        **_of_halves(b"__hsub"),
        (b"rn", b"f32"): (b"fff", b"__fsub_rn"),
        **_of_floats(b"a - b"),
        **_pairs(b"__fsub_rn", b"a - b"),
    },
    b"mul": {
        **_lower(_whole(b"a * b", 2)),
        **_of_halves(b"__hmul"),
        (b"wide", b"u32"): (b"lrr", lambda_of(b"rr", b"(unsigned long long)a * b")),
        (b"wide", b"s32"): (b"lrr", lambda_of(b"rr", b"(long long)a * b", b"int")),
        (b"hi", b"u32"): (b"rrr", b"__umulhi"),
        (b"hi", b"s32"): (b"rrr", b"__mulhi"),
        (b"rn", b"f32"): (b"fff", b"__fmul_rn"),
        **_of_floats(b"a * b"),
        **_pairs(b"__fmul_rn", b"a * b"),
    },
    b"mad": _lower(_whole(b"a * b + c", 3)),
    b"min": {**_signed(b"a < b ? a : b"), (b"f32",): (b"fff", b"fminf")},
    b"max": {**_signed(b"a < b ? b : a"), (b"f32",): (b"fff", b"fmaxf")},
    b"and": {**_bits(b"a & b", 2), (b"pred",): (b"ppp", lambda_of(b"pp", b"a && b"))},
    b"or": {**_bits(b"a | b", 2), (b"pred",): (b"ppp", lambda_of(b"pp", b"a || b"))},
    b"xor": {**_bits(b"a ^ b", 2), (b"pred",): (b"ppp", lambda_of(b"pp", b"a != b"))},
    b"not": {**_bits(b"~a", 1), (b"pred",): (b"pp", lambda_of(b"p", b"!a"))},
    b"shl": {
        (b"b32",): (b"rrr", lambda_of(b"rr", b"b > 31 ? 0u : a << b")),
        (b"b64",): (b"llr", lambda_of(b"lr", b"b > 63 ? 0ull : a << b")),
    },
    b"shr": {
        **dict.fromkeys(((b"u32",), (b"b32",)), (b"rrr", lambda_of(b"rr", b"b > 31 ? 0u : a >> b"))),
        (b"s32",): (b"rrr", lambda_of(b"rr", b"a >> ((unsigned int)b > 31 ? 31 : b)", b"int")),
        **dict.fromkeys(((b"u64",), (b"b64",)), (b"llr", lambda_of(b"lr", b"b > 63 ? 0ull : a >> b"))),
    },
    b"popc": {(b"b32",): (b"rr", b"__popc"), (b"b64",): (b"rl", b"__popcll")},
    b"clz": {(b"b32",): (b"rr", b"__clz"), (b"b64",): (b"rl", b"__clzll")},
    b"brev": {(b"b32",): (b"rr", b"__brev"), (b"b64",): (b"ll", b"__brevll")},
    b"abs": {(b"f32",): (b"ff", b"fabsf")},
    b"neg": {(b"f32",): (b"ff", lambda_of(b"f", b"-a")), (b"s32",): (b"rr", lambda_of(b"r", b"0u - a"))},
    b"fma": {
        **{
            (ptx, kind): (register * 4, b"%b_%b" % (function, cuda))
            for kind, function, register in ((b"f32", b"__fmaf", b"f"), (b"f64", b"__fma", b"d"))
            for ptx, cuda in _ROUNDINGS.items()
        },
        **small(HALF, b"__hfma", 3, (b"rn",), b"f16"),
        **small(BFLOAT16, b"__hfma", 3, (b"rn",), b"bf16"),
        **_of_two(b"__fmaf_rn", _flushed(b"__fmaf_rn(a, b, c)", 3), 3, (b"rn",)),
        (b"rn", b"f32", b"bf16"): (
            b"fhhf",
            lambda_of(b"hhf", b"__fmaf_rn(%b, %b, c)" % (_WIDER % b"a", _WIDER % b"b")),
        ),
    },
    b"div": {
        (b"rn", b"f32"): (b"fff", b"__fdiv_rn"),
        (b"full", b"f32"): (b"fff", lambda_of(b"ff", b"a / b")),
    },
    b"cvt": {
        **_packed(HALF, b"__float2half_rn", b"f16"),
        **_packed(BFLOAT16, b"__float2bfloat16_rn", b"bf16"),
        (b"f32", b"f16"): (b"fh", lambda_of(b"h", b"__half2float(__ushort_as_half(a))")),
        (b"f32", b"bf16"): (b"fh", lambda_of(b"h", _WIDER % b"a")),
        **_to_whole(),
        **{(b"sat", kind, b"s32"): (b"rr", lambda_of(b"r", body, b"int")) for kind, body in _clamped(b"a").items()},
        (b"rn", b"f32", b"s32"): (b"fr", b"__int2float_rn"),
        (b"rn", b"f32", b"u32"): (b"fr", b"__uint2float_rn"),
        (b"u64", b"u32"): (b"lr", lambda_of(b"r", b"(unsigned long long)a")),
        (b"s64", b"s32"): (b"lr", lambda_of(b"r", b"(unsigned long long)(long long)a", b"int")),
        (b"u32", b"u64"): (b"rl", lambda_of(b"l", b"(unsigned int)a")),
    },
    **_approximate(b"ex2", b"exp2f(a)"),
    **_approximate(b"lg2", b"log2f(a)"),
    **_approximate(b"rcp", b"1.0f / a"),
    **_approximate(b"sqrt", b"sqrtf(a)"),
    **_approximate(b"rsqrt", b"rsqrtf(a)"),
    **_approximate(b"sin", b"sinf(a)"),
    **_approximate(b"cos", b"cosf(a)"),
    b"tanh": {(b"approx", b"f32"): (b"ff", b"tanhf")},
    b"activemask": {(b"b32",): (b"r", b"__activemask")},
}
