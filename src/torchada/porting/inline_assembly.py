"""Inline assembler in PTX, which only NVIDIA's devices run: a few instructions become C++, and all others are reported."""

from __future__ import annotations

import re
from typing import NamedTuple

from torchada.porting.lexer import end_of_line
from torchada.porting.ptx import Operand, reasons, translated
from torchada.porting.source import Source

_OPENED = re.compile(rb"\s*(?:(?:volatile|__volatile__|goto|inline|\\\r?\n)\s*){0,64}\(")
_BLANK = re.compile(rb"\s+|\\\r?\n|//[^\n]*|/\*.*?\*/")
_LONGEST = 4000  # bytes of a statement that is looked at
_BRACKETS = re.compile(rb'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|::|asm|[()\[\]{}:,;]', re.S)
_OPERAND = re.compile(rb'"([=+&a-z]{1,4})"\s*\((.*)\)', re.S)
_COMMENTED = re.compile(rb'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/', re.S)
_LINE_END = re.compile(rb"\\\r?\n|\r?\n")
_NAME = re.compile(rb"[A-Za-z_#]")
# Lines that the preprocessor chooses within a statement, often instructions with a hint for caches and without: the directive, the
# first branch and the rest, of which the second branch is a part.
_BRANCHES = re.compile(
    rb"(\n[ \t]*#[ \t]*if(?:[^\n\\]|\\\r?\n|\\[^\n])*)(\n(?:[ \t]*[^ \t#\n][^\n]*\n)*)"
    rb"(([ \t]*#[ \t]*else[^\n]*)(\n(?:[ \t]*[^ \t#\n][^\n]*\n)*)([ \t]*#[ \t]*endif[^\n]*)|[ \t]*#[ \t]*endif[^\n]*)"
)
# The words that PTX's instructions begin with. Other processors' assemblers have dots as well: v0.16b, vadd.vv, fence.i, st.d.
_PTX = frozenset(
    b"""abs activemask add addc and applypriority atom bar barrier bfe bfi bfind bmsk bra brev brkpt brx call
    clusterlaunchcontrol clz cnot copysign cos cp createpolicy cvt cvta discard div dp2a dp4a elect ex2 exit fence fma fns
    getctarank griddepcontrol isspacep istypep ld ldmatrix ldu lg2 lop3 mad mad24 madc mapa match max mbarrier membar min mma mov
    movmatrix mul mul24 multimem nanosleep neg not or pmevent popc prefetch prefetchu prmt rcp red redux rem ret rsqrt sad selp
    set setmaxnreg setp shf shfl shl shr sin slct sqrt st stmatrix sub subc suld suq sured sust szext tanh tcgen05 tensormap
    testp tex tld4 trap txq vabsdiff vadd vavrg2 vabsdiff2 vabsdiff4 vadd2 vadd4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 vote vset
    vset2 vset4 vshl vshr vsub vsub2 vsub4 wgmma wmma xor""".split()
)
_TYPED = re.compile(rb"\.(?:[bsuf](?:8|16|32|64|128)\w*|bf16\w*|tf32|pred|e[45]m[23]\w*|[su]4|b1)\b")
# Without a type: bar.sync, cp.async, fence.proxy.
_UNTYPED = re.compile(
    rb"(?:(?:bar|barrier|cp|createpolicy|discard|griddepcontrol|mbarrier|membar|mapa|multimem|prefetch|prefetchu|tcgen05|wgmma"
    rb"|applypriority|setmaxnreg|clusterlaunchcontrol|tensormap|getctarank|isspacep|shfl|vote|redux|mma|wmma|ldmatrix|stmatrix"
    rb"|elect|cvta|match|bra|call|ret|brx)\.[a-z]"
    rb"|fence\.(?:acq_rel|sc|acquire|release|proxy|mbarrier_init)|(?:ld|st|atom|red)\.(?:global|shared|const|local|param|volatile))"
)
_ALONE = re.compile(rb"\s*(?:trap|exit|brkpt)\s*;?\s*")
_INSTRUCTION = re.compile(rb"(?:^|[\s;{}])(?:@!?%?\w+\s+)?\.?([a-z][a-z0-9_]*(?:\.[a-z0-9_:]+)+)")
_WORD = re.compile(rb"[a-z][\w.]*")


class Statement(NamedTuple):
    """An asm statement of PTX, by its first instruction.

    `expression` is C++ for MUSA that does the same, if there is one; `end` is then the place after the closing bracket. `reason`
    says why there is none, or what somebody should look at.
    """

    instruction: str
    reason: str | None
    expression: bytes | None = None
    end: int = 0


