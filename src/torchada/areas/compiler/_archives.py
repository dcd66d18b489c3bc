"""Archives of TorchScript with devices renamed: those in the code, those of constants, and the locations of tensors.

Devices are text there: `torch.device("cuda:0")` in the code, the argument of `torch.device` and the ids of storages in pickles.
"""

from __future__ import annotations

import io
import pickletools
import re
import zipfile
from collections.abc import Iterator
from typing import Any

_CODE, _PICKLE = ".py", ".pkl"
# Below the archive's own folder: what a program has put in as `_extra_files`, whatever the names say that it is.
_OF_THE_PROGRAM = "extra"


def renamed(archive: bytes, old: str, new: str) -> bytes:
    """A copy of `archive` in which devices of type `old` are of type `new`; the same object if there is none."""
    with zipfile.ZipFile(io.BytesIO(archive)) as source:
        changed = {
            entry.filename: _renamed_record(entry.filename, source.read(entry), old, new) for entry in _texts(source)
        }
        if all(source.read(name) == data for name, data in changed.items()):
            return archive
        result = io.BytesIO()
        with zipfile.ZipFile(result, "w") as target:
            for entry in source.infolist():
                data = changed.get(entry.filename)
                target.writestr(entry.filename, source.read(entry) if data is None else data)
    return result.getvalue()


def mentions(archive: zipfile.ZipFile, name: str) -> bool:
    """Whether an archive may contain a device of type `name`: a cheap test that does not copy its tensors."""
    return any(name.encode() in archive.read(entry) for entry in _texts(archive))


def _texts(archive: zipfile.ZipFile) -> Iterator[zipfile.ZipInfo]:
    for entry in archive.infolist():
        if entry.filename.endswith((_CODE, _PICKLE)) and entry.filename.split("/")[1:2] != [_OF_THE_PROGRAM]:
            yield entry


def _renamed_record(file: str, data: bytes, old: str, new: str) -> bytes:
    if file.endswith(_CODE):
        call = rb'(torch\.device\(")%s((?::\d+)?"\))'
        return re.sub(call % re.escape(old.encode()), rb"\g<1>%s\g<2>" % new.encode(), data)
    for start, end, device in reversed(list(_devices(data))):
        if device.partition(":")[0] == old:
            text = (new + device[len(old) :]).encode()
            data = data[:start] + b"X" + len(text).to_bytes(4, "little") + text + data[end:]
    return data


def _devices(data: bytes) -> Iterator[tuple[int, int, str]]:
    """Start, end and text of every device, and of every storage's location: the fourth part of its persistent id.

    The pickler writes a text once and refers to it afterwards, so a device may be a reference, and an attribute with the same
    text may be, later in the pickle, a reference to a device.
    """
    pushed: list[tuple[int, int, Any]] = []  # what the pickle puts on its stack: start, end and value
    memo: dict[object, object] = {}
    operations = [(opcode.name, argument, position or 0) for opcode, argument, position in pickletools.genops(data)]
    for (name, argument, start), (_, _, end) in zip(operations, [*operations[1:], ("", None, len(data))]):
        if name in ("BINPUT", "LONG_BINPUT"):
            memo[argument] = pushed[-1][2]
        elif name == "BINPERSID":
            yield pushed[-3]  # before the size and the tuple
        else:
            if name == "REDUCE" and pushed[-3][2] == "torch device":
                yield pushed[-2]  # its one argument, before the tuple
            pushed.append((start, end, memo.get(argument) if name in ("BINGET", "LONG_BINGET") else argument))
