"""The few strings that a program depends on as code. Every other string is text, and stays.

Translated are a device given to the constructor of `Device`, the names of libraries and functions given to what looks them up at
run time, and whole kernels in raw strings, which are compiled at run time. Reported are other strings that name a device, an
architecture or a kernel.
"""

from __future__ import annotations

import re

from torchada.porting.contexts import FURTHEST, Change
from torchada.porting.names import Names
from torchada.porting.rules.build import LINKED_LIBRARIES

_DEVICE = re.compile(rb'"cuda(:\d{1,3})?"')
_CONSTRUCTED = re.compile(rb"(?<!\w)Device\s*(?:\w+\s*)?[({]\s*\Z")
_COMPARED = re.compile(rb"(?:[!=]=|[(,={]|return)\s*\Z")
_LIBRARY = re.compile(rb'"(?:lib)(\w+)\.so((?:\.\d+)*)"')
_OPENED = re.compile(rb"(?<!\w)(?:dlopen|dlmopen)\s*\((?:[^;{}()]*,)?\s*\Z")
_SYMBOL = re.compile(rb'"(_*(?:cu|nccl|nv)\w+)"')
_LOOKED_UP = re.compile(
    rb"(?<!\w)(?:dlsym|dlvsym|cuGetProcAddress\w*|cudaGetDriverEntryPoint\w*|GetProcAddress)\s*\((?:[^;{}]*,)?\s*\Z"
)
_ARCHITECTURE = re.compile(rb"(?:sm|compute)_\d\d")
_KERNEL = re.compile(rb"__global__|#[ \t]*include[ \t]*<cu")


def is_program(text: bytes) -> bool:
    """Whether what a raw string holds is a source for a compiler."""
    return _KERNEL.search(text) is not None


def concerns(literal: bytes) -> bool:
    """Whether `string` can have anything to say of it; quick."""
    return b"cu" in literal or b"nccl" in literal or b"nv" in literal or b"sm_" in literal or b"__global__" in literal


def string(text: bytes, start: int, literal: bytes, names: Names) -> Change | None:
    """What is to be done with the string literal that begins at `start`."""
    end = start + len(literal)
    before = text[max(0, start - FURTHEST) : start]
    device = _DEVICE.fullmatch(literal)
    if device is not None:
        if _CONSTRUCTED.search(before):
            return Change(start, end, b'"musa%b"' % (device[1] or b""))
        return Change(start, end, literal, "the name of a device in a string") if _COMPARED.search(before) else None
    found = (
        _library(literal) if _OPENED.search(before) else _symbol(literal, names) if _LOOKED_UP.search(before) else None
    )
    if found is not None:
        return Change(start, end, found)
    if _ARCHITECTURE.search(literal) and b"-" in literal:
        return Change(start, end, literal, "an option with an architecture of NVIDIA's in a string")
    if is_program(literal):
        return Change(start, end, literal, "a program in an ordinary string")
    return None


def _library(literal: bytes) -> bytes | None:
    found = _LIBRARY.fullmatch(literal)
    name = LINKED_LIBRARIES.get(found[1].decode()) if found else None
    # The versions of MUSA's libraries are their own, so the name goes without.
    return b'"lib%b.so"' % name.encode() if name else None


def _symbol(literal: bytes, names: Names) -> bytes | None:
    found = _SYMBOL.fullmatch(literal)
    answer = names.identifier(found[1].decode()) if found else None
    return b'"%b"' % answer.name.encode() if answer and answer.name else None
