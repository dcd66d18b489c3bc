"""Port a source, a file or a tree."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from torchada.porting import project as projects
from torchada.porting.findings import UNPORTED, Finding, Ported, PortingError
from torchada.porting.includes import renamed
from torchada.porting.incremental import Previous, keep_time, key_of, record_of, take_over
from torchada.porting.manifest import Manifest, Record, write
from torchada.porting.output_folder import Place, locked, replacing
from torchada.porting.project import Project
from torchada.porting.scan import MOST_BYTES, Entry, apart, entries, single_entries
from torchada.porting.translate import Resolve, Translator
from torchada.porting.workers import (
    Job,
    Porter,
    digest,
    do,
    read,
    with_line_directive,
)

Roots = str | Path | Sequence[str | Path]


@dataclass(frozen=True)
class File:
    """A file of a ported tree: its path, what it is called now, what was found, and whether it was ported this time."""

    path: str
    target: str
    is_source: bool
    findings: tuple[Finding, ...] = ()
    replacements: int = 0
    is_new: bool = True


@dataclass(frozen=True)
class Tree:
    """A ported tree. `output` is None where nothing was written."""

    files: tuple[File, ...]
    output: Path | None = None
    seconds: float = 0.0
    size: int = 0
    texts: dict[str, tuple[bytes, bytes]] = field(default_factory=dict, repr=False)

    @property
    def findings(self) -> list[tuple[File, Finding]]:
        return [(file, finding) for file in self.files for finding in file.findings]

    @property
    def unported(self) -> list[tuple[File, Finding]]:
        return [pair for pair in self.findings if pair[1].kind == UNPORTED]


@dataclass(frozen=True)
class Plan:
    """What a run is about to write: the folder, how many sources it ports, and how many other files it copies."""

    output: Path
    sources: int
    copies: int


def _plan(inputs: Sequence[Entry], folder: Path) -> Plan:
    sources = sum(entry.is_source for entry in inputs)
    return Plan(folder, sources, len(inputs) - sources)


def port_source(
    data: bytes, project: Project | None = None, resolve: Resolve | None = None, origin: str | None = None
) -> Ported:
    """The source `data` for MUSA, line for line. Any bytes are accepted.

    `resolve` tells what to include instead of a path that is a file of the project's own; None leaves includes of unknown headers
    alone. With `origin`, a first line `#line 1 "origin"` makes compilers name that file in their messages.
    """
    translator = _plain() if project is None else project.translator()
    ported = translator.port(data, resolve)
    return ported if origin is None else with_line_directive(ported, origin)


@lru_cache(maxsize=1)
def _plain() -> Translator:
    return Project().translator()


def port_file(file: str | Path, project: Project | None = None, origin: str | None = None) -> Ported:
    """As `port_source`, for a file; includes of .cu and .cuh files that lie beside it are those of the ported ones, and headers
    that CUDA's bring along and their counterparts do not are included in first lines.

    PortingError where it cannot be read or is no text.
    """
    path = Path(file)
    data = read(str(path))
    try:
        beside = {entry.name: renamed(entry.name) for entry in os.scandir(path.parent) if entry.is_file()}
    except OSError as error:
        raise PortingError(f"{path.parent}: {error.strerror}") from error
    return Porter(project or Project(), beside).port(path.name, data, origin=origin)


def port_tree(
    roots: Roots,
    output: str | Path | None,
    project: Project | None = None,
    *,
    processes: int | None = None,
    only_sources: bool = False,
    lines: bool = False,
    most_bytes: int = MOST_BYTES,
    keep_texts: bool = False,
    force: bool = False,
    announce: Callable[[Plan], None] | None = None,
) -> Tree:
    """Port the trees, or files, at `roots` into the folder `output`; with None nothing is written and the result only told.

    Sources are ported (.cu becomes .mu, .cuh becomes .muh), all other files are copied unless `only_sources`. The folder appears
    as a whole or not at all; what has not changed since the last time is taken over. Of several roots, each gets a folder of its
    name. `project` has the rules of the project itself; by default they are read at the first root. With `lines`, every ported
    source begins with a #line directive. `keep_texts` keeps originals and results in `texts`. Files in the folder that are not as
    we wrote them are kept; where they would have to be replaced they are an error, unless with `force`. `announce` is told what
    will be written, before anything is. PortingError for what cannot be ported.
    """
    started, when = time.perf_counter(), time.time_ns()
    given = [Path(root) for root in ([roots] if isinstance(roots, (str, Path)) else roots)]
    rules = projects.read(given[0] if given[0].is_dir() else given[0].parent) if project is None else project
    folder = None if output is None else Path(os.path.abspath(output))
    inputs = _inputs(given, rules, most_bytes, folder, only_sources)
    rules = rules.knowing(entry.file for entry in inputs if entry.is_source)
    if folder is None:
        tree = _told(inputs, rules, lines, keep_texts)
    else:
        if announce is not None:
            announce(_plan(inputs, folder))
        tree = _written(inputs, rules, folder, processes or os.cpu_count() or 1, lines, when, force)
    return Tree(tree.files, folder, time.perf_counter() - started, tree.size, tree.texts)


def port_files(
    files: Sequence[str | Path],
    root: str | Path,
    output: str | Path,
    project: Project | None = None,
    *,
    processes: int | None = None,
    lines: bool = False,
) -> Tree:
    """As `port_tree`, for these files alone: all of them are sources, whatever their suffix, and keep their places below `root`.

    They may be links, and lead anywhere. `project` has no rules unless it is given.
    """
    started, when = time.perf_counter(), time.time_ns()
    rules = Project() if project is None else project
    folder, top = Path(os.path.abspath(output)), os.path.abspath(root)
    inputs = apart(single_entries(top, [os.path.abspath(file) for file in files], rules.exclude))
    rules = rules.knowing(entry.file for entry in inputs if entry.is_source)
    tree = _written(inputs, rules, folder, processes or os.cpu_count() or 1, lines, when)
    return Tree(tree.files, folder, time.perf_counter() - started, tree.size)


def _inputs(
    given: Sequence[Path], rules: Project, most_bytes: int, folder: Path | None, only_sources: bool
) -> list[Entry]:
    without = [] if folder is None else [folder]
    inputs: list[Entry] = []
    for root in given:
        if folder is not None and _is_within(root, folder):
            raise PortingError(f"{folder} holds what is to be ported; name another folder")
        prefix = f"{root.resolve().name}/" if len(given) > 1 and root.is_dir() else ""
        inputs += entries(root, rules.exclude, most_bytes, without, prefix, only_sources)
    return apart(inputs)


def _is_within(inner: Path, outer: Path) -> bool:
    real = os.path.realpath(outer)
    return os.path.commonpath([os.path.realpath(inner), real]) == real


def _targets(inputs: Sequence[Entry]) -> dict[str, str]:
    return {entry.path: entry.target for entry in inputs}


def ported(inputs: Sequence[Entry], rules: Project, lines: bool = False) -> Iterator[tuple[Entry, bytes, Ported]]:
    """Each source with its contents and its port, without writing anything."""
    porter = Porter(rules, _targets(inputs), lines)
    for entry in inputs:
        if entry.is_source:
            data = read(entry.file)
            yield entry, data, porter.port(entry.path, data, entry.file)


def _told(inputs: Sequence[Entry], rules: Project, lines: bool, keep_texts: bool) -> Tree:
    files, texts, size = [], {}, 0
    for entry, data, result in ported(inputs, rules, lines):
        files.append(File(entry.path, entry.target, True, result.findings, result.replacements))
        size += len(data)
        if keep_texts:
            texts[entry.path] = (data, result.text)
    files += [File(entry.path, entry.target, False) for entry in inputs if not entry.is_source]
    return Tree(tuple(sorted(files, key=lambda file: file.path)), size=size, texts=texts)


def _written(
    inputs: Sequence[Entry],
    rules: Project,
    folder: Path,
    processes: int,
    lines: bool,
    when: int,
    force: bool = False,
) -> Tree:
    real = Path(os.path.realpath(folder))  # where a link leads, the folder is replaced and the link stays
    with locked(real):
        return _brought_up_to_date(inputs, rules, real, processes, lines, when, force)


def _brought_up_to_date(
    inputs: Sequence[Entry], rules: Project, folder: Path, processes: int, lines: bool, when: int, force: bool
) -> Tree:
    key = key_of(rules, inputs, lines)
    previous = Previous(folder, key)
    same = {entry.path: record for entry in inputs if (record := previous.unchanged(entry)) is not None}
    if len(same) == len(inputs) == len(previous.records) and folder.exists():
        return _reported(inputs, same, set())
    place = Place(folder, previous.ours, frozenset(entry.target for entry in inputs))
    place.check(previous.is_known, force)
    records: dict[str, Record] = {}
    with replacing(place) as new:
        for directory in {os.path.dirname(entry.target) for entry in inputs}:
            (new / directory).mkdir(parents=True, exist_ok=True)
        for entry in inputs:
            if entry.path in same:
                take_over(folder / entry.target, new / entry.target)
                records[entry.path] = same[entry.path]
            elif not entry.is_source:
                records[entry.path] = keep_time(previous, new, _copied(entry, new / entry.target))
        changed = {entry.path: entry for entry in inputs if entry.is_source and entry.path not in same}
        jobs = [Job(entry.path, entry.file, str(new / entry.target)) for entry in changed.values()]
        for done in do(rules, _targets(inputs), jobs, processes, lines):
            entry = changed[done.path]
            os.chmod(new / entry.target, entry.mode | 0o200)
            record = record_of(entry, new / entry.target, done.digests, done.findings, done.replacements)
            records[done.path] = keep_time(previous, new, record)
        write(new, Manifest(key, when, records))
    return _reported(inputs, records, {entry.path for entry in inputs} - set(same))


def _copied(entry: Entry, output: Path) -> Record:
    shutil.copyfile(entry.file, output)
    os.chmod(output, entry.mode | 0o200)
    whole = digest(output.read_bytes())
    return record_of(entry, output, (whole, whole), (), 0)


def _reported(inputs: Sequence[Entry], records: dict[str, Record], new: set[str]) -> Tree:
    files = []
    for entry in inputs:
        record = records[entry.path]
        findings = tuple(Finding(*fields) for fields in record["findings"])
        files.append(
            File(entry.path, entry.target, entry.is_source, findings, record["replacements"], entry.path in new)
        )
    return Tree(tuple(files), size=sum(entry.stamp[2] for entry in inputs if entry.is_source))
