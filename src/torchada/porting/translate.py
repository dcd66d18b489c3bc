"""One pass over one source: names are replaced where they stand in code, and lines stay lines."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from torchada.porting import strings
from torchada.porting.assembler import REASON as NO_PTX
from torchada.porting.assembler import ptx
from torchada.porting.contexts import CONTEXTS, Change, Place
from torchada.porting.findings import CHECK, UNPORTED, Finding, Notes, Ported, moved
from torchada.porting.lexer import (
    ASKED,
    ASSEMBLER,
    ASSEMBLER_TOO,
    DIGRAPH,
    HEADER,
    MESSAGE,
    RARE,
    RAW,
    REST_OF_LINE,
    STRING,
    WORD,
    tokens,
)
from torchada.porting.names import Answer, Names
from torchada.porting.rules.dispatch import NAMING_MACROS
from torchada.porting.versions import REACHED

Resolve = Callable[[str, bool], str | None]
"""From an include path, and whether it stands in quotes, to the path of a file of the same tree; None where it is no such file."""

_BYTES = [bytes([value]) for value in range(256)]
_IS_NAME = [value >= 0x80 or _BYTES[value].isalnum() or value in b"_$" for value in range(256)]
_NAMING = tuple(macro.encode() for macro in NAMING_MACROS)
_OPEN = b"( \t\r\n"
_SPLIT = re.compile(rb"\\(?<=\w\\)\r?\n(?=\w)")
_SPLIT_WORD = re.compile(rb"[\w$\x80-\xff]*(?:\\\r?\n[\w$\x80-\xff]+)+")
_REST_OF_LINE = re.compile(REST_OF_LINE)
_BOM = b"\xef\xbb\xbf"
_RENAMED_PATH = re.compile(rb'"[^"\n]+\.cuh?"')
_DEFINED = re.compile(rb"\n[ \t]*#[ \t]*define[ \t]+\w+[ \t]+\Z")


def _is_seen_by_python(text: bytes, start: int) -> bool:
    """Whether the word at `start` names a module or a library of operators: PYBIND11_MODULE(name, m)."""
    before = text[max(0, start - 64) : start].rstrip()
    return before.endswith(b"(") and before[:-1].rstrip().endswith(_NAMING)


@dataclass
class Translator:
    """The rules as they apply to one project: `names`, and the newest CUDA_VERSION that MUSA counts as."""

    names: Names = field(default_factory=Names)
    reached: int = REACHED

    def __post_init__(self) -> None:
        own = [*self.names.own_words], [*self.names.own_prefixes]
        self._tokens, self._all_tokens = tokens(*own, rare=False), tokens(*own)
        # What a word becomes, None for what stays; an Answer or a name where it takes more than that.
        self._memory: dict[bytes, bytes | Answer | str | None] = {}

    def port(self, data: bytes, resolve: Resolve | None = None) -> Ported:
        """The source `data` for MUSA. `resolve` knows the files that its includes may mean."""
        # The line feed in front makes the first line a line like any other.
        return _Pass(self, b"\n" + data, resolve).result()

    def look_up(self, word: bytes) -> bytes | Answer | str | None:
        """What `word` becomes, by the memory that the pass reads first."""
        name = word.decode("utf-8", "surrogateescape")
        found: bytes | Answer | str | None
        if name in CONTEXTS and name not in self.names.keep and name not in self.names.own_words:
            found = name
        else:
            answer = self.names.identifier(name)
            found = answer.name.encode() if answer and answer.name is not None and not answer.reason else answer
        self._memory[word] = found
        return found

    def pattern(self, text: bytes) -> re.Pattern[bytes]:
        """What finds the tokens of `text`."""
        return self._all_tokens if any(map(text.__contains__, RARE)) else self._tokens

    @property
    def memory(self) -> dict[bytes, bytes | Answer | str | None]:
        return self._memory


class _Pass:
    def __init__(self, translator: Translator, text: bytes, resolve: Resolve | None) -> None:
        self.translator = translator
        self.text = text
        self.resolve = resolve
        self.pieces: list[bytes] = []
        self.position = 0
        self.silent_until = 0
        self.replacements = 0
        self.notes = Notes()
        self.inner: list[Finding] = []

    def result(self) -> Ported:
        self._translate()
        if self._has_split_words():
            self._report_split_words()
        if not self.replacements:
            return Ported(self.text[1:], self._findings())
        self.pieces.append(self.text[self.position :])
        return Ported(b"".join(self.pieces)[1:], self._findings(), self.replacements)

    def _findings(self) -> tuple[Finding, ...]:
        if not self.notes.found and not self.inner:
            return ()
        return tuple(self.notes.located(self.text, self.inner))

    def _translate(self) -> None:
        """The loop that everything goes through; locals, because it is."""
        text, pieces, memory, missing = self.text, self.pieces, self.translator.memory, self
        look_up, is_name = self.translator.look_up, _IS_NAME
        for token in self.translator.pattern(text).finditer(text):
            group = token.lastindex
            if group is None:
                continue
            if group < WORD:
                self._other(group, token)
                continue
            start, end = token.span()
            while is_name[text[start - 1]]:
                start -= 1
            word = text[start:end]
            new = memory.get(word, missing)
            if new is missing:
                new = look_up(word)
            if new is None or start < self.position or start < self.silent_until:
                continue
            if new.__class__ is bytes:
                if text[start - 1] in _OPEN and _is_seen_by_python(text, start):
                    continue
                pieces.append(text[self.position : start])
                pieces.append(new)
                self.position = end
                self.replacements += 1
            else:
                self._special(word, new, start, end)

    def _special(self, word: bytes, answer: object, start: int, end: int) -> None:
        name = word.decode("utf-8", "surrogateescape")
        if isinstance(answer, str):
            place = Place(self.text, start, end, self.position, self.translator.reached)
            change = CONTEXTS[answer](answer, place)
            if change is not None:
                self._change(change, name)
        elif isinstance(answer, Answer):
            new = None if answer.name is None else answer.name.encode()
            self._change(Change(start, end, new, answer.reason), name)

    def _change(self, change: Change, name: str) -> None:
        if change.reason:
            self.notes.add(change.start, UNPORTED if change.new is None else CHECK, name, change.reason)
        if change.new is None or change.new == self.text[change.start : change.end] or change.start < self.position:
            return
        self.pieces += (self.text[self.position : change.start], change.new)
        self.position = change.end
        self.replacements += 1

    def _other(self, group: int, token: re.Match[bytes]) -> None:
        if group == STRING:
            literal = token[0]
            if strings.concerns(literal):
                self._string(token.start(), literal)
        elif group in (ASSEMBLER, ASSEMBLER_TOO):
            instruction = ptx(self.text, token.end())
            if instruction is not None:
                self.notes.add(token.start(), UNPORTED, instruction, NO_PTX)
        elif group == MESSAGE:
            self._message(token)
        elif group in (HEADER, ASKED, DIGRAPH):
            self._header(token.start(group), token[group])
        elif group == RAW and strings.is_program(token[RAW]):
            self._program(token.start(RAW), token[RAW])

    def _message(self, token: re.Match[bytes]) -> None:
        """What #error and #warning say is text."""
        start = token.start()
        if not self.text[self.text.rfind(b"\n", 0, start) : start].strip(b" \t\v\f\n" + _BOM):
            rest = _REST_OF_LINE.match(self.text, token.end())
            self.silent_until = rest.end() if rest else token.end()

    def _string(self, start: int, literal: bytes) -> None:
        if self.resolve is not None and _RENAMED_PATH.fullmatch(literal) and self._is_definition(start):
            self._header(start, literal)
            return
        change = strings.string(self.text, start, literal, self.translator.names)
        if change is not None:
            self._change(change, literal.decode("utf-8", "replace"))

    def _is_definition(self, start: int) -> bool:
        """Whether all that a macro stands for begins here: `#define KERNEL "kernel.cuh"`, for `#include KERNEL`."""
        return _DEFINED.search(self.text[max(0, start - 160) : start]) is not None

    def _header(self, start: int, literal: bytes) -> None:
        path = literal[1:-1].decode("utf-8", "surrogateescape")
        answer = self.translator.names.header(path)
        local = self.resolve(path, literal[:1] == b'"') if self.resolve is not None else None
        if local is not None:
            self._change(Change(start + 1, start + len(literal) - 1, local.encode("utf-8", "surrogateescape")), path)
        elif answer is not None:
            new = None if answer.name is None else answer.name.encode()
            self._change(Change(start + 1, start + len(literal) - 1, new, answer.reason), path)

    def _program(self, start: int, program: bytes) -> None:
        """A kernel in a raw string."""
        ported = self.translator.port(program, self.resolve)
        lines = self.text.count(b"\n", 0, start) - 1
        self.inner += [moved(each, lines) for each in ported.findings]
        self._change(Change(start, start + len(program), ported.text), "")

    def _has_split_words(self) -> bool:
        return (b"\\\n" in self.text or b"\\\r\n" in self.text) and _SPLIT.search(self.text) is not None

    def _report_split_words(self) -> None:
        """Names that go on after a backslash at the end of a line stay, for to join them would move lines."""
        for found in _SPLIT.finditer(self.text):
            start = found.start()
            while _IS_NAME[self.text[start - 1]]:
                start -= 1
            whole = _SPLIT_WORD.match(self.text, start)
            if whole is None:
                continue
            name = re.sub(rb"\\\r?\n", b"", whole[0]).decode("utf-8", "surrogateescape")
            if name in CONTEXTS or self.translator.names.identifier(name) is not None:
                self.notes.add(start, UNPORTED, name, "written over two lines")
