"""The program that ninja starts before the host's compiler: a source that begins with <torch/extension.h> gets it compiled already.

GCC itself refuses a compiled header that was made with other options or macros, and reads the plain one instead. What it does not
look at is looked at here: the compiler, each file that was read, and headers of PyTorch's names in folders that are searched first.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from torchada.building.environment import variable
from torchada.building.include_flags import included, of_environment

if TYPE_CHECKING:
    from _torchada_cache.cache import Cache
    from torchada.base.settings import Settings

HEADER = "torch/extension.h"
_CACHE = "headers"
_STAMPS = "files.json"
# Only comments and directives that declare nothing may come before it: GCC reads a compiled header first or not at all.
_BEGINS_WITH_IT = re.compile(
    rb'(?:\s|//[^\n]*\n|/\*.*?\*/|#[ \t]*(?:line|pragma[ \t]+once)\b[^\n]*\n)*#[ \t]*include[ \t]*[<"]torch/extension\.h[>"]',
    re.DOTALL,
)
_GCC = re.compile(r"(?:.*-)?[gc]\+\+(?:-[\d.]+)?")
# Of one source and its output; and the extension's name, which no header of PyTorch's mentions.
_APART = ("-c", "-MD", "-MMD", "-MP")
_APART_WITH_VALUE = ("-o", "-MF", "-MT", "-MQ")
_NAME = "-DTORCH_EXTENSION_NAME="
_SEARCHED = ("CPATH", "CPLUS_INCLUDE_PATH")
_NEEDED = 2 << 30  # bytes on the disk; a header takes a few hundred megabytes
_MOST_KEPT = 2


def is_wanted(settings: Settings) -> bool:
    """Whether the program is to be started: where that was asked for, or was at another time, and a header is kept since."""
    from torchada.base.caches import CacheError, cache

    if settings.precompiled_headers != "auto":
        return settings.precompiled_headers == "1"
    try:
        return bool(_entries(cache(_CACHE, settings.cache).folder))
    except (CacheError, OSError):
        return False


def main(_: str) -> int:
    """Become the compiler that this process's arguments name."""
    command = sys.argv[1:]
    folder = compiled(command)
    if folder is not None:
        command[1:1] = ["-I", folder]
    os.execvp(command[0], command)


def compiled(command: Sequence[str]) -> str | None:
    """The folder with the compiled header for `command`; None where it does not fit, or fails.

    If there is none it is made, but only where that is asked for: one takes hundreds of megabytes.
    """
    from torchada.base.caches import CacheError

    source = command[command.index("-c") + 1] if "-c" in command[:-1] else ""
    options = list(_of_header(command[1:]))
    compiler = shutil.which(command[0])
    if compiler is None or not _is_gcc(compiler) or not _begins_with_it(source):
        return None
    try:
        ahead = _ahead(options)
        return None if ahead is None else _kept([compiler, *options], ahead)
    except (CacheError, OSError, ValueError, subprocess.CalledProcessError):
        return None


def _of_header(options: Sequence[str]) -> Iterator[str]:
    """The options that decide what a header becomes."""
    rest = iter(options)
    for word in rest:
        if word in _APART_WITH_VALUE:
            next(rest, None)
        elif word == "-c":
            next(rest, None)  # and the source
        elif word not in _APART and not word.startswith(_NAME):
            yield word


def _is_gcc(compiler: str) -> bool:
    return _GCC.fullmatch(os.path.basename(os.path.realpath(compiler))) is not None


def _begins_with_it(source: str) -> bool:
    try:
        with open(source, "rb") as stream:
            return _BEGINS_WITH_IT.match(stream.read(1 << 16)) is not None
    except OSError:
        return False


