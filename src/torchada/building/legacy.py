"""What builds asked of torchada 0.1: porting a text, and porting a folder where it is."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from torchada.building.errors import BuildError
from torchada.porting import Names, PortingError, Project, port_source
from torchada.porting.scan import MANIFEST, SKIPPED, SOURCES
from torchada.porting.translate import Resolve

_OWN = (".mu", ".muh")


def port_text(text: str, names: Mapping[str, str] | None = None) -> str:
    """The CUDA source `text` for MUSA; `names` are further names, which stay unless they are in the text as words of their own."""
    ported = port_source(text.encode("utf-8", "surrogateescape"), _rules(names)).text
    return ported.decode("utf-8", "surrogateescape")


def _rules(names: Mapping[str, str] | None) -> Project:
    return Project(names={name: new for name, new in (names or {}).items() if name.isidentifier()})


def port_in_place(folder: str | os.PathLike[str], names: Mapping[str, str] | None = None) -> str:
    """Port the sources below `folder` where they are, under the names that they have; returns the real path of `folder`.

    `names` are as for `port_text`. A second call changes nothing. BuildError for a source that is a link, or that cannot be
    ported; nothing is written then.
    """
    top = os.path.realpath(folder)
    if not os.path.isdir(top):
        raise BuildError(f"{top}: no such folder")
    sources = _sources(top)
    kept = _kept({os.path.basename(path) for path, _ in sources})
    try:
        ported = [(path, data, port_source(data, _rules(names), kept).text) for path, data in sources]
    except PortingError as error:
        raise BuildError(f"cannot be ported: {error}") from error
    for path, old, new in ported:
        if new != old:
            _replace(path, new)
    return top


def _sources(top: str) -> list[tuple[str, bytes]]:
    sources = []
    for folder, inner, names in os.walk(top):
        inner[:] = [name for name in inner if name not in SKIPPED]
        if MANIFEST in names:  # the porter wrote these
            inner[:] = []
            continue
        for name in sorted(names):
            if os.path.splitext(name)[1] in SOURCES and not name.endswith(_OWN):
                sources.append((os.path.join(folder, name), _read(os.path.join(folder, name))))
    return sources


def _kept(files: set[str]) -> Resolve:
    """Includes of the folder's own files stay as they are, because the files keep their names."""
    names = Names()

    def resolve(path: str, is_quoted: bool) -> str | None:
        is_cudas = "/" not in path and names.header(path) is not None
        return None if is_cudas or os.path.basename(path) not in files else path

    return resolve


def _read(path: str) -> bytes:
    if os.path.islink(path):
        raise BuildError(
            f"{path}: a symlinked CUDA/C++ source is not ported in place; what it leads to may be somebody else's"
        )
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise BuildError(f"{path}: {error.strerror}") from error


def _replace(path: str, text: bytes) -> None:
    handle, new = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".torchada-")
    with os.fdopen(handle, "wb") as stream:
        stream.write(text)
    os.chmod(new, os.stat(path).st_mode)
    os.replace(new, path)
