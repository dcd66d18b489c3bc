"""One pass over one source: names are replaced where they stand in code, and lines stay lines."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from torchada.porting import strings
from torchada.porting.by_context import CONTEXTS, Change
from torchada.porting.eigen import with_template
from torchada.porting.findings import CHECK, UNPORTED, Finding, Lines, Notes, Ported
from torchada.porting.includes import lost, lost_by
from torchada.porting.inline_assembly import statement
from torchada.porting.lexer import Lexer, end_of_line
from torchada.porting.names import Answer, Names
from torchada.porting.ptx import header_of
from torchada.porting.rules.dispatch import NAMING_MACROS
from torchada.porting.source import Position, Source
from torchada.porting.tokens import ASSEMBLER, CLOSED, MESSAGE, OPENED, RAW, STRING, WORD, Rare, rare_in, tokens
from torchada.porting.versions import REACHED

Resolve = Callable[[str, bool], str | None]
"""From an include path, and whether it stands in quotes, to the path of a file of the same tree; None where it is no such file."""

_BYTES = [bytes([value]) for value in range(256)]
_IS_NAME = [value >= 0x80 or _BYTES[value].isalnum() or value in b"_$" for value in range(256)]
_NAMING = tuple(macro.encode() for macro in NAMING_MACROS)
_OPEN = b"( \t\r\n"
_SPLIT = re.compile(rb"\\(?<=\w\\)\r?\n(?=\w)")
_SPLIT_WORD = re.compile(rb"[\w$\x80-\xff]*(?:\\\r?\n[\w$\x80-\xff]+)+")
_BEFORE_DIRECTIVE = b" \t\v\f\xef\xbb\xbf"  # with the mark that a file of UTF-8 may begin with
_LINE_FEED = 0x0A
_BRACKET = ord("(")
_APART = "a launch with blanks in its marks, which mcc does not read; they were joined"
_LONGEST_PATH = 4096  # Linux opens no longer one
_MOST_WORDS = 1 << 17  # which a translator remembers; a large project has some thousands
_DEEPEST = 4  # programs in raw strings in programs ...
_RENAMED_PATH = re.compile(rb'"[^"\n]+\.cuh?"')
_DEFINED = re.compile(rb"\n[ \t]*#[ \t]*define[ \t]+\w+[ \t]+\Z")


def _beginning(text: bytes, at: int) -> int:
    """Where the word begins that `at` is in."""
    while _IS_NAME[text[at - 1]]:
        at -= 1
    return at


def _is_seen_by_python(text: bytes, start: int) -> bool:
    """Whether the word at `start` names a module or a library of operators: PYBIND11_MODULE(name, m)."""
    if text[start - 1] != _BRACKET and text[start - 2] not in _OPEN:
        return False  # one blank behind another word, as before most names
    before = text[max(0, start - 64) : start].rstrip()
    return before.endswith(b"(") and before[:-1].rstrip().endswith(_NAMING)


@dataclass
class Translator:
    """The rules as they apply to one project: `names`, the newest CUDA_VERSION that MUSA counts as, and the macros of the project
    that make a device type of an argument."""

    names: Names = field(default_factory=Names)
    reached: int = REACHED
    device_macros: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self._patterns: dict[tuple[Rare, ...], re.Pattern[bytes]] = {}
        # What a word becomes, None for what stays; an Answer or a name where it takes more than that.
        self._memory: dict[bytes, bytes | Answer | str | None] = {}

    def port(self, data: bytes, resolve: Resolve | None = None, depth: int = 0) -> Ported:
        """The source `data` for MUSA. `resolve` knows the files that its includes may mean; `depth` raw strings are around it."""
        # The line feed in front makes the first line a line like any other.
        return _Pass(self, b"\n" + data, resolve, depth).result()

    def look_up(self, word: bytes) -> bytes | Answer | str | None:
        """What `word` becomes, by the memory that the pass reads first."""
        name = word.decode("utf-8", "surrogateescape")
        meaning: bytes | Answer | str | None
        if name in CONTEXTS and name not in self.names.keep and name not in self.names.own_words:
            meaning = name
        else:
            answer = self.names.identifier(name)
            meaning = (
                answer.name.encode("utf-8", "surrogateescape")
                if answer and answer.name is not None and not answer.reason
                else answer
            )
        if len(self._memory) >= _MOST_WORDS:
            self._memory.clear()
        self._memory[word] = meaning
        return meaning

    def pattern(self, text: bytes) -> re.Pattern[bytes]:
        """What finds the tokens of `text`."""
        rare = rare_in(text)
        pattern = self._patterns.get(rare)
        if pattern is None:
            pattern = self._patterns[rare] = tokens(self.names.own_words, self.names.own_prefixes, rare)
        return pattern

    @property
    def memory(self) -> dict[bytes, bytes | Answer | str | None]:
        return self._memory


class _Pass:
    def __init__(self, translator: Translator, text: bytes, resolve: Resolve | None, depth: int) -> None:
        self.translator = translator
        text, self.replacements = with_template(text)
        self.text = text
        self.source = Source(text, translator.reached, translator.device_macros)
        self.resolve = resolve
        self.depth = depth
        self.lines = Lines(text)
        self.pieces: list[bytes] = []
        self.position = 0
        self.silent_until = 0
        self.open_launches: list[int] = []
        self.notes = Notes()
        self.lost: dict[str, None] = {}

    def result(self) -> Ported:
        self._translate()
        for start in self.open_launches:
            self.notes.add(start, UNPORTED, "<<<", "nothing closes this launch")
        if self._has_split_words():
            self._report_split_words()
        self.lost.update(dict.fromkeys(lost_by(self.text)))
        if not self.replacements:
            return Ported(self.text[1:], self._findings(), lost=tuple(self.lost))
        self.pieces.append(self.text[self.position :])
        return Ported(b"".join(self.pieces)[1:], self._findings(), self.replacements, lost=tuple(self.lost))

    def _findings(self) -> tuple[Finding, ...]:
        return tuple(self.notes.located(self.text)) if self.notes else ()

    def _translate(self) -> None:
        """The loop that everything goes through; locals, because it is."""
        text, pieces, memory, missing = self.text, self.pieces, self.translator.memory, self
        look_up, is_name, source = self.translator.look_up, _IS_NAME, self.source
        for group, start, end in Lexer(self.translator.pattern(text), text):
            if group < WORD:
                self._other(group, start, end)
                continue
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
                if new in source.values and word in source.values:
                    continue  # a constant for each of the two: renamed, the first would be the second
                pieces.append(text[self.position : start])
                pieces.append(new)
                self.position = end
                self.replacements += 1
            else:
                self._special(word, new, start, end)

    def _special(self, word: bytes, answer: object, start: int, end: int) -> None:
        if isinstance(answer, str):  # the word itself
            position = Position(self.source, start, end, self.position)
            change = CONTEXTS[answer](answer, position)
            if change is not None:
                self._change(change, answer)
        elif isinstance(answer, Answer):
            new = None if answer.name is None else answer.name.encode("utf-8", "surrogateescape")
            self._change(Change(start, end, new, answer.reason), word.decode("utf-8", "surrogateescape"))

    def _change(self, change: Change, name: str) -> None:
        if change.reason:
            self.notes.add(change.start, UNPORTED if change.new is None else CHECK, name, change.reason)
        if change.new is None or change.new == self.text[change.start : change.end] or change.start < self.position:
            return
        if change.header is not None:
            self.lost[change.header] = None
        self.pieces += (self.text[self.position : change.start], change.new)
        self.position = change.end
        self.replacements += 1

    def _other(self, group: int, start: int, end: int) -> None:
        if group == STRING:
            literal = self.text[start:end]
            if strings.concerns(literal):
                self._string(start, literal)
        elif group == ASSEMBLER:
            self._assembler(_beginning(self.text, start), end)
        elif group == MESSAGE:
            self._message(start, end)
        elif group in (OPENED, CLOSED):
            self._launch(group, start, end)
        elif group != RAW:
            self._header(start, self.text[start:end])
        elif self.depth < _DEEPEST and strings.is_program(self.text[start:end]):
            self._program(start, self.text[start:end])

    def _assembler(self, start: int, end: int) -> None:
        asm = None if start < self.position else statement(self.source, end)
        if asm is None:
            return
        if asm.expression is None:
            self.notes.add(start, UNPORTED, asm.instruction, asm.reason or "")
            return
        new = asm.expression
        self.lost.update(dict.fromkeys(header_of(new)))
        if self.translator.pattern(new).search(new) is not None:
            ported = self.translator.port(new, self.resolve, _DEEPEST)
            self.notes.add_inner(start, ported.findings, self.lines.before(start) - 1)
            new = ported.text
        self._change(Change(start, asm.end, new, asm.reason), asm.instruction)

    def _launch(self, group: int, start: int, end: int) -> None:
        """`k << <1, 1 >> >(p)`, as some formatters write it: nvcc reads it as a launch, and mcc does not."""
        if start < self.silent_until:
            return
        if group == OPENED:
            if self.source.before(start).rstrip().endswith(b"operator"):
                return
            self.open_launches.append(start)
        elif not self.open_launches:
            return
        else:
            self.open_launches.pop()
        mark = self.text[start : start + 1] * 3
        if end - start > len(mark):
            joined = mark + self.text[start + 2 : end - 1]
            self._change(Change(start, end, joined, _APART if group == OPENED else None), "<<<")

    def _message(self, start: int, end: int) -> None:
        """What #error and #warning say is text."""
        if start < self.silent_until:
            return
        before = start - 1
        while self.text[before] in _BEFORE_DIRECTIVE:
            before -= 1
        if self.text[before] == _LINE_FEED:
            self.silent_until = end_of_line(self.text, end)

    def _string(self, start: int, literal: bytes) -> None:
        if self.resolve is not None and _RENAMED_PATH.fullmatch(literal) and self._is_definition(start):
            self._header(start, literal)
            return
        change = strings.string(self.source, start, literal, self.translator.names)
        if change is not None:
            self._change(change, literal.decode("utf-8", "replace"))

    def _is_definition(self, start: int) -> bool:
        """Whether all that a macro stands for begins here: `#define KERNEL "kernel.cuh"`, for `#include KERNEL`."""
        return _DEFINED.search(self.text[max(0, start - 160) : start]) is not None

    def _header(self, start: int, literal: bytes) -> None:
        if len(literal) > _LONGEST_PATH:
            return
        path = literal[1:-1].decode("utf-8", "surrogateescape")
        answer = self.translator.names.header(path)
        local = self.resolve(path, literal[:1] == b'"') if self.resolve is not None else None
        if local is not None:
            self._change(Change(start + 1, start + len(literal) - 1, local.encode("utf-8", "surrogateescape")), path)
        elif answer is not None:
            new = None if answer.name is None else answer.name.encode("utf-8", "surrogateescape")
            self._change(Change(start + 1, start + len(literal) - 1, new, answer.reason), path)
            self.lost.update(dict.fromkeys(lost().get(path, ())))

    def _program(self, start: int, program: bytes) -> None:
        """A kernel in a raw string."""
        ported = self.translator.port(program, self.resolve, self.depth + 1)
        self.notes.add_inner(start, ported.findings, self.lines.before(start) - 1)
        self._change(Change(start, start + len(program), ported.text), "")

    def _has_split_words(self) -> bool:
        return b"\\" in self.text and _SPLIT.search(self.text) is not None

    def _report_split_words(self) -> None:
        """Names that go on after a backslash at the end of a line stay, for to join them would move lines."""
        reported = 0
        for split in _SPLIT.finditer(self.text):
            start = split.start()
            if start < reported:
                continue
            start = _beginning(self.text, start)
            whole = _SPLIT_WORD.match(self.text, start)
            if whole is None:
                continue
            reported = whole.end()
            name = re.sub(rb"\\\r?\n", b"", whole[0]).decode("utf-8", "surrogateescape")
            if name in CONTEXTS or self.translator.names.identifier(name) is not None:
                self.notes.add(start, UNPORTED, name, "written over two lines")
