"""MUSASIM_PRECOMPILED_HEADERS=1: compiles the headers that sources begin with once, and keeps the result, which is large.

The text of the headers is preprocessed and rewritten, so it says everything, besides the compiler and its options. For GCC alone.
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

from musasim.base import cache, settings
from musasim.errors import MusasimBuildError

VARIABLE = "MUSASIM_PRECOMPILED_HEADERS"
# Less is compiled faster than a file of 25 times its size is compared with its checksum.
_LEAST_CHARACTERS = 4 << 20
_MOST_KEPT = 2
_NAME = "precompiled"
_FILE = "headers.gch"
_MARKER = re.compile(r'^# \d+ "((?:\\.|[^"\\])*)"( 2)?', re.MULTILINE)


def end_of_headers(text: str, main_file: str) -> int:
    """Return where the headers end that the source begins with, 0 without any. One of its own folder may change, and ends them."""
    main = main_file.replace("\\", "\\\\").replace('"', '\\"')
    end, is_main = 0, False
    begin = 0
    for marker in _MARKER.finditer(text):
        if is_main and text[begin : marker.start()].strip():
            break
        if is_main and marker[1] != main and _is_beside(marker[1], main):
            break
        is_main, begin = marker[1] == main, text.find("\n", marker.end()) + 1
        if is_main and marker[2]:
            end = marker.start()
    return end


def _is_beside(file: str, main: str) -> bool:
    """Whether a header is of the source's own project. The compiler's own words, as <built-in>, are no files."""
    is_relative = not os.path.isabs(file) and not file.startswith("<")
    return is_relative or (os.path.isabs(main) and Path(main).parent in Path(file).parents)


def compile_with_headers(command: Sequence[str], text: str, main_file: str, folder: Path) -> bool:
    """Compile preprocessed `text` by `command`, which lacks the input, with headers that are compiled already or from now on.

    Returns False where nobody has asked for it, and where an error is found: then the text is to be compiled as a whole.
    """
    end = end_of_headers(text, main_file)
    if end < _LEAST_CHARACTERS or not settings.is_on(VARIABLE):
        return False
    options = _options(command)
    try:
        headers = _compiled(options, text[:end]) / _FILE
    except (MusasimBuildError, subprocess.CalledProcessError):
        return False
    rest = folder / "after-headers.ii"
    # A marker that returns from a file that was never entered would be ignored.
    first, _, others = text[end:].partition("\n")
    lines = [f'#pragma GCC pch_preprocess "{headers}"', first.removesuffix(" 2"), others]
    rest.write_text("\n".join(lines), encoding="utf-8", errors="surrogateescape")
    done = subprocess.run([*command, "-fpch-preprocess", str(rest)], stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        return False
    sys.stderr.buffer.write(done.stderr)
    sys.stderr.flush()
    return True


def _options(command: Sequence[str]) -> list[str]:
    """Return the compiler and what it compiles by, without the input's language and the output."""
    options = list(command)
    for word in ("-x", "-o"):
        while word in options:
            at = options.index(word)
            del options[at : at + 2]
    return [word for word in options if word != "-c"]


def _compiled(options: list[str], headers: str) -> Path:
    digest = hashlib.sha256(cache.LAYOUT + repr([_identity(options[0]), *options]).encode())
    digest.update(headers.encode(errors="surrogateescape"))
    entry = cache.stored(f"{_NAME}-{digest.hexdigest()[:16]}", partial(_compile, options, headers))
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
    entries = [path for path in cache.cache_path().glob(f"{_NAME}-*") if path.is_dir()]
    entries.sort(key=lambda path: path.stat().st_mtime_ns if path.exists() else 0, reverse=True)
    for entry in entries[_MOST_KEPT:]:
        shutil.rmtree(entry, ignore_errors=True)
