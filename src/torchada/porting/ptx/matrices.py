"""Matrices that the lanes of a warp hold together: loads from shared memory, transpositions and products, by shuffles.

MUSA's own matrix instructions have other fragments, so a product is computed with the multiplications of each lane. In PTX's
fragments, lane 4 g + t has of the left matrix the rows g and g + 8, of the right one the column g, and of the sum the columns 2 t
and 2 t + 1; a register has consecutive elements of a row or column, and the lanes of a group of four follow each other.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from torchada.porting.ptx.lanes import LANE
from torchada.porting.ptx.memory import SHARED, SHARED_SPACES, shared_number_of
from torchada.porting.ptx.registers import CPP, Rule, Values
from torchada.porting.ptx.small_floats import E4M3_AS_FLOAT, HALF_AS_FLOAT

_MATRICES = {b"x1": 1, b"x2": 2, b"x4": 4}
_SHAPE = re.compile(rb"m(8|16)n8k(4|8|16|32|64)")
# By the type of an element: its bits, and the element p of the register x as a number.
_ELEMENTS = {
    b"f16": (16, HALF_AS_FLOAT % b"x >> 16 * p"),
    b"bf16": (16, b"__uint_as_float(x >> 16 * p << 16)"),
    b"tf32": (32, b"__uint_as_float(x & 0xffffe000u)"),
    b"f64": (64, b"x"),
    b"s8": (8, b"(int)(signed char)(x >> 8 * p)"),
    b"u8": (8, b"(int)(unsigned char)(x >> 8 * p)"),
    b"s4": (4, b"(int)(x << (28 - 4 * p)) >> 28"),
    b"u4": (4, b"(int)(x >> 4 * p & 15u)"),
    b"e5m2": (8, HALF_AS_FLOAT % b"x >> 8 * p << 8"),
    b"e4m3": (8, E4M3_AS_FLOAT % ((b"x >> 8 * p",) * 3)),
}
_FLOATS, _WHOLE = (b"f16", b"bf16", b"tf32", b"e5m2", b"e4m3"), (b"s8", b"u8", b"s4", b"u4")
_PRODUCTS = {b"f32": _FLOATS, b"f16": (b"f16", b"e5m2", b"e4m3"), b"s32": _WHOLE, b"f64": (b"f64",)}
_FACTORS = (b"a", b"b", b"c")
_SUMS = {b"f32": b"float", b"f16": b"float", b"s32": b"long long", b"f64": b"double"}


class _Product(NamedTuple):
    """The product of a statement: how many rows of eight and groups of columns it has, and the types of its sum and factors."""

    rows: int
    groups: int
    sum: bytes
    left: bytes
    right: bytes
    is_clamped: bool


def _load(modifiers: list[bytes], operands: list[bytes], values: Values) -> bytes | None:
    """ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {...}, [a]: lane 8 i + r has the address of the row r of the matrix i."""
    words = [word for word in modifiers if word not in (b"sync", b"aligned", b"m8n8", b"b16", b"trans")]
    count = _MATRICES.get(words[0], 0) if words else 0
    if len(operands) != 2 or len(words) != 2 or words[1] not in SHARED_SPACES or modifiers[-1] != b"b16":
        return None
    targets = [values.output(name.strip(), b"r") for name in operands[0].strip(b"{}").split(b",")]
    number = shared_number_of(operands[1], values)
    if number is None or len(targets) != count or None in targets:
        return None
    body = _ROWS + (_TRANSPOSED if b"trans" in modifiers else _PLAIN)
    stored = b" ".join(b"%b = torchada_m[%d];" % (target or b"", at) for at, target in enumerate(targets))
    return b"[&](unsigned int torchada_a) { unsigned int torchada_m[%d]; { const int n = %d; %b } %b }(%b)" % (
        count, count, body, stored, number,
    )  # fmt: skip


_ROWS = (
    b"const unsigned int l = %b; const auto row = [&](unsigned int r) { return (const unsigned short*)%b; }; "
    b"for (int i = 0; i < n; ++i) " % (LANE, SHARED % b"__shfl_sync(0xffffffffu, torchada_a, r, 32)")
)
_PLAIN = b"torchada_m[i] = *(const unsigned int*)(row(8 * i + l / 4) + l % 4 * 2);"
_TRANSPOSED = (
    b"{ const unsigned int first = row(8 * i + l % 4 * 2)[l / 4], second = row(8 * i + l % 4 * 2 + 1)[l / 4]; "
    b"torchada_m[i] = first | second << 16; }"
)


def _transpose(modifiers: list[bytes], operands: list[bytes], values: Values) -> bytes | None:
    """movmatrix.sync.aligned.m8n8.trans.b16 d, a"""
    if modifiers != [b"sync", b"aligned", b"m8n8", b"trans", b"b16"] or len(operands) != 2:
        return None
    target, given = values.output(operands[0], b"r"), values.input(operands[1], b"r")
    if target is None or given is None:
        return None
    halves = (
        b"(__shfl_sync(0xffffffffu, x, (l %% 4 * 2 + %d) * 4 + l / 8, 32) >> l / 4 %% 2 * 16 & 0xffffu)" % at
        for at in (0, 1)
    )
    body = b"const unsigned int l = %b; return %b | %b << 16;" % (LANE, *halves)
    return b"%b = [&](unsigned int x) { %b }(%b)" % (target, body, given)


def _multiply(modifiers: list[bytes], operands: list[bytes], values: Values) -> bytes | None:
    """mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 d, a, b, c"""
    product = _product(modifiers)
    if product is None or len(operands) != 4:
        return None
    element = b"d" if product.sum == b"f64" else b"r"
    held = {b"f32": b"f", b"f64": b"d"}.get(product.sum, b"r")
    of_sum = product.rows * (1 if product.sum == b"f16" else 2)
    counts = (of_sum, product.rows * product.groups, product.groups, of_sum)
    names = [[name.strip() for name in operand.strip(b"{}").split(b",")] for operand in operands]
    targets = [values.output(name, held) for name in names[0]]
    given = [
        [values.input(name, kind) for name in several] for several, kind in zip(names[1:], (element, element, held))
    ]
    if any(len(several) != count or None in several for several, count in zip([targets, *given], counts)):
        return None
    kinds = (CPP[element], CPP[element], CPP[held])
    parameters = b", ".join(
        b"const %b (&torchada_%b)[%d]" % (kind, name, count) for kind, name, count in zip(kinds, _FACTORS, counts[1:])
    )
    arguments = b", ".join(
        b"{%b}" % b", ".join(b"(%b)(%b)" % (kind, value or b"") for value in several)
        for kind, several in zip(kinds, given)
    )
    stored = b" ".join(b"%b = %b;" % (target or b"", value) for target, value in zip(targets, _results(product)))
    declared = b"%b torchada_s[%d];" % (_SUMS[product.sum], 2 * product.rows)
    return b"[&](%b) { %b { %b } %b }(%b)" % (parameters, declared, _sums(product), stored, arguments)


def _product(modifiers: list[bytes]) -> _Product | None:
    """What is multiplied; None where the shape or a type is none of those that have these fragments."""
    words = [word for word in modifiers if word != b"satfinite"]
    shape = _SHAPE.fullmatch(words[2]) if len(words) == 9 and words[:2] == [b"sync", b"aligned"] else None
    if shape is None or words[3:5] != [b"row", b"col"] or words[5] != words[8]:
        return None
    total, left, right = words[5:8]
    allowed = _PRODUCTS.get(total, ())
    if left not in allowed or right not in allowed or _ELEMENTS[left][0] != _ELEMENTS[right][0]:
        return None
    bits = _ELEMENTS[left][0]
    groups, rest = divmod(int(shape[2]), 4 * max(1, 32 // bits))
    is_shape = shape[1] == (b"8" if bits == 64 else b"16") or (shape[1] == b"8" and left in _WHOLE and groups == 1)
    if rest or groups not in (1, 2) or not is_shape or (left != right and left not in (*_WHOLE, b"e4m3", b"e5m2")):
        return None
    return _Product(int(shape[1]) // 8, groups, total, left, right, b"satfinite" in modifiers)


def _sums(product: _Product) -> bytes:
    """Code that leaves the sums of a lane in torchada_s: those of its two columns, for each of its rows."""
    rows, bits = product.rows, _ELEMENTS[product.left][0]
    kind = CPP[b"d"] if bits == 64 else CPP[b"r"]
    element = b"const auto %b = [](%b x, int p) { (void)p; return %b; };"
    return b" ".join(
        (
            b"const unsigned int l = %b;" % LANE,
            b"for (int i = 0; i < %d; ++i) torchada_s[i] = %b;" % (2 * rows, _BEGIN.get(product.sum, b"torchada_c[i]")),
            element % (b"left", kind, _ELEMENTS[product.left][1]),
            element % (b"right", kind, _ELEMENTS[product.right][1]),
            b"for (int w = 0; w < %d; ++w) for (unsigned int j = 0; j < 4; ++j) {" % product.groups,
            b"%b x[%d], y[2];" % (kind, rows),
            b"for (int r = 0; r < %d; ++r)" % rows,
            b"x[r] = __shfl_sync(0xffffffffu, torchada_a[w * %d + r], l / 4 * 4 + j, 32);" % rows,
            b"for (unsigned int e = 0; e < 2; ++e)",
            b"y[e] = __shfl_sync(0xffffffffu, torchada_b[w], (l % 4 * 2 + e) * 4 + j, 32);",
            b"for (int i = 0; i < %d; ++i) for (int p = 0; p < %d; ++p)" % (2 * rows, max(1, 32 // bits)),
            b"torchada_s[i] += left(x[i / 2], p) * right(y[i % 2], p); }",
        )
    )


_BEGIN = {b"f16": HALF_AS_FLOAT % b"torchada_c[i / 2] >> i % 2 * 16", b"s32": b"(int)torchada_c[i]"}


def _results(product: _Product) -> list[bytes]:
    """What becomes of the sums: two of them in a register where they are halves."""
    sums = [b"torchada_s[%d]" % at for at in range(2 * product.rows)]
    if product.sum == b"f16":
        halves = [b"(unsigned int)__half_as_ushort(__float2half_rn(%b))" % each for each in sums]
        return [b"%b | %b << 16" % pair for pair in zip(halves[::2], halves[1::2])]
    if product.sum != b"s32":
        return sums
    return [_CLAMPED % (each, each, each) if product.is_clamped else b"(unsigned int)%b" % each for each in sums]


_CLAMPED = b"(unsigned int)(int)(%b < -2147483648ll ? -2147483648ll : %b > 2147483647ll ? 2147483647ll : %b)"

RULES: dict[bytes, Rule] = {b"ldmatrix": _load, b"movmatrix": _transpose, b"mma": _multiply}
