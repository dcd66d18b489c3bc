"""Finds assembly of another device: PTX.

A device's compiler refuses it where it has to emit it, as clang does: templates and inline functions that nobody calls may have it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from musasim.toolkit.compiler.lexer import Source, Token, bracketed, is_word_begin

_ASSEMBLY = re.compile(r"asm(?:__)?(?![\w$])")
_QUALIFIERS = ("volatile", "__volatile__")
_PTX = re.compile(
    r"%(?:laneid|warpid|smid|nsmid|clock|clock64|globaltimer|lanemask_\w+|dynamic_smem_size)\b"
    r"|\b(?:mov|ld|st|cvt|cvta|add|sub|mul|mad|fma|neg|abs|min|max|and|or|xor|not|shl|shr|shf|bar|barrier|shfl|vote|match|redux"
    r"|red|atom|cp|mma|wmma|wgmma|ldmatrix|stmatrix|prmt|lop3|bfe|bfi|setp|selp|membar|fence|mbarrier|ex2|lg2|rcp|rsqrt|sqrt"
    r"|sin|cos|tanh|tcgen05|griddepcontrol|createpolicy|prefetch|discard|nanosleep|elect|dp4a|vadd|vset|popc|clz|bfind|brev"
    r"|isspacep|mapa|trap|brkpt|exit)\.[a-z][\w.:]*"
)


@dataclass(frozen=True)
class Foreign:
    """A statement, without the semicolon, and the instruction in it that is not of this device."""

    begin: int
    end: int
    instruction: str

    @property
    def problem(self) -> str:
        return f"inline assembly: '{self.instruction}' is not an instruction of this device (is it PTX?)"

    def emitted(self, name: str) -> str:
        """Return a statement that is an error where it is emitted; `name` is a function's that the program does not have."""
        return f'({{ extern __attribute__((error("{self.problem}"))) void {name}(); {name}(); }})'


def foreign(source: Source) -> Iterator[Foreign]:
    """Yield the statements of the program and of all headers."""
    for word in _ASSEMBLY.finditer(source.text):
        begin = word.start() - (2 if source.text.endswith("__", 0, word.start()) else 0)
        if is_word_begin(source.text, begin) and source.is_code(begin):
            tokens = _bracketed(source, word.end())
            instruction = _instruction(tokens)
            if instruction is not None:
                yield Foreign(begin, tokens[-1].end, instruction)


def _bracketed(source: Source, position: int) -> list[Token]:
    opening = next((token for token in source.tokens(position) if token.text not in _QUALIFIERS), None)
    return bracketed(source, opening.begin) if opening is not None and opening.text == "(" else []


def _instruction(tokens: list[Token]) -> str | None:
    for token in tokens:
        if token.kind != "literal":
            if token.text == ":":
                return None
            continue
        ptx = _PTX.search(token.text)
        if ptx is not None:
            return ptx.group()
    return None
