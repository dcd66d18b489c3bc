"""Keeps the device code of each file apart.

Device code that is not relocatable is linked within its own file: two files of a library may have different functions, classes and
variables of the same name. The host's linker would keep one copy for all files of what may be defined in several (inline
functions, templates, constructors, lambdas, vtables, variables that are inline, templates', or static within such functions), and
refuse the second definition of anything else. Therefore what kernels reach gets a name of its own once the file is compiled.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from musasim.toolkit.compiler.object_file import ObjectFile

# How the object file tells a function of the device alone from the others: nobody else asks for this visibility.
MARK = '__attribute__((visibility("protected")))'
# What finds all that a kernel reaches: the linker's copies are told apart by section.
SECTIONS = ("-ffunction-sections", "-fdata-sections")

# Parts of the names that the rewriter gives a kernel's own things: the closure of its body, and what the runtime knows of it.
_OF_KERNELS = ("18musasim_parameters", "musasim_self")
# What a kernel calls for itself as a function of the host. Another file may launch it, by its name.
_ASKED = "musasim_asked"


def keep_apart(object_file: Path, text: str) -> None:
    """Rename the device's symbols in an object file that was compiled from `text`."""
    compiled = ObjectFile(object_file)
    suffix = hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:12]
    own, shown = _own(compiled)
    if own:
        compiled.rename({number: f"{compiled.symbols[number].name}.{suffix}" for number in own}, shown)
        compiled.write(object_file)


def _own(compiled: ObjectFile) -> tuple[list[int], list[int]]:
    """Return the symbols that are the file's own, and those of them that files of the host may ask for by name."""
    references = compiled.references()
    groups = list(compiled.groups())
    kernels = _kernels(compiled, references)
    reached = kernels | _reached(compiled, references, groups)
    own = {number for number, symbol in enumerate(compiled.symbols) if symbol.is_protected}
    own |= {number for number, symbol in enumerate(compiled.symbols) if symbol.is_weak and symbol.section in reached}
    shown = sorted(number for number in own if not compiled.symbols[number].is_protected)
    signatures = {signature for signature, sections in groups if not reached.isdisjoint(sections)}
    return sorted(own | signatures), shown


def _kernels(compiled: ObjectFile, references: dict[int, set[int]]) -> set[int]:
    """Return the sections of kernels, and of functions that kernels were inlined into."""
    asked = {number for number, symbol in enumerate(compiled.symbols) if symbol.name == _ASKED}
    return {section for section, numbers in references.items() if not asked.isdisjoint(numbers)}


def _reached(
    compiled: ObjectFile, references: dict[int, set[int]], groups: Iterable[tuple[int, tuple[int, ...]]]
) -> set[int]:
    """Return the sections of all that device code calls and reads."""
    together = {section: sections for _, sections in groups for section in sections}
    waiting = [symbol.section for symbol in compiled.symbols if _is_of_device(symbol.name) or symbol.is_protected]
    reached: set[int] = {0}
    while waiting:
        section = waiting.pop()
        if section not in reached:
            reached.add(section)
            waiting += together.get(section, ())
            waiting += [compiled.symbols[number].section for number in references.get(section, ())]
    return reached


def _is_of_device(name: str) -> bool:
    return any(part in name for part in _OF_KERNELS)
