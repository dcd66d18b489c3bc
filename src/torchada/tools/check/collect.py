"""The files of a project, and what of it cannot be looked at. Nothing is followed out of the project, and nothing twice."""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torchada.porting.scan import SKIPPED, SOURCES
from torchada.report.severity import NOTE, WARNING
from torchada.tools.check.findings import UNREADABLE, Finding

PYTHON, NOTEBOOK, CUDA, REQUIREMENTS = "python", "notebook", "cuda", "requirements"
SCRIPT, CMAKE, CONTAINERS, MODEL = "script", "cmake", "containers", "model"
MOST_BYTES = 16 << 20
HAS_NUL = "it is not a text, for it has a NUL byte"
_PYTHON = (".py", ".pyw", ".pyx", ".pxd")
_REQUIREMENTS = (
    "*requirements*.txt", "*requirements*.in", "*constraints*.txt", "requirements/*.txt", "pyproject.toml", "setup.cfg", "Pipfile",
    "uv.lock", "poetry.lock", "pdm.lock", "pixi.lock", "pixi.toml",
    "*environment*.yml", "*environment*.yaml", "conda*.yml", "conda*.yaml", "meta.yaml", "*Dockerfile*", "*.dockerfile",
)  # fmt: skip
_BY_NAME = (
    (SCRIPT, ("*.sh", "*.bash", "*.slurm", "*.sbatch")),
    (CMAKE, ("CMakeLists.txt", "*.cmake")),
    (CONTAINERS, ("*compose*.yml", "*compose*.yaml")),
    (MODEL, ("config.json",)),
)
_SKIPPED = SKIPPED | {".venv", ".nox", ".eggs", "node_modules", ".ipynb_checkpoints", ".idea", ".vscode"}


class File(NamedTuple):
    """A file: its path as it is shown, below the root that was given; where to read it; what it is; its root."""

    path: str
    file: str
    kind: str
    root: str


class Tree(NamedTuple):
    """What there is to look at, and what cannot be."""

    files: list[File]
    problems: list[Finding]


def collect(roots: Sequence[str], exclude: Sequence[str] = ()) -> Tree:
    """The files at `roots`, which exist; paths are relative to their root, with its name before them where there are several."""
    tree = Tree([], [])
    for root in roots:
        top = os.path.realpath(root)
        prefix = f"{os.path.basename(top)}/" if len(roots) > 1 and os.path.isdir(top) else ""
        if os.path.isdir(top):
            for path, file in _walk(top, "", top, {top}, tree.problems, prefix):
                if not _is_excluded(path, exclude):
                    _sort_in(File(prefix + path, file, _kind(path), top), tree)
        else:
            name = os.path.basename(top)
            _sort_in(File(name, top, _kind(name) or PYTHON, os.path.dirname(top)), tree)
    return tree


def _walk(
    folder: str, below: str, top: str, seen: set[str], problems: list[Finding], prefix: str
) -> Iterator[tuple[str, str]]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        problems.append(unread(prefix + (below.rstrip("/") or "."), f"this folder cannot be read: {error.strerror}"))
        return
    for entry in entries:
        path = below + entry.name
        if not _is_folder(entry):
            outside = _outside(entry, top)
            if outside:
                problems.append(unread(prefix + path, outside, NOTE))
            else:
                yield path, entry.path
        elif entry.name not in _SKIPPED and not _is_environment(entry.path):
            real = os.path.realpath(entry.path)
            if real in seen or not (real + os.sep).startswith(top + os.sep):
                if real not in seen:
                    problems.append(unread(prefix + path, _leads_out(real), NOTE))
                continue
            seen.add(real)
            yield from _walk(entry.path, f"{path}/", top, seen, problems, prefix)


def _outside(entry: os.DirEntry[str], top: str) -> str:
    """Why a file is not read, if it is a link out of the project."""
    real = os.path.realpath(entry.path) if entry.is_symlink() and _kind(entry.name) else top + os.sep
    return "" if real.startswith(top + os.sep) else _leads_out(real)


def _leads_out(real: str) -> str:
    return f"this link leads out of the project, to {_home(real)}"


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def _is_environment(folder: str) -> bool:
    return os.path.isfile(os.path.join(folder, "pyvenv.cfg"))


def _sort_in(file: File, tree: Tree) -> None:
    if not file.kind:
        return
    try:
        status = os.stat(file.file)
    except OSError as error:
        tree.problems.append(unread(file.path, f"it cannot be read: {error.strerror}"))
        return
    if stat.S_ISREG(status.st_mode):
        tree.files.append(file)
    else:
        tree.problems.append(unread(file.path, "it is neither a file nor a folder"))


def _kind(path: str) -> str:
    name = os.path.basename(path)
    if name.endswith(_PYTHON):
        return PYTHON
    if name.endswith(".ipynb"):
        return NOTEBOOK
    if os.path.splitext(name)[1] in SOURCES:
        return CUDA
    for kind, globs in _BY_NAME:
        if any(fnmatch.fnmatch(name, glob) for glob in globs):
            return kind
    tail = "/".join(path.split("/")[-2:])
    return (
        REQUIREMENTS
        if any(fnmatch.fnmatch(candidate, glob) for glob in _REQUIREMENTS for candidate in (name, tail))
        else ""
    )


def _is_excluded(path: str, patterns: Sequence[str]) -> bool:
    parts = path.split("/")
    heads = ["/".join(parts[: number + 1]) for number in range(len(parts))]
    return any(fnmatch.fnmatchcase(head, pattern.rstrip("/")) for pattern in patterns for head in heads)


def read(file: File, most: int = MOST_BYTES) -> bytes | Finding:
    """The contents, or the finding that they cannot be read. What only ends as a source in C++ does may be no text."""
    try:
        # A pipe that stands there by now, or a file of the kernel's that has nothing to say yet, must not keep us waiting.
        with open(file.file, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as stream:
            data = stream.read(most + 1) or b""
    except OSError as error:
        return unread(file.path, f"it cannot be read: {error.strerror}")
    if len(data) > most:
        return unread(file.path, f"it has more than {most >> 20} MiB")
    if file.kind != CUDA and b"\0" in data:
        return unread(file.path, HAS_NUL)
    return data


def unread(path: str, why: str, severity: str = WARNING, line: int = 1) -> Finding:
    """The finding that something could not be looked at, or not as a whole."""
    return Finding(UNREADABLE, severity, os.path.basename(path), why, path, line)


def _home(path: str) -> str:
    home = os.path.expanduser("~")
    return f"~{path[len(home) :]}" if home != "/" and path.startswith(home + os.sep) else path
