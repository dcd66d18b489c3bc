"""Finds conversions to integers in device code: `(unsigned)x`, `static_cast<int>(x)` and `int(x)`, with the end of each operand.

A device's conversion of a float that the integer cannot hold gives the nearest integer that it can. C++ leaves it undefined, and
a processor gives something else, so kernels call a function of ours instead (`include/musasim/conversions.h`), also where the type
is a parameter of a template, which may be an integer. Conversions that are not spelt out stay the compiler's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from musasim.toolkit.compiler.lexer import Source, Token, closing

_WORDS = frozenset({"unsigned", "signed", "int", "long", "short", "char"})
_WIDTHS = ("8", "16", "32", "64")
_NAMES = frozenset({f"{sign}int{width}_t" for sign in ("", "u") for width in _WIDTHS})
_NAMES |= {"size_t", "ptrdiff_t", "ushort", "uint", "ulong"}
_PARAMETER = re.compile(r"\b(?:class|typename)\s+([A-Za-z_]\w*)\s*(?=[,>=])")
# Brackets behind these may hold a type, and what begins with them is no operand that could be read without a parser of types.
_OF_TYPES = frozenset(
    {"sizeof", "alignof", "decltype", "noexcept", "typeid", "operator", "new", "delete", "throw", "co_await"}
)
_SCALARS = frozenset({"float", "double", "bool"}) | _WORDS | _NAMES
# A name before `(type)` makes it a list of parameters, unless the name is one of these.
_BEFORE = frozenset({"return", "else", "case", "do"})
_UNARY = frozenset("+-!~*&")


@dataclass(frozen=True)
class Conversion:
    """`begin` to `end` spells the type, with its brackets or static_cast. An operand without brackets ends at `close`."""

    begin: int
    end: int
    type: str
    close: int | None


def type_parameters(source: Source) -> frozenset[str]:
    """Return the names that templates of the user's files give their parameters that are types."""
    parts = [source.text[begin:end] for _, begin, end in source.parts()] or [source.text]
    return frozenset(name for part in parts for name in _PARAMETER.findall(part))


def conversions(source: Source, begin: int, end: int, parameters: frozenset[str]) -> Iterator[Conversion]:
    """Yield the conversions of the code from `begin` to `end`. `parameters` are names of types as well."""
    tokens = [replace(token, kind="type") if token.text in parameters else token for token in source.tokens(begin, end)]
    last_end = begin
    for at, token in enumerate(tokens):
        if token.begin < last_end:
            continue
        conversion = None
        if token.text == "(":
            conversion = _in_brackets(tokens, at, is_operand=at > 0 and tokens[at - 1].end == last_end)
        elif token.text == "static_cast":
            conversion = _static_cast(tokens, at)
        elif _is_type(token):
            conversion = _like_a_call(tokens, at)
        if conversion is not None:
            last_end = conversion.end
            yield conversion


def _is_type(token: Token) -> bool:
    return token.kind == "type" or token.text in _WORDS or token.text in _NAMES


def _type_end(tokens: list[Token], at: int) -> int:
    """Return the index behind the integer type that begins at `at`, or `at` if none does."""
    if [token.text for token in tokens[at : at + 2]] == ["std", "::"]:
        return at + 3 if at + 2 < len(tokens) and tokens[at + 2].text in _NAMES else at
    if at < len(tokens) and (tokens[at].kind == "type" or tokens[at].text in _NAMES):
        return at + 1
    end = at
    while end < len(tokens) and tokens[end].text in _WORDS:
        end += 1
    return end


def _spelt(tokens: list[Token]) -> str:
    return " ".join(token.text for token in tokens)


def _in_brackets(tokens: list[Token], at: int, is_operand: bool) -> Conversion | None:
    end = _type_end(tokens, at + 1)
    if end == at + 1 or end >= len(tokens) or tokens[end].text != ")" or not (is_operand or _may_convert(tokens, at)):
        return None
    operand = _operand_end(tokens, end + 1)
    if operand is None:
        return None
    return Conversion(tokens[at].begin, tokens[end].end, _spelt(tokens[at + 1 : end]), tokens[operand - 1].end)


def _may_convert(tokens: list[Token], at: int) -> bool:
    if at == 0:
        return True
    before = tokens[at - 1]
    if before.kind == "name":
        return before.text in _BEFORE
    return before.kind == "mark" and before.text not in (")", "]", "::")


