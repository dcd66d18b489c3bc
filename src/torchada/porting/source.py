"""A source under way, and the positions in it that words stand at: what is asked of the whole source is found out once."""

from __future__ import annotations

import re
from functools import cached_property
from typing import NamedTuple

from torchada.porting.macros import device_macros
from torchada.porting.rules.namespaces import HOLDERS
from torchada.porting.versions import REACHED

# How many bytes before a word or string may say what it means.
FURTHEST = 240
_SPACE = re.compile(rb"(?:\s+|/\*[^*]{0,200}\*/|//[^\n]{0,200}\n){0,8}")
_COMMENTS = re.compile(rb"/\*.*?\*/|//[^\n]*\n", re.S)
# An escape outside a string is passed over with what it escapes: no string begins there, and each line is searched for the end of
# one that nothing closes once, and not from every escaped quote.
_STRINGS_AND_COMMENTS = re.compile(rb'\\.|"(?:[^"\\\n]|\\.)*"|/\*(?:.*?\*/|.*\Z)|//[^\n]*', re.S)
_MARKED_STRING = re.compile(rb'"[^"\n]*(?://|/\*|\*/)')
_BLANK = ord(" ")
_BETWEEN = frozenset(
    (b"", b" ", b"\n", b"\t", b"\r", b"\v", b"\f", b"/")
)  # blanks, and what comments begin and end with
# What begins with a literal is found in a tenth of the time, so what may not stand before it is asked behind it.
_HOLDER_OPENED = re.compile(rb"namespace(?<!\wnamespace)\s+(?:%b)(?!\w)(?!\s*=)" % b"|".join(HOLDERS))
_TORCH = re.compile(rb"(?<!\w)(?:torch|ATen|at)(?!\w)")
_DECLARES_IS_CUDA = re.compile(rb"bool(?<!\wbool)\s+is_cuda\s*\(")
_DEFINES_DPX = re.compile(rb"(?:\bint|\bunsigned|uint32_t)\s{1,80}__vi\w+\s{0,80}\(|define[ \t]{1,80}__vi")
_GIVEN_A_VALUE = re.compile(rb"(?<![\w$])([A-Za-z_]\w*)\s{0,80}=(?!=)")
_MUSA = re.compile(rb"MUSA")
_NAMES_OF_MUSA = re.compile(rb"musa")
_FOR_GPUS = re.compile(rb"__(?:global|device)__|__CUDA|#[ \t]*include[ \t]*[<\"]cu")
_OF_WORDS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"


class Source:
    """The text, the newest CUDA_VERSION that MUSA counts as, and the project's macros that make a device type of an argument."""

    def __init__(self, text: bytes, reached: int = REACHED, macros: frozenset[str] = frozenset()) -> None:
        self.text = text
        self.reached = reached
        self._macros = macros

    def before(self, at: int, floor: int = 0) -> bytes:
        """What stands before `at`, as far as it may say what is meant there, with a blank for each comment.

        A comment that began further up counts as code.
        """
        least = max(floor, at - FURTHEST)
        before = self.text[least:at]
        if b"*/" not in before and b"//" not in before:
            return before
        if b'"' not in before or _MARKED_STRING.search(before) is None:
            return _COMMENTS.sub(b" ", before)
        return self._code[least:at]

    @cached_property
    def _code(self) -> bytes:
        """The text with comments of blanks, where strings hold what looks like comments."""
        return _STRINGS_AND_COMMENTS.sub(_blank_comment, self.text)

    @cached_property
    def device_macros(self) -> frozenset[str]:
        """The project's, and those that the source defines itself."""
        return self._macros | device_macros(self.text)

    @cached_property
    def opens_holder(self) -> bool:
        """Whether it opens a namespace that has one called cuda: PyTorch's, Thrust's."""
        return _HOLDER_OPENED.search(self.text) is not None

    @cached_property
    def asks_for_nvcc(self) -> bool:
        """Whether it asks which version of nvcc compiles it."""
        return b"__CUDACC_VER" in self.text

    @cached_property
    def defines_dpx(self) -> bool:
        """Whether it has integer functions of CUDA 12 of its own."""
        return _DEFINES_DPX.search(self.text) is not None

    @cached_property
    def implements(self) -> bool:
        """Whether it registers operators for a device."""
        return b"TORCH_LIBRARY_IMPL" in self.text

    @cached_property
    def names_torch(self) -> bool:
        """Whether PyTorch is named."""
        return _TORCH.search(self.text) is not None

    @cached_property
    def declares_is_cuda(self) -> bool:
        """Whether a class of its own has is_cuda()."""
        return _DECLARES_IS_CUDA.search(self.text) is not None

    @cached_property
    def values(self) -> frozenset[bytes]:
        """The names that it gives a value, if it has names of MUSA as well as of CUDA."""
        if _MUSA.search(self.text) is None and _NAMES_OF_MUSA.search(self.text) is None:
            return frozenset()
        return frozenset(match[1] for match in _GIVEN_A_VALUE.finditer(self.text))

    @cached_property
    def is_for_gpus(self) -> bool:
        """Whether it has code for a GPU."""
        return _FOR_GPUS.search(self.text) is not None


class Position(NamedTuple):
    """A word at `source.text[start:end]`; nothing before `floor` may be changed any more."""

    source: Source
    start: int
    end: int
    floor: int

    @property
    def text(self) -> bytes:
        return self.source.text

    @property
    def before(self) -> bytes:
        return self.source.text[max(self.floor, self.start - FURTHEST) : self.start]

    @property
    def joined(self) -> bytes:
        """What stands before the word, without comments, and without the blanks between."""
        return self.source.before(self.start, self.floor).rstrip()

    @property
    def last(self) -> bytes:
        """The last character of `joined`; quick where blanks are few."""
        text, at, least = self.source.text, self.start, max(self.floor, self.start - FURTHEST)
        if text[at - 1] == _BLANK:
            at -= 1
        while text[at - 2 : at] == b"*/" and (opened := text.rfind(b"/*", least, at - 2)) > 0:
            at = opened
        last = text[max(least, at - 1) : at]
        return self.joined[-1:] if last in _BETWEEN else last

    @property
    def next(self) -> int:
        """Where what follows the word begins; quick where no more than one blank is in between."""
        text, at = self.source.text, self.end
        if text[at : at + 1] == b" ":
            at += 1
        if text[at : at + 1] not in _BETWEEN or (space := _SPACE.match(text, self.end)) is None:
            return at
        return space.end()

    def follows(self, *what: bytes) -> bool:
        return self.source.text.startswith(what, self.next)


def _blank_comment(match: re.Match[bytes]) -> bytes:
    return b" " * len(match[0]) if match[0].startswith(b"/") else match[0]


def statement(before: bytes, ends: bytes = b";{}") -> bytes:
    """What of `before` belongs to the statement that it ends in."""
    return before[max(map(before.rfind, (ends[at : at + 1] for at in range(len(ends))))) + 1 :]


def ending_word(code: bytes) -> bytes:
    """The word that `code` ends in, which may be empty."""
    return code[len(code.rstrip(_OF_WORDS)) :]
