"""Keeps the device functions of each file apart.

Device code that is not relocatable is linked within its own file. So two files of a library may have different functions, or
classes, of the same name. The host's linker would keep one copy of each inline function for all files, or refuse the second
definition. Therefore these functions get names of their own once the file is compiled.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

# How the object file tells a device function from the others: nobody else asks for this visibility.
MARK = '__attribute__((visibility("protected")))'


def keep_apart(compiler: Sequence[str], object_file: str, text: str) -> None:
    """Rename the marked symbols of an object file that was compiled from `text`.

    Raises CalledProcessError if the compiler's readelf or objcopy fails.
    """
    listing = subprocess.run([_tool(compiler, "readelf"), "-sW", object_file], stdout=subprocess.PIPE, check=True)
    names = sorted(set(_marked(listing.stdout.decode(errors="surrogateescape").splitlines())))
    if names:
        suffix = hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:12]
        table = Path(object_file + ".names")
        table.write_text("".join(f"{name} {name}.{suffix}\n" for name in names), errors="surrogateescape")
        try:
            subprocess.run([_tool(compiler, "objcopy"), f"--redefine-syms={table}", object_file], check=True)
        finally:
            table.unlink()


def _tool(compiler: Sequence[str], name: str) -> str:
    """Return the program of binutils that belongs to the compiler."""
    asked = subprocess.run([*compiler, f"-print-prog-name={name}"], capture_output=True, text=True, check=True)
    return asked.stdout.strip() or name


def _marked(lines: Iterable[str]) -> Iterable[str]:
    """Yield the names of marked definitions: number, value, size, type, binding, visibility, section and name."""
    for line in lines:
        fields = line.split(None, 7)
        if len(fields) == 8 and fields[5] == "PROTECTED" and fields[4] in ("WEAK", "GLOBAL") and fields[6] != "UND":
            yield fields[7].strip()