def _ahead(options: Sequence[str]) -> list[str] | None:
    """The files of PyTorch's names in folders that are searched before PyTorch's own; None where that is not among them.

    Each may stand in the place of a header of PyTorch's, and one more of them may do so from now on.
    """
    folders = included([*options, *of_environment()])[0]
    of_torch = next((folder for folder in folders if os.path.isfile(os.path.join(folder, HEADER))), None)
    if of_torch is None:
        return None
    names = [name for name in os.listdir(of_torch) if os.path.isdir(os.path.join(of_torch, name))]
    ahead = [os.path.join(folder, name) for folder in folders for name in names if folder != of_torch]
    return sorted(os.path.join(top, name) for place in ahead for top, _, files in os.walk(place) for name in files)


def _kept(command: list[str], ahead: list[str]) -> str | None:
    from torchada.base import settings
    from torchada.base.caches import cache

    given = settings.read()
    headers = cache(_CACHE, given.cache)
    name = _key(command, ahead)
    entry = headers.find(name)
    if entry is not None and not _is_fresh(entry):
        headers.remove(name)
        entry = None
    if entry is None and given.precompiled_headers != "1":
        return None
    if entry is None and shutil.disk_usage(headers.folder).free < _NEEDED:
        raise OSError("the disk is nearly full")
    entry = entry or headers.get(name, partial(_compile, command))
    os.utime(entry)
    _remove_all_but_the_latest(headers)
    return str(entry)


def _key(command: Sequence[str], ahead: Sequence[str]) -> str:
    """What changes with the compiler, its options, and what else says where headers are."""
    from _torchada_cache import compilers

    here = "" if all(map(os.path.isabs, included([*command, *of_environment()])[0])) else os.getcwd()
    parts = json.dumps([command, compilers.identity(command[0]), here, ahead, *map(variable, _SEARCHED)])
    return hashlib.blake2b(parts.encode(errors="surrogateescape"), digest_size=12).hexdigest()


def _compile(command: Sequence[str], place: Path) -> None:
    """Compile the header, and write down the files that it consists of."""
    (place / "torch").mkdir()
    source, rules = place / "all.h", place / "all.d"
    source.write_text(f"#include <{HEADER}>\n", encoding="utf-8")
    dependencies = ["-MD", "-MF", str(rules), "-MT", "it"]
    target = place / f"{HEADER}.gch"
    compile_it = [*command, *dependencies, "-x", "c++-header", str(source), "-o", str(target)]
    subprocess.run(compile_it, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    files = set(_named(rules.read_text(encoding="utf-8", errors="surrogateescape"))) - {str(source)}
    (place / _STAMPS).write_text(json.dumps({file: _stamp(file) for file in sorted(files)}), encoding="utf-8")
    source.unlink()
    rules.unlink()


def _named(rule: str) -> Iterator[str]:
    """The files behind the colon of a rule for make."""
    for word in re.findall(r"(?:\\.|[^\s\\])+", rule.replace("\\\n", " "))[1:]:
        yield re.sub(r"\\(.)", r"\1", word).replace("$$", "$")


def _stamp(file: str) -> list[int]:
    status = os.stat(file)
    return [status.st_size, status.st_mtime_ns]


def _is_fresh(entry: Path) -> bool:
    """Whether the files that the header was compiled from are what they were."""
    stamps = json.loads((entry / _STAMPS).read_text(encoding="utf-8"))
    try:
        return all(_stamp(file) == stamp for file, stamp in stamps.items())
    except OSError:
        return False


def _remove_all_but_the_latest(headers: Cache) -> None:
    """A compiler that is about to read one that is removed reads the plain header."""
    entries = _entries(headers.folder)
    entries.sort(key=lambda path: path.stat().st_mtime_ns, reverse=True)
    for entry in entries[_MOST_KEPT:]:
        headers.remove(entry.name)


def _entries(folder: Path) -> list[Path]:
    """The headers that are kept."""
    paths = folder.iterdir() if folder.is_dir() else ()
    return [path for path in paths if re.fullmatch(r"[\da-f]{24}", path.name) and path.is_dir()]
