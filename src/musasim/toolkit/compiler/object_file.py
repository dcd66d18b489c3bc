"""Reads what an object file of a 64-bit ELF system defines and refers to, and gives its symbols other names.

Only tables are written: the new symbol table and its names stand at the end of the file, and everything else keeps its place.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from musasim.errors import MusasimBuildError

# ELF's layout of a section and a symbol, and its numbers for kinds of them.
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_SYMTAB, _RELA, _GROUP, _SYMTAB_SHNDX = 2, 4, 17, 18
_IS_LOADED = 0x2
_EXTENDED, _RESERVED = 0xFFFF, 0xFF00
_GLOBAL, _WEAK = 1, 2
_HIDDEN, _PROTECTED = 2, 3


@dataclass(frozen=True)
class _Section:
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


@dataclass(frozen=True)
class Symbol:
    """A line of the symbol table. `section` is 0 if the file only refers to it, and large for absolute ones."""

    name: str
    section: int
    binding: int
    visibility: int
    raw: tuple[int, int, int, int, int, int]

    @property
    def is_weak(self) -> bool:
        return self.binding == _WEAK and self.section != 0

    @property
    def is_protected(self) -> bool:
        return self.visibility == _PROTECTED and self.section != 0 and self.binding in (_GLOBAL, _WEAK)


class ObjectFile:
    """An object file in memory. Symbols and sections are named by their numbers."""

    def __init__(self, path: Path) -> None:
        self._data = bytearray(path.read_bytes())
        if self._data[:6] != b"\x7fELF\x02\x01":
            raise MusasimBuildError(f"{path}: expected an object file of a 64-bit, little-endian ELF system")
        self._header_offset = struct.unpack_from("<Q", self._data, 0x28)[0]
        self._sections = list(self._read_sections())
        self._table = self._first(_SYMTAB)
        self._extended = self._numbers_of(self._first(_SYMTAB_SHNDX))
        self.symbols = list(self._read_symbols())

    def _read_sections(self) -> Iterator[_Section]:
        count = struct.unpack_from("<H", self._data, 0x3C)[0]
        if count == 0:  # too many for the header, so that the first one tells
            count = _SECTION.unpack_from(self._data, self._header_offset)[5]
        for number in range(count):
            yield _Section(*_SECTION.unpack_from(self._data, self._header_offset + number * _SECTION.size))

    def _content(self, section: _Section) -> memoryview:
        return memoryview(self._data)[section.offset : section.offset + section.size]

    def _first(self, kind: int) -> int:
        """Return the number of the first section of a kind, or that of the empty section, 0, where there is none."""
        return next((number for number, section in enumerate(self._sections) if section.kind == kind), 0)

    def _numbers_of(self, number: int) -> tuple[int, ...]:
        """Return a section's content: numbers of four bytes. The empty section's entry may say how many sections there are."""
        content = self._content(self._sections[number]) if number else b""
        return struct.unpack(f"<{len(content) // 4}I", content)

    def _read_symbols(self) -> Iterator[Symbol]:
        if self._table == 0:
            return
        table = self._sections[self._table]
        names = bytes(self._content(self._sections[table.link]))
        for number, raw in enumerate(_SYMBOL.iter_unpack(self._content(table))):
            name = names[raw[0] : names.index(0, raw[0])].decode(errors="surrogateescape")
            section = self._extended[number] if raw[3] == _EXTENDED else raw[3]
            yield Symbol(name, section, raw[1] >> 4, raw[2] & 3, raw)

    def references(self) -> dict[int, set[int]]:
        """Return the symbols that each section of the program refers to."""
        references: dict[int, set[int]] = defaultdict(set)
        for section in self._sections:
            if section.kind == _RELA and self._sections[section.info].flags & _IS_LOADED:
                entries = _RELOCATION.iter_unpack(self._content(section))
                references[section.info].update(entry[1] >> 32 for entry in entries)
        return references

    def groups(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield the symbol by which the linker knows each group of sections that it keeps once, and the group's sections."""
        for number, section in enumerate(self._sections):
            if section.kind == _GROUP:
                yield section.info, self._numbers_of(number)[1:]

    def rename(self, names: dict[int, str], kept: Iterable[int]) -> None:
        """Give symbols other names, which no other file sees; those of `kept` can be found by their old names as well."""
        table, strings = self._sections[self._table], self._sections[self._sections[self._table].link]
        text = bytearray(self._content(strings))
        entries = bytearray(self._content(table))
        for number, name in names.items():
            raw = self.symbols[number].raw
            _SYMBOL.pack_into(entries, number * _SYMBOL.size, len(text), raw[1], raw[2] & ~3 | _HIDDEN, *raw[3:])
            text += name.encode(errors="surrogateescape") + b"\0"
        olds = list(kept)
        for number in olds:
            entries += _SYMBOL.pack(*self.symbols[number].raw)
        self._move(self._table, entries)
        self._move(table.link, text)
        self._extend([self.symbols[number].section for number in olds])

    def _extend(self, sections: list[int]) -> None:
        """Tell the sections of new symbols in the table that there is where two bytes are too few for one."""
        if self._extended:
            told = [*self._extended, *(section if section >= _RESERVED else 0 for section in sections)]
            self._move(self._first(_SYMTAB_SHNDX), struct.pack(f"<{len(told)}I", *told))

    def _move(self, number: int, content: bytes | bytearray) -> None:
        """Put a section's new content at the end of the file."""
        self._data += b"\0" * (-len(self._data) % 8)
        moved = replace(self._sections[number], offset=len(self._data), size=len(content))
        self._sections[number] = moved
        self._data += content
        place = self._header_offset + number * _SECTION.size
        _SECTION.pack_into(self._data, place, *(getattr(moved, name) for name in _Section.__dataclass_fields__))

    def write(self, path: Path) -> None:
        """Write all of it, or leave no file: half of one would be newer than its source, and builds would take it."""
        try:
            path.write_bytes(self._data)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
