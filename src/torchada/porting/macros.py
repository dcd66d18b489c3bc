"""Macros of a project that make a device type or a dispatch key of an argument: `at::k##device` for REGISTER(op, CUDA, f).

The macro is often defined in another file than the one that uses it, so all headers of a tree are asked first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_MARKS = (b"k##", b"k ##", b"DeviceType::", b"DispatchKey::", b"LIBRARY_IMPL")
_HEADERS = (".h", ".hh", ".hpp", ".hxx", ".cuh", ".inl", ".inc", ".ipp", ".tpp", ".def")
_DEFINED = re.compile(rb"#[ \t]*define[ \t]+(\w{1,200})\(([^()\n]{1,400})\)((?:[^\\\n]|\\\r?\n|\\[^\r\n])*)")
_MADE = re.compile(
    rb"(?:(?<!\w)k[ \t]?##[ \t]?|(?<!\w)(?:DeviceType|DispatchKey|Backend)::"
    rb"|(?<!\w)(?:STABLE_)?TORCH_LIBRARY_IMPL\w{0,40}\([^,()]{0,100},\s{0,80})(\w{1,200})"
)


def device_macros(text: bytes) -> frozenset[str]:
    """The macros that `text` defines and that make a device type or a dispatch key of an argument."""
    if b"define" not in text or not any(map(text.__contains__, _MARKS)):
        return frozenset()
    return frozenset(macro[1].decode() for macro in _DEFINED.finditer(text) if _makes_device(macro[2], macro[3]))


def _makes_device(parameters: bytes, body: bytes) -> bool:
    names = {name.strip() for name in parameters.split(b",")}
    return any(made[1] in names for made in _MADE.finditer(body))


def of_files(files: Iterable[str]) -> frozenset[str]:
    """Those of the headers among `files`. What cannot be read has none: whoever ports it says so."""
    macros: set[str] = set()
    for file in files:
        if not file.endswith(_HEADERS):
            continue
        try:
            with open(file, "rb") as stream:
                macros |= device_macros(stream.read())
        except OSError:
            continue
    return frozenset(macros)
