"""MUSASIM_PRECOMPILED_HEADERS=1: compiles the headers that sources begin with once, and keeps the result, which is large.

Where the variable is not set, those that are kept are used, and no others are made. The text of the headers is preprocessed and
rewritten, so it says everything, besides the compiler and its options. For GCC alone.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from musasim.base import cache, settings
from musasim.errors import MusasimBuildError

VARIABLE = "MUSASIM_PRECOMPILED_HEADERS"
_ALWAYS, _AS_KEPT = "1", "auto"
# Less is compiled faster than a file of 25 times its size is compared with its checksum.
_LEAST_CHARACTERS = 4 << 20
_MOST_KEPT = 2
_NAME = "precompiled"
_FILE = "headers.gch"
_MARKER = re.compile(r'^# \d+ "((?:\\.|[^"\\])*)"( [12])?', re.MULTILINE)
_INSTALLED = {"site-packages", "dist-packages"}
# What the headers call the source, which then may have any name.
_ANY_SOURCE = "musasim-source"


class Beginning(NamedTuple):
    """Where the headers end that a source begins with, 0 without any; and the source's names there, as markers have them."""

    end: int
    names: list[str]


def beginning(text: str, main_file: str) -> Beginning:
    """Find the headers of preprocessed text. One of the source's own folder may change, and ends them.

    A source that was made from another one names that by `#line`, and all markers after it do so too.
    """
    names = [main_file.replace("\\", "\\\\").replace('"', '\\"')]
    end, is_main = 0, False
    begin = 0
    for marker in _MARKER.finditer(text):
        name, way = marker[1], marker[2]
        if is_main and text[begin : marker.start()].strip():
            break
        if is_main and way is None and name != names[-1] and not name.startswith("<"):
            names.append(name)
        elif is_main and name != names[-1] and any(_is_beside(name, main) for main in names):
            break
        is_main, begin = name == names[-1], text.find("\n", marker.end()) + 1
        if is_main and way == " 2":
            end = marker.start()
    return Beginning(end, names)


def _is_beside(file: str, main: str) -> bool:
    """Whether a header is of the source's own project. The compiler's own words, as <built-in>, are no files.

    A project may hold the virtual environment that it is built in; what is installed there is not its own.
    """
    if _INSTALLED.intersection(Path(file).parts):
        return False
    is_relative = not os.path.isabs(file) and not file.startswith("<")
    return is_relative or (os.path.isabs(main) and Path(main).parent in Path(file).parents)


def compile_with_headers(command: Sequence[str], text: str, main_file: str, folder: Path) -> bool:
    """Compile preprocessed `text` by `command`, which lacks the input, with headers that are compiled already or from now on.

    Returns False where nobody has asked for it, now or when the headers were compiled, and where an error is found: then the text
    is to be compiled as a whole.
    """
    if not _is_wanted():
        return False
    end, names = beginning(text, main_file)
    if end < _LEAST_CHARACTERS:
        return False
    options = _options(command)
    try:
        entry = _compiled(options, _of_any_source(text[:end], names))
    except (MusasimBuildError, OSError, subprocess.CalledProcessError):
        return False
    if entry is None:
        return False
    rest = folder / "after-headers.ii"
    # A marker that returns from a file that was never entered would be ignored.
    first, _, others = text[end:].partition("\n")
    lines = [f'#pragma GCC pch_preprocess "{entry / _FILE}"', first.removesuffix(" 2"), others]
    rest.write_text("\n".join(lines), encoding="utf-8", errors="surrogateescape")
    done = subprocess.run([*command, "-fpch-preprocess", str(rest)], stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        return False
    sys.stderr.buffer.write(done.stderr.replace(_ANY_SOURCE.encode(), os.fsencode(main_file)))
    sys.stderr.flush()
    return True


def _is_wanted() -> bool:
    asked = settings.value(VARIABLE, _AS_KEPT)
    try:
        return asked == _ALWAYS or (asked == _AS_KEPT and bool(_entries()))
    except (MusasimBuildError, OSError):
        return False


def _of_any_source(headers: str, names: list[str]) -> str:
    """The headers without the names of the source that they were taken from."""
    name = "|".join(map(re.escape, names))
    return re.sub(rf'^(# \d+ )"(?:{name})"', rf'\1"{_ANY_SOURCE}"', headers, flags=re.MULTILINE)


def _options(command: Sequence[str]) -> list[str]:
    """Return the compiler and what it compiles by, without the input's language and the output."""
    options = list(command)
    for word in ("-x", "-o"):
        while word in options:
            at = options.index(word)
            del options[at : at + 2]
    return [word for word in options if word != "-c"]


def _compiled(options: list[str], headers: str) -> Path | None:
    digest = hashlib.sha256(cache.LAYOUT + repr([_identity(options[0]), *options]).encode())
    digest.update(headers.encode(errors="surrogateescape"))
    name = f"{_NAME}-{digest.hexdigest()[:16]}"
    if settings.value(VARIABLE, _AS_KEPT) == _ALWAYS:
        entry: Path | None = cache.stored(name, partial(_compile, options, headers))
    else:
        entry = cache.found(name)
    if entry is not None:
        os.utime(entry)
        _remove_all_but_the_latest()
    return entry


def _identity(compiler: str) -> str:
    """Return what changes with another compiler of the same name."""
    path = Path(shutil.which(compiler) or compiler).resolve()
    return f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" if path.exists() else str(path)


def _compile(options: list[str], headers: str, place: Path) -> None:
    source = place / "headers.ii"
    source.write_text(headers, encoding="utf-8", errors="surrogateescape")
    command = [*options, "-x", "c++-header", "-fpreprocessed", str(source), "-o", str(place / _FILE)]
    subprocess.run(command, stderr=subprocess.DEVNULL, check=True)
    source.unlink()


def _remove_all_but_the_latest() -> None:
    """Each takes some hundred megabytes. A compiler that is about to read one that is removed compiles the text as a whole."""
    entries = _entries()
    entries.sort(key=lambda path: path.stat().st_mtime_ns if path.exists() else 0, reverse=True)
    for entry in entries[_MOST_KEPT:]:
        shutil.rmtree(entry, ignore_errors=True)


def _entries() -> list[Path]:
    return [path for path in cache.cache_path().glob(f"{_NAME}-*") if path.is_dir()]
