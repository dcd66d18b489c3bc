"""What C++ is made of, as far as a porter must know it.

One regular expression finds everything that is not to be touched, and every place where a name of CUDA's may be. `Lexer` completes
what it only begins.

Each of its alternatives begins with a literal byte outside any group: only then does the regular expression engine skip whatever
cannot begin one at the speed of a table look-up, which makes it eight times as fast. For the same reason the words that begin with
frequent letters are looked for only in sources that have them (`has_rare_words`).

- Comments and character literals match without a group: they are passed over.
- `DELIMITER` begins a raw string literal; `RAW`, which is no group, is what such a literal holds. `STRING` is what another one
  holds. Prefixes (u8, L, ...) and suffixes stand outside.
- `SEPARATOR` is an apostrophe between hexadecimal digits, which separates them if they are those of a number.
- `QUOTE`, `APOSTROPHE` and `COMMENT` are empty: a literal, or a comment of one line, that is longer than the expression looks.
- `HEADER`, `DIGRAPH` (`%:include`) and `ASKED` (__has_include) are paths of headers with their delimiters; `MESSAGE` is #error or
  #warning; `ASSEMBLER` and `ASSEMBLER_TOO` are the keyword.
- `OPENED` and `CLOSED` are `<<<` and `>>>` of a launch with blanks in between; `CLOSED` may also be written as it should be.
- `WORD` and all groups from there on are the rest of an identifier that may be one of CUDA's; it may begin before.

A quote that nothing closes in its line is
no literal; such text stands in parts that the preprocessor skips.

**Time is linear in the size of the source, whatever it holds.** Where an alternative can fail, it looks only so far ahead
(`_SHORT`). `Lexer` looks for the end of longer literals, each time in another part of the text, because it remembers up to where a
quote is known to be open, and where the last end of a raw string is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from torchada.porting.rules.dispatch import AUTOCAST_WORDS

(
    COMMENT,
    DELIMITER,
    STRING,
    QUOTE,
    SEPARATOR,
    APOSTROPHE,
    HEADER,
    MESSAGE,
    ASKED,
    DIGRAPH,
    ASSEMBLER,
    ASSEMBLER_TOO,
    OPENED,
    CLOSED,
    WORD,
) = range(1, 16)
RAW = 0
_RARE = (b"%:", b"asm", b"Autocast", b"autocast::")
# One pass for all that begin so takes a third of the time of one for each.
_RARE_OF_COMPILERS = re.compile(rb"__(?:has_include|barrier_sync|cluster|grid_constant__|maxnreg__|vi)")
_APART = re.compile(rb"<<\s{1,80}<")

NAME = rb"[\w$\x80-\xff]"
_FIRST = rb"(?<![\w$\x80-\xff]%b)"
_PART = rb"(?<![A-Za-z0-9$\x80-\xff]%b)"
_PAIR = rb"\\(?:\r\n|[\s\S])"
_SHORT = rb"[^%b\\\n]{0,120}(?:" + _PAIR + rb"[^%b\\\n]{0,120}){0,4}"
_SPLICES = rb"(?:\\\r?\n){0,64}"
_PATH = rb"""<[^<>\n]*>|"[^"\n]*\""""
_RAW_PREFIX = b"|".join(rb'(?<=(?<![\w$\x80-\xff])%b")' % prefix for prefix in (b"R", b"LR", b"uR", b"UR", b"u8R"))
_DIRECTIVE = (
    rb"[ \t]*(?:(?:include|include_next|import)[ \t]*(?:/\*[^\n]{0,200}?\*/[ \t]*)?(%b)|(error|warning)(?!%b))"
    % (
        _PATH,
        NAME,
    )
)
_REST_OF_LINE = rb"[^\\\n]*(?:" + _PAIR + rb"[^\\\n]*){0,4}(?:(?=\\)())?"
_COMMENT = rb"/" + _SPLICES + rb"(?:/" + _REST_OF_LINE + rb"|\*(?:[\s\S]*?\*" + _SPLICES + rb"/|[\s\S]*\Z))"

_ALTERNATIVES = (
    _COMMENT,
    rb'"(?:' + _RAW_PREFIX + rb')([^()\\\s"]{0,16})\(',
    rb'"(?:(' + _SHORT % (b'"', b'"') + rb')"|())',
    rb"'(?:(?<=[0-9A-Fa-f]')(?=[0-9A-Fa-f])()|" + _SHORT % (b"'", b"'") + rb"'|())",
    rb"#" + _DIRECTIVE,
)
_WORDS = (
    rb"c(u" + _PART % b"cu" + NAME + rb"*)",
    rb"C((?:UDA|uda|[Uu]" + _PART % b"C[Uu]" + rb")" + NAME + rb"*)",
    rb"n((?:v" + _PART % b"nv" + rb"|ccl" + _PART % b"nccl" + rb"|pp" + _PART % b"npp" + rb")" + NAME + rb"*)",
    rb"N((?:V"
    + _PART % b"NV"
    + rb"|CCL"
    + _PART % b"NCCL"
    + rb"|[Pp]{2}"
    + _PART % b"N[Pp]{2}"
    + rb")"
    + NAME
    + rb"*)",
)
_RARE_ONES = (
    rb"_" + _FIRST % b"_" + rb"_has_include(?:_next)?[ \t]*\([ \t]*(" + _PATH + rb")",
    rb"%:[ \t]*(?:include|include_next|import)[ \t]*(" + _PATH + rb")",
    rb"a" + _FIRST % b"a" + rb"(sm)(?!" + NAME + rb")",
    rb"_" + _FIRST % b"_" + rb"(_asm(?:__)?)(?!" + NAME + rb")",
    rb"_" + _FIRST % b"_" + rb"(_(?:barrier_sync|cluster|grid_constant|maxnreg)" + NAME + rb"*)",
    rb"_" + _FIRST % b"_" + rb"(_vi(?:add|b)?m(?:ax|in)" + NAME + rb"*)",
    rb"A" + _FIRST % b"A" + rb"(utocast)(?!" + NAME + rb")",
    rb"a" + _FIRST % b"a" + rb"(%b)(?!" % "|".join(word[1:] for word in AUTOCAST_WORDS).encode() + NAME + rb")",
)


_LAUNCHES = (rb"<<(\s{1,80})<", rb">>(\s{0,80})>(?=\s{0,80}\()")


def tokens(
    words: Iterable[str] = (), prefixes: Iterable[str] = (), rare: bool = True, launches: bool = True
) -> re.Pattern[bytes]:
    """The expression; `words` and `prefixes` are a project's own, beside those that CUDA's libraries use.

    Without `rare` it does not find what `has_rare_words` asks for, and without `launches` none that is spelt apart.
    """
    own = [_from(word, rb"(?!" + NAME + rb")") for word in words]
    own += [_from(prefix, NAME + rb"*") for prefix in prefixes]
    # The groups of what is left out, so that all have their numbers.
    asked, words_of_few = (_RARE_ONES[:4], _RARE_ONES[4:]) if rare else ((rb"#()()()()(?!)",), ())
    marks = _LAUNCHES if launches else (rb"#()()(?!)",)
    return re.compile(b"|".join([*_ALTERNATIVES, *asked, *marks, *own, *_WORDS, *words_of_few]))


def has_rare_words(text: bytes) -> bool:
    """Whether `text` may have words or marks that few sources have."""
    return any(map(text.__contains__, _RARE)) or _RARE_OF_COMPILERS.search(text) is not None


def has_launches(text: bytes) -> bool:
    """Whether `text` may have a launch that is spelt apart."""
    return _APART.search(text) is not None


def _from(name: str, rest: bytes) -> bytes:
    first, others = re.escape(name[:1].encode()), re.escape(name[1:].encode())
    return first + _FIRST % first + rb"(" + others + rest + rb")"


# 256 at a time, because the engine keeps a record of each repetition until it has them all.
_MORE = {
    stop: re.compile(rb"[^%b\\\n]*(?:" % stop + _PAIR + rb"[^%b\\\n]*){0,256}" % stop) for stop in (b"", b'"', b"'")
}
_RAW_END = re.compile(rb'\)([^()\\\s"]{0,16})"')


def end_of_line(text: bytes, at: int, stop: bytes = b"") -> int:
    """Where the line that `at` is in ends, or an unescaped `stop` stands in it. A backslash at its end continues a line."""
    more = _MORE[stop]
    while (run := more.match(text, at)) is not None:
        if run.end() == at or text[run.end() : run.end() + 1] != b"\\":
            return run.end()
        at = run.end()
    return at


_IS_NAME = [value >= 0x80 or bytes([value]).isalnum() or value in b"_$" for value in range(256)]


class Lexer:
    """The tokens of one source. `pattern` is one that `tokens` made."""

    def __init__(self, pattern: re.Pattern[bytes], text: bytes) -> None:
        self._pattern = pattern
        self._text = text
        # Up to where nothing closes a quote. One in between is escaped, so what follows it is read in the same pairs of bytes.
        self._open_until = {b'"': 0, b"'": 0}
        self._separator = -1
        self._raw_ends: dict[bytes, int] | None = None

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        """The group, start and end of each token that has one: of paths and raw strings alone, otherwise of all that matched."""
        at: int | None = 0
        while at is not None:
            matches, at = self._pattern.finditer(self._text, at), None
            for token in matches:
                group = token.lastindex
                if group is None:
                    continue
                if group >= WORD or group == STRING:
                    start, end = token.span()
                    yield group, start, end
                elif group > APOSTROPHE:
                    start, end = token.span(group if group in _PATHS else 0)
                    yield group, start, end
                else:
                    literal, at = self._long(group, token)
                    if literal is not None:
                        yield literal
                    if at is not None:
                        break

    def _long(self, group: int, token: re.Match[bytes]) -> tuple[tuple[int, int, int] | None, int | None]:
        """What begins at `token`, and where to go on unless behind it."""
        if group == COMMENT:
            return None, end_of_line(self._text, token.end())
        if group == DELIMITER:
            end = self._raw_end(token[DELIMITER], token.end())
            if end is not None:
                return (RAW, token.end(), end), end + len(token[DELIMITER]) + 2
        if group == SEPARATOR and self._separates(token.start()):
            return None, None
        literal, at = self._quoted(token.start(), b'"' if group in (DELIMITER, QUOTE) else b"'")
        return literal, token.start() + 1 if group == DELIMITER and at is None else at

    def _separates(self, at: int) -> bool:
        """Whether the apostrophe at `at` separates digits, as in 1'000'000, and opens no character.

        It does where the word before it begins with a digit, or begins behind an apostrophe that separates digits.
        """
        first = at
        while first and _IS_NAME[self._text[first - 1]]:
            first -= 1
        is_number = self._text[first : first + 1].isdigit() or first == self._separator + 1
        if is_number:
            self._separator = at
        return is_number

    def _raw_end(self, delimiter: bytes, at: int) -> int | None:
        if self._raw_ends is not None and self._raw_ends.get(delimiter, -1) < at:
            return None
        end = self._text.find(b")" + delimiter + b'"', at)
        if end < 0:
            self._raw_ends = {closing[1]: closing.start() for closing in _RAW_END.finditer(self._text)}
        return None if end < 0 else end

    def _quoted(self, start: int, quote: bytes) -> tuple[tuple[int, int, int] | None, int | None]:
        if start < self._open_until[quote]:
            return None, None
        end = end_of_line(self._text, start + 1, quote)
        if self._text[end : end + 1] != quote:
            self._open_until[quote] = end
            return None, None
        return (STRING, start, end + 1) if quote == b'"' else None, end + 1


_PATHS = (HEADER, ASKED, DIGRAPH)
