"""The few strings that a program depends on as code. Every other string is text, and stays.

Translated are a device given to the constructor of `Device`, the names of libraries and functions given to what looks them up at
run time, and whole kernels in raw strings, which are compiled at run time. Reported are other strings that name a device, an
architecture or a kernel.
"""

from __future__ import annotations

import re

from torchada.porting.by_context import Change
from torchada.porting.names import Names
from torchada.porting.rules.build import LINKED_LIBRARIES
from torchada.porting.source import Source, statement

_DEVICE = re.compile(rb'"cuda(:\d{1,3})?"')
_CONSTRUCTED = re.compile(rb"(?<!\w)Device\s*(?:\w+\s*)?[({]\s*\Z")
_COMPARED = (b"(", b",", b"=", b"{", b"return")
_LIBRARY = re.compile(rb'"(?:lib)(\w+)\.so((?:\.\d+)*)"')
_OPENED = re.compile(rb"(?<!\w)(?:dlopen|dlmopen)\s*\Z")
_SYMBOL = re.compile(rb'"(_*(?:cu|nccl|nv)\w+)"')
_LOOKS_UP = rb"(?<!\w)(?:dlsym|dlvsym|cuGetProcAddress\w*|cudaGetDriverEntryPoint\w*|GetProcAddress)"
_LOOKED_UP = re.compile(_LOOKS_UP + rb"\s*\(")
_LOOKED_UP_FIRST = re.compile(_LOOKS_UP + rb"\Z")
_ARCHITECTURE = re.compile(rb"(?:sm|compute)_\d\d")
_KERNEL = re.compile(rb"__global__|#[ \t]*include[ \t]*<cu")


def is_program(text: bytes) -> bool:
    """Whether what a raw string holds is a source for a compiler."""
    return _KERNEL.search(text) is not None


def concerns(literal: bytes) -> bool:
    """Whether `string` can have anything to say of it; quick."""
    return b"cu" in literal or b"nccl" in literal or b"nv" in literal or b"sm_" in literal or b"__global__" in literal


def string(source: Source, start: int, literal: bytes, names: Names) -> Change | None:
    """What is to be done with the string literal that begins at `start`."""
    end = start + len(literal)
    before = source.before(start)
    last = before.rstrip()[-1:]
    device = _DEVICE.fullmatch(literal)
    if device is not None:
        if last in (b"(", b"{") and _CONSTRUCTED.search(before):
            return Change(start, end, b'"musa%b"' % (device[1] or b""))
        is_compared = before.rstrip().endswith(_COMPARED)
        return Change(start, end, literal, "the name of a device in a string") if is_compared else None
    replacement = None
    if last in (b"(", b","):
        replacement = (
            _library(literal) if _is_opened(before) else _symbol(literal, names) if _is_sought(before, last) else None
        )
    if replacement is not None:
        return Change(start, end, replacement)
    if _ARCHITECTURE.search(literal) and b"-" in literal:
        return Change(start, end, literal, "an option with an architecture of NVIDIA's in a string")
    if is_program(literal):
        return Change(start, end, literal, "a program in an ordinary string")
    return None


def _is_opened(before: bytes) -> bool:
    """Whether this is an argument of dlopen, with no call among those before it."""
    call = statement(before, b";{})")
    return b"(" in call and _OPENED.search(call[: call.rindex(b"(")]) is not None


def _is_sought(before: bytes, last: bytes) -> bool:
    """Whether this is an argument of what looks functions up."""
    if last == b"(":
        return _LOOKED_UP_FIRST.search(before.rstrip()[:-1].rstrip()[-80:]) is not None
    return _LOOKED_UP.search(statement(before)) is not None


def _library(literal: bytes) -> bytes | None:
    match = _LIBRARY.fullmatch(literal)
    name = LINKED_LIBRARIES.get(match[1].decode()) if match else None
    # The versions of MUSA's libraries are their own, so the name goes without.
    return b'"lib%b.so"' % name.encode() if name else None


def _symbol(literal: bytes, names: Names) -> bytes | None:
    match = _SYMBOL.fullmatch(literal)
    answer = names.identifier(match[1].decode()) if match else None
    return b'"%b"' % answer.name.encode() if answer and answer.name else None
