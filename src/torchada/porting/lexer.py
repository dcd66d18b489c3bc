"""What C++ is made of, as far as a porter must know it.

One regular expression finds everything that is not to be touched, and every place where a name of CUDA's may be.

Each of its alternatives begins with a literal byte outside any group: only then does the regular expression engine skip whatever
cannot begin one at the speed of a table look-up, which makes it eight times as fast. For the same reason the words that begin with
frequent letters are looked for only in sources that have them (`RARE`). No alternative backtracks further than a line.

- Comments and character literals match without a group: they are passed over.
- `RAW` is what a raw string literal holds, `STRING` what another one does. Prefixes (u8, L, ...) and suffixes stand outside.
- `HEADER`, `DIGRAPH` (`%:include`) and `ASKED` (__has_include) are paths of headers with their delimiters; `MESSAGE` is #error or
  #warning; `ASSEMBLER` and `ASSEMBLER_TOO` are the keyword.
- `WORD` and all groups from there on are the rest of an identifier that may be one of CUDA's; it may begin before.

An apostrophe between hexadecimal digits separates digits, except after `u8` and `case`. A quote that nothing closes in its line is
no literal; such text stands in parts that the preprocessor skips.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

DELIMITER, RAW, STRING, HEADER, MESSAGE, ASKED, DIGRAPH, ASSEMBLER, ASSEMBLER_TOO, WORD = range(1, 11)
RARE = (b"%:", b"asm", b"__has_include", b"__cluster", b"__grid_constant__", b"__maxnreg__")

NAME = rb"[\w$\x80-\xff]"
_FIRST = rb"(?<![\w$\x80-\xff]%b)"
_PART = rb"(?<![A-Za-z0-9$\x80-\xff]%b)"
_ESCAPED = rb"[^%b\\\n]*(?:\\(?:\r\n|[\s\S])[^%b\\\n]*)*"
_PATH = rb"""<[^>\n]*>|"[^"\n]*\""""
_RAW_PREFIX = b"|".join(rb'(?<=(?<![\w$\x80-\xff])%b")' % prefix for prefix in (b"R", b"LR", b"uR", b"UR", b"u8R"))
_DIRECTIVE = rb"[ \t]*(?:(?:include|include_next|import)[ \t]*(?:/\*[^\n]*?\*/[ \t]*)?(%b)|(error|warning)(?!%b))" % (
    _PATH,
    NAME,
)
REST_OF_LINE = _ESCAPED % (b"", b"")
_COMMENT = rb"/(?:\\\r?\n)*(?:/" + REST_OF_LINE + rb"|\*(?:[\s\S]*?\*(?:\\\r?\n)*/|[\s\S]*\Z))"

_ALTERNATIVES = (
    _COMMENT,
    rb'"(?:' + _RAW_PREFIX + rb')([^()\\\s"]{0,16})\(([\s\S]*?)\)\1"',
    rb'"(' + _ESCAPED % (b'"', b'"') + rb')"',
    rb"'(?<=[0-9A-Fa-f]')(?<!u8')(?<!case')(?=[0-9A-Fa-f])",
    rb"'" + _ESCAPED % (b"'", b"'") + rb"'",
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
    rb"_" + _FIRST % b"_" + rb"(_(?:cluster|grid_constant|maxnreg)" + NAME + rb"*)",
)


def tokens(words: Iterable[str] = (), prefixes: Iterable[str] = (), rare: bool = True) -> re.Pattern[bytes]:
    """The expression; `words` and `prefixes` are a project's own, beside those that CUDA's libraries use.

    Without `rare` it does not find what begins with one of RARE.
    """
    own = [_from(word, rb"(?!" + NAME + rb")") for word in words]
    own += [_from(prefix, NAME + rb"*") for prefix in prefixes]
    without = (rb"/()()()()(?!)",)  # the groups of what is left out, so that all have their numbers
    asked, words_of_few = (_RARE_ONES[:4], _RARE_ONES[4:]) if rare else (without, ())
    return re.compile(b"|".join([*_ALTERNATIVES, *asked, *own, *_WORDS, *words_of_few]))


def _from(name: str, rest: bytes) -> bytes:
    first, others = re.escape(name[:1].encode()), re.escape(name[1:].encode())
    return first + _FIRST % first + rb"(" + others + rest + rb")"