def statement(source: Source, end: int) -> Statement | None:
    """The statement after the keyword `asm` ending at `end`; None where it is empty or another processor's."""
    read = _read(source.text, end, source.is_for_gpus)
    if read is None or read.expression is not None:
        return read
    piece = source.text[end : end + _LONGEST]
    if _BRANCHES.search(piece) is None:
        return read
    first, second = (_read(_BRANCHES.sub(branch, piece), 0, True) for branch in (_first_branch, _second_branch))
    if first is None or second is None or first.expression is None:
        return read
    is_same = (first.expression, first.end) == (second.expression, second.end)
    return first._replace(end=end + first.end) if is_same else read


def _first_branch(branches: re.Match[bytes]) -> bytes:
    return _blank(branches[1]) + branches[2] + _blank(branches[3])


def _second_branch(branches: re.Match[bytes]) -> bytes:
    if branches[5] is None:
        return _blank(branches[0])
    return _blank(branches[1] + branches[2] + branches[4]) + branches[5] + _blank(branches[6])


def _blank(text: bytes) -> bytes:
    """As many bytes and lines."""
    return re.sub(rb"[^\n]", b" ", text)


def _read(text: bytes, end: int, is_for_gpus: bool) -> Statement | None:
    opened = _OPENED.match(text, end)
    if opened is None:
        return None
    template, behind = _template(text, opened.end())
    instruction = _first_instruction(template)
    if instruction is not None:
        return _translated(text, end, template, behind, instruction)
    # The text of the instructions comes from macros.
    return Statement("asm", reasons.REASON) if _NAME.match(text, behind) and is_for_gpus else None


def _first_instruction(template: bytes) -> str | None:
    instruction = next(filter(_is_ptx, _INSTRUCTION.finditer(template)), None)
    if instruction is not None:
        return instruction[1].decode("ascii", "replace")
    return template.strip(b"; \t").decode() if _ALONE.fullmatch(template) else None


def _is_ptx(instruction: re.Match[bytes]) -> bool:
    name = instruction[1]
    if name.partition(b".")[0] not in _PTX:
        return False
    return _TYPED.search(name) is not None or _UNTYPED.match(name) is not None


def _translated(text: bytes, start: int, template: bytes, at: int, instruction: str) -> Statement:
    """The statement that begins at `start` with the operands that begin at `at`."""
    split = _sections(text, at) if len(template) <= _LONGEST else None
    sections, end = split or ([], 0)
    expression = None if split is None else _expression(template, sections)
    if expression is None:
        return Statement(instruction, reasons.of_refused(template))
    lines = _LINE_END.findall(text, start, end)
    return Statement(instruction, reasons.of_translated(template), b"".join([expression, *lines]), end)


def _expression(template: bytes, sections: list[list[bytes]]) -> bytes | None:
    outputs = [_output(part) for part in sections[0]] if sections else []
    inputs = [_operand(part) for part in sections[1]] if len(sections) > 1 else []
    if None in outputs or None in inputs:
        return None
    return translated(b" ".join(template.split()), tuple(filter(None, outputs)), tuple(filter(None, inputs)))


def _sections(text: bytes, at: int) -> tuple[list[list[bytes]], int] | None:
    """The sections that the colons from `at` on begin, each split at its commas, and the place after the closing bracket."""
    sections: list[list[bytes]] = []
    depth, begun = 0, at
    for token in _BRACKETS.finditer(text, at, at + _LONGEST):
        mark = token[0]
        if mark in (b"asm", b";"):  # of another statement, where this one is never closed
            return None
        if mark in (b"(", b"[", b"{"):
            depth += 1
        elif depth and mark in (b")", b"]", b"}"):
            depth -= 1
        elif depth == 0 and mark in (b":", b",", b")", b"::"):
            part = _COMMENTED.sub(rb"\1", text[begun : token.start()]).strip()
            if part and not sections:
                return None
            if part:
                sections[-1].append(part)
            sections += [[] for _ in range(mark.count(b":"))]
            begun = token.end()
            if mark == b")":
                return sections, token.end()
    return None


def _output(part: bytes) -> Operand | None:
    operand = _operand(part)
    if operand is None or operand.constraint[:1] not in (b"=", b"+"):
        return None
    return operand._replace(constraint=operand.constraint.replace(b"&", b"").lstrip(b"="))


def _operand(part: bytes) -> Operand | None:
    match = _OPERAND.fullmatch(part)
    return Operand(match[1], b"(" + match[2] + b")") if match else None


def _template(text: bytes, at: int) -> tuple[bytes, int]:
    """The string literals from `at` on, joined, and the place after them."""
    parts = []  # one by one: an expression for all of them would keep a record of each
    while True:
        if text[at : at + 1] == b'"':
            end = end_of_line(text, at + 1, b'"')
            if text[end : end + 1] != b'"':
                break
            parts.append(text[at + 1 : end])
            at = end + 1
        elif (blank := _BLANK.match(text, at)) is not None:
            at = blank.end()
        else:
            break
    return b"".join(parts).replace(rb"\n", b" ").replace(rb"\t", b" "), at
