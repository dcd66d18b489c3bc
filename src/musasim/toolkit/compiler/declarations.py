"""Finds parts of C++ declarations in their tokens: the declared name, and where a template or an expression begins."""

from __future__ import annotations

import re

from musasim.toolkit.compiler.lexer import Source, Token, closing, split

_TYPE_WORDS = frozenset(
    [
        "void",
        "bool",
        "char",
        "short",
        "int",
        "long",
        "float",
        "double",
        "unsigned",
        "signed",
        "const",
        "volatile",
        "wchar_t",
        "char16_t",
        "char32_t",
        "auto",
        "__restrict__",
        "__restrict",
        "restrict",
        "typename",
        "struct",
        "class",
        "union",
        "enum",
    ]
)
_QUALIFIERS = frozenset(["const", "volatile", "__restrict__", "__restrict", "restrict", "register"])
CALL_LIKE = frozenset(
    ["__attribute__", "__launch_bounds__", "alignas", "decltype", "noexcept", "__declspec", "sizeof", "__asm__", "asm"]
)
_STORAGE = frozenset(["extern", "static", "inline", "constexpr", "constinit", "thread_local"])


def joined(text: str) -> str:
    """Put the text on one line. The caller puts the line breaks back where the text was."""
    return re.sub(r"\n(?:#[^\n]*\n)*", " ", text).strip()


def split_text(text: str) -> list[str]:
    source = Source(text)
    return [text[piece[0].begin : piece[-1].end] for piece in split(list(source.tokens(0))) if piece]


def template_begin(tokens: list[Token]) -> int:
    """Return the index of the `<` that belongs to the `>` at the end, or 0 if there is none."""
    angles = depth = 0
    for index in range(len(tokens) - 1, -1, -1):
        text = tokens[index].text
        if text in (")", "]", "}"):
            depth += 1
        elif text in ("(", "[", "{"):
            depth -= 1
        elif depth == 0 and text in (">", ">>>"):
            angles += len(text)
        elif depth == 0 and text == "<":
            angles -= 1
            if angles == 0:
                return index
    return 0


def _bracket_begin(tokens: list[Token]) -> int:
    """Return the index of the bracket that belongs to the one at the end, or 0 if there is none."""
    depth = 0
    for index in range(len(tokens) - 1, -1, -1):
        text = tokens[index].text
        if text in (")", "]"):
            depth += 1
        elif text in ("(", "["):
            depth -= 1
            if depth == 0:
                return index
    return 0


def expression_begin(tokens: list[Token]) -> int | None:
    """Return where the expression at the end of `tokens` begins. It names the kernel of a launch."""
    at = len(tokens)
    while at > 0:
        if tokens[at - 1].text in (">", ">>>"):
            at = template_begin(tokens[:at])
        while at > 0 and tokens[at - 1].text in (")", "]"):
            at = _bracket_begin(tokens[:at])
        if at > 0 and tokens[at - 1].kind == "name" and tokens[at - 1].text not in ("return", "else", "do"):
            at -= 1
        if at > 0 and tokens[at - 1].text == "template":
            at -= 1
        if at > 0 and tokens[at - 1].text in ("::", ".", "->"):
            at -= 1
            if at > 0 and (tokens[at - 1].kind == "name" or tokens[at - 1].text in (">", ">>>", ")", "]")):
                if tokens[at - 1].text in ("return", "else", "do"):
                    break
                continue
        break
    return tokens[at].begin if at < len(tokens) else None


def ends_in_operator(tokens: list[Token]) -> bool:
    """Return whether the tokens end in `operator`, or in it and a part of its name: the `=` of `operator+=` may come next."""
    last = next((token for token in reversed(tokens) if token.kind != "mark"), None)
    return last is not None and last.text == "operator"


def without_storage(tokens: list[Token]) -> list[Token]:
    return [token for token in tokens if token.text not in _STORAGE]


def _declarator(tokens: list[Token]) -> list[Token]:
    """Drop a default or initial value from the declarator."""
    depth = angles = 0
    for index, token in enumerate(tokens):
        text = token.text if token.kind == "mark" else ""
        if text and text in "([{":
            if (
                text == "{"
                and depth == 0
                and index > 0
                and not angles
                and tokens[0].text not in ("union", "struct", "class")
            ):
                return tokens[:index]
            depth += 1
        elif text and text in ")]}":
            depth -= 1
        elif depth == 0 and text == "<" and index > 0 and tokens[index - 1].kind == "name":
            angles += 1
        elif depth == 0 and text in (">", ">>>") and angles:
            angles = max(0, angles - len(text))
        elif depth == 0 and angles == 0 and text == "=":
            return tokens[:index]
    return tokens


def initial_value(tokens: list[Token]) -> list[Token]:
    """Return the value that one declarator gives, with its `=` or its braces, or nothing."""
    before = _declarator(tokens)
    value = tokens[len(before) :]
    # The braces of a structure that is declared with the variable come before the name.
    return value if value and (value[0].text == "=" or before[-1].text in (declared_name(before), "]")) else []


def declared_name(tokens: list[Token]) -> str | None:
    """Return the name that one declarator declares, or None."""
    tokens = _declarator(tokens)
    while tokens and tokens[-1].text == "]":
        tokens = tokens[: _bracket_begin(tokens)]
    for index in range(len(tokens) - 2):
        if tokens[index].text == "(" and tokens[index + 1].text in ("*", "&"):
            inner = [token for token in tokens[index + 1 : closing(tokens, index)] if token.kind == "name"]
            inner = [token for token in inner if token.text not in _QUALIFIERS]
            return inner[0].text if inner else None
    if not tokens or tokens[-1].kind != "name" or tokens[-1].text in _TYPE_WORDS:
        return None
    before = [token for token in tokens[:-1] if token.text not in _QUALIFIERS and token.text != "..."]
    if not before or before[-1].text == "::":
        return None
    only_keywords = all(token.text in ("typename", "struct", "class", "union", "enum") for token in before)
    return None if only_keywords else tokens[-1].text


def defines_member(tokens: list[Token]) -> bool:
    """Return whether the tokens define a class's static variable, as in `int Grid::count = 3`."""
    declared = _declarator(tokens)
    while declared and declared[-1].text == "]":
        declared = declared[: _bracket_begin(declared)]
    return len(declared) > 1 and declared[-1].kind == "name" and declared[-2].text == "::"


def declared_names(tokens: list[Token]) -> list[str]:
    """Return the names in a declaration with one or more declarators."""
    pieces = split(tokens)
    names = [declared_name(piece) for piece in pieces[:1]]
    for piece in pieces[1:]:
        plain = [token for token in _declarator(piece) if token.kind == "name" and token.text not in _QUALIFIERS]
        names.append(plain[0].text if plain else None)
    return [name for name in names if name is not None]


def name_position(tokens: list[Token]) -> int | None:
    """Return where the name of an unnamed parameter would be; None where no type precedes it."""
    declared = _declarator(tokens)
    while declared and declared[-1].text == "]":
        declared = declared[: _bracket_begin(declared)]
    for index in range(len(declared) - 1):
        if declared[index].text == "(" and declared[index + 1].text in ("*", "&"):
            return declared[index + 1].end
    return declared[-1].end if declared else None
