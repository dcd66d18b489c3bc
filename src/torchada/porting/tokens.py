"""The expression that finds the tokens of C++, as far as a porter must know them: what is not to be touched, and where a name of
CUDA's may be.

Each of its alternatives begins with a literal byte outside any group: only then does the regular expression engine skip whatever
cannot begin one at the speed of a table look-up, which makes it eight times as fast. The more frequent that byte, the slower, so
what few sources have (`RARE`) is looked for where a quick search has seen it.

- Comments and character literals match without a group: they are passed over.
- `DELIMITER` begins a raw string literal; `RAW`, which is no group, is what such a literal holds. `STRING` is what another one
  holds. Prefixes (u8, L, ...) and suffixes stand outside.
- `SEPARATOR` is an apostrophe between hexadecimal digits, which separates them if they are those of a number.
- `QUOTE`, `APOSTROPHE` and `COMMENT` are empty: a literal, or a comment of one line, that is longer than the expression looks.
- `HEADER`, `DIGRAPH` (`%:include`) and `ASKED` (__has_include) are paths of headers with their delimiters; `MESSAGE` is #error or
  #warning.
- `OPENED` and `CLOSED` are `<<<` and `>>>` of a launch with blanks in between; `CLOSED` may also be written as it should be.
- `ASSEMBLER` is the keyword from its m on, for of its letters that is the rarest.
- `WORD` and all groups from there on are the rest of an identifier that may be one of CUDA's; it may begin before.

**Time is linear in the size of the source, whatever it holds.** Where an alternative can fail, it looks only so far ahead
(`_SHORT`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

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
    DIGRAPH,
    OPENED,
    CLOSED,
    ASSEMBLER,
    ASKED,
    WORD,
) = range(1, 15)
RAW = 0

_NAME = rb"[\w$\x80-\xff]"
_FIRST = rb"(?<![\w$\x80-\xff]%b)"
_PART = rb"(?<![A-Za-z0-9$\x80-\xff]%b)"
PAIR = rb"\\(?:\r\n|[\s\S])"
_SHORT = rb"[^%b\\\n]{0,120}(?:" + PAIR + rb"[^%b\\\n]{0,120}){0,4}"
_SPLICES = rb"(?:\\\r?\n){0,64}"
_PATH = rb"""<[^<>\n]*>|"[^"\n]*\""""
_RAW_PREFIX = b"|".join(rb'(?<=(?<![\w$\x80-\xff])%b")' % prefix for prefix in (b"R", b"LR", b"uR", b"UR", b"u8R"))
_DIRECTIVE = (
    rb"[ \t]*(?:(?:include|include_next|import)[ \t]*(?:/\*[^\n]{0,200}?\*/[ \t]*)?(%b)|(error|warning)(?!%b))"
    % (
        _PATH,
        _NAME,
    )
)
_REST_OF_LINE = rb"[^\\\n]*(?:" + PAIR + rb"[^\\\n]*){0,4}(?:(?=\\)())?"
_COMMENT = rb"/" + _SPLICES + rb"(?:/" + _REST_OF_LINE + rb"|\*(?:[\s\S]*?\*" + _SPLICES + rb"/|[\s\S]*\Z))"

_ALTERNATIVES = (
    _COMMENT,
    rb'"(?:' + _RAW_PREFIX + rb')([^()\\\s"]{0,16})\(',
    rb'"(?:(' + _SHORT % (b'"', b'"') + rb')"|())',
    rb"'(?:(?<=[0-9A-Fa-f]')(?=[0-9A-Fa-f])()|" + _SHORT % (b"'", b"'") + rb"'|())",
    rb"#" + _DIRECTIVE,
    rb"%:[ \t]*(?:include|include_next|import)[ \t]*(" + _PATH + rb")",
)
_WORDS = (
    rb"c(u" + _PART % b"cu" + _NAME + rb"*)",
    rb"C((?:UDA|uda|[Uu]" + _PART % b"C[Uu]" + rb")" + _NAME + rb"*)",
    rb"n((?:v" + _PART % b"nv" + rb"|ccl" + _PART % b"nccl" + rb"|pp" + _PART % b"npp" + rb")" + _NAME + rb"*)",
    rb"N((?:V"
    + _PART % b"NV"
    + rb"|CCL"
    + _PART % b"NCCL"
    + rb"|[Pp]{2}"
    + _PART % b"N[Pp]{2}"
    + rb")"
    + _NAME
    + rb"*)",
)


class Rare(NamedTuple):
    """What few sources have: all in which `sought` finds nothing have none of it. `alternatives` find it, and have so many `groups`
    that are no words.

    A search takes a fifth of the time, and half of what `in` takes, where the expression begins with a literal.
    """

    sought: re.Pattern[bytes]
    alternatives: bytes
    groups: int


_MARKS = (
    Rare(re.compile(rb"<<\s{1,80}<"), rb"<<(\s{1,80})<|>>(\s{0,80})>(?=\s{0,80}\()", 2),
    Rare(
        re.compile(rb"asm"),
        rb"m(?<=asm)()(?:" + _FIRST % b"asm" + rb"|(?<=__asm)" + _FIRST % b"__asm" + rb"(?:__)?)(?!" + _NAME + rb")",
        1,
    ),
    Rare(
        re.compile(rb"__(?:has_include|barrier_sync|cluster|grid_constant__|maxnreg__|vi)"),
        rb"__"
        + _FIRST % b"__"
        + rb"(?:has_include(?:_next)?[ \t]*\([ \t]*(%b)|((?:barrier_sync|cluster|grid_constant|maxnreg|vi(?:add|b)?m(?:ax|in))%b*))"
        % (_PATH, _NAME),
        1,
    ),
)
_RARE_WORDS = (
    Rare(
        re.compile(rb"utocast"),
        rb"A"
        + _FIRST % b"A"
        + rb"(utocast)(?!%b)|a" % _NAME
        + _FIRST % b"a"
        + rb"(%b)(?!%b)" % ("|".join(word[1:] for word in AUTOCAST_WORDS).encode(), _NAME),
        0,
    ),
)
RARE = (*_MARKS, *_RARE_WORDS)
# What stands in the place of alternatives that are left out, so that the groups of all others keep their numbers.
_NOTHING = rb"(?:(?!)%b)?"
# The rest of a keyword that a project's own prefix may be a part of, by the first letter of both.
_NO_KEYWORD = {b"a": rb"(?!sm(?!%b))" % _NAME, b"_": rb"(?!_asm(?:__)?(?!%b))" % _NAME}


def rare_in(text: bytes) -> tuple[Rare, ...]:
    """What few sources have, and `text` may have."""
    return tuple(rare for rare in RARE if rare.sought.search(text) is not None)


def tokens(words: Iterable[str] = (), prefixes: Iterable[str] = (), rare: Collection[Rare] = RARE) -> re.Pattern[bytes]:
    """The expression; `words` and `prefixes` are a project's own, beside those that CUDA's libraries use. It finds `rare`, and no
    other of RARE."""
    marks = b"".join(b"|" + mark.alternatives if mark in rare else _NOTHING % (b"()" * mark.groups) for mark in _MARKS)
    own = [_from(word, rb"(?!" + _NAME + rb")") for word in words]
    own += [_from(prefix, _NAME + rb"*") for prefix in prefixes]
    rare_words = [each.alternatives for each in _RARE_WORDS if each in rare]
    return re.compile(b"|".join(_ALTERNATIVES) + marks + b"|" + b"|".join([*own, *_WORDS, *rare_words]))


def _from(name: str, rest: bytes) -> bytes:
    first, others = re.escape(name[:1].encode()), re.escape(name[1:].encode())
    return first + _FIRST % first + _NO_KEYWORD.get(first, b"") + rb"(" + others + rest + rb")"