def _static_cast(tokens: list[Token], at: int) -> Conversion | None:
    end = _type_end(tokens, at + 2)
    if end == at + 2 or [token.text for token in tokens[end : end + 2]] != [">", "("]:
        return None
    return Conversion(tokens[at].begin, tokens[end].end, _spelt(tokens[at + 2 : end]), None)


def _like_a_call(tokens: list[Token], at: int) -> Conversion | None:
    """`int(x)` within an expression.

    At the begin of a statement it may declare x, `<int(float)>` is a type, and `int (&x)[3]` declares a parameter.
    """
    if at == 0 or at + 2 >= len(tokens) or tokens[at + 1].text != "(" or tokens[at + 2].text == ")":
        return None
    before = tokens[at - 1]
    if before.text != "return" and (before.kind != "mark" or before.text not in "=([+-*/%&|^!~?:,"):
        return None
    after = closing(tokens, at + 1) + 1
    if after < len(tokens) and tokens[after].text in ("(", "["):
        return None
    if before.text == "(" and at > 1 and (tokens[at - 2].text in _OF_TYPES or tokens[at - 2].text == "for"):
        return None
    if tokens[at].kind == "type" and not _is_one_value(tokens[at + 2 : after - 1]):
        return None
    return Conversion(tokens[at].begin, tokens[at].end, tokens[at].text, None)


def _is_one_value(tokens: list[Token]) -> bool:
    """A class may be made from several values or from a list, and a list of types stands behind the result of a function."""
    return not (_is_type(tokens[0]) or tokens[0].text in _SCALARS) and not {",", "{", "..."} & {t.text for t in tokens}


def _operand_end(tokens: list[Token], at: int) -> int | None:
    """Return the index behind the operand of a conversion in brackets, or None where it is not understood."""
    while at < len(tokens) and tokens[at].kind == "mark" and tokens[at].text in _UNARY:
        at += 1
    if at >= len(tokens) or tokens[at].text in _OF_TYPES:
        return None
    first = tokens[at]
    if first.text == "(":
        close = closing(tokens, at)
        if _is_scalar(tokens[at + 1 : close]):  # the brackets are a conversion themselves
            return _operand_end(tokens, close + 1)
        at = close + 1
    elif first.kind in ("name", "number", "literal", "type"):
        at = _path_end(tokens, at)
    elif first.text != "::":
        return None
    return _postfix_end(tokens, at)


def _is_scalar(tokens: list[Token]) -> bool:
    bare = tokens[2:] if [token.text for token in tokens[:2]] == ["std", "::"] else tokens
    return bool(bare) and all(token.kind == "type" or token.text in _SCALARS for token in bare)


def _path_end(tokens: list[Token], at: int) -> int:
    """Return the index behind a name, with its namespaces and the arguments of a template that is called."""
    at += 1
    while at < len(tokens):
        if tokens[at].text == "::" and at + 1 < len(tokens):
            at += 2
        elif tokens[at].text == "<" and (end := _arguments_end(tokens, at)):
            at = end
        else:
            break
    return at


def _arguments_end(tokens: list[Token], at: int) -> int:
    """Return the index behind `<...>`, if it looks like the arguments of a template that is called, and 0 otherwise."""
    depth = 0
    for index in range(at, min(len(tokens), at + 40)):
        text = tokens[index].text
        if text == "<":
            depth += 1
        elif text == ">":
            depth -= 1
            if depth == 0:
                following = tokens[index + 1].text if index + 1 < len(tokens) else ""
                return index + 1 if following in ("(", "::") else 0
        elif tokens[index].kind == "mark" and text not in ("::", ",", "*"):
            return 0
    return 0


def _postfix_end(tokens: list[Token], at: int) -> int:
    """Return the index behind calls, elements, members and `x++`."""
    while at < len(tokens):
        text = tokens[at].text
        if text in ("(", "["):
            at = closing(tokens, at) + 1
        elif text in (".", "->", "::") and at + 1 < len(tokens):
            at = _path_end(tokens, at + 1)
        elif text in "+-" and _is_doubled(tokens, at):
            at += 2
        else:
            break
    return min(at, len(tokens))


def _is_doubled(tokens: list[Token], at: int) -> bool:
    """Return whether the mark at `at` and the next one are `++` or `--`; the lexer reads them one by one."""
    return at + 1 < len(tokens) and (tokens[at + 1].text, tokens[at + 1].begin) == (tokens[at].text, tokens[at].end)
