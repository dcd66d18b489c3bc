"""Checks a project: every file by the reader for its kind. Nothing of it is run or imported."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from torchada.report.text import counted
from torchada.tools.check import (
    builds,
    collect,
    cuda_sources,
    model_files,
    python_sources,
    releases,
    requirements,
    suppressions,
)
from torchada.tools.check.configuration import Configuration
from torchada.tools.check.dependencies import Dependencies
from torchada.tools.check.findings import Finding
from torchada.tools.check.views import View
from torchada.tools.check.whole_project import WholeProject

_Reader = Callable[[collect.File, bytes, WholeProject], Iterable[Finding]]
READERS: dict[str, _Reader] = {
    collect.PYTHON: python_sources.read,
    collect.NOTEBOOK: python_sources.read_notebook,
    collect.CUDA: cuda_sources.read,
    collect.REQUIREMENTS: requirements.read,
    collect.SCRIPT: builds.read_script,
    collect.CMAKE: builds.read_cmake,
    collect.CONTAINERS: builds.read_containers,
    collect.MODEL: model_files.read,
}

_FAULT = "its reader failed, which is a fault of torchada"


@dataclass
class Result:
    """What came of a check: `lines` are those of Python sources, `seconds` is how long it took.

    `accepted` is how many findings comments and the baseline have accepted; they are not among `findings`.
    `interrupted` says where Ctrl-C ended it, in words; it is empty otherwise. `release` is that of torch_musa whose answers count.
    """

    roots: list[str]
    findings: list[Finding] = field(default_factory=list)
    views: list[View] = field(default_factory=list)
    files: dict[str, int] = field(default_factory=dict)
    lines: int = 0
    seconds: float = 0.0
    accepted: int = 0
    interrupted: str = ""
    release: str = releases.NEWEST

    def accept(self, left: list[Finding]) -> None:
        """Keep the findings `left`; the others have been accepted."""
        self.accepted += len(self.findings) - len(left)
        self.findings = left


def check(
    roots: Sequence[str],
    exclude: Sequence[str] = (),
    configuration: Configuration | None = None,
    dependencies: Dependencies | None = None,
) -> Result:
    """Check the folders and files `roots`, which must exist; `exclude` are patterns of paths to leave out.

    `configuration` says which findings count; all of them, where there is none. `dependencies` are installed packages that are
    judged as well, through what the project calls of them.
    """
    wanted = configuration or Configuration()
    started = time.perf_counter()
    files, problems = collect.collect(roots, [*exclude, *wanted.exclude])
    release = wanted.torch_musa or releases.installed()
    project = WholeProject(files, release)
    readers = [_own, *([dependencies.findings] if dependencies is not None else [])]
    result = Result(list(roots), list(problems), release=release)
    try:
        for file in files:
            _read(file, project, wanted, result, readers)
            result.files[file.kind] = result.files.get(file.kind, 0) + 1
    except KeyboardInterrupt:
        done = sum(result.files.values())
        result.interrupted = f"after {done:,} of {counted(len(files), 'file')}"
        result.findings.append(collect.unread(".", f"interrupted {result.interrupted}: the others were not looked at"))
    result.findings = list(filter(wanted.counts, result.findings))
    result.findings.sort(key=lambda finding: (finding.file, finding.line, finding.column))
    result.views = sorted(project.views.decided)
    result.lines = project.python_lines
    result.seconds = time.perf_counter() - started
    return result


def _read(
    file: collect.File, project: WholeProject, wanted: Configuration, result: Result, readers: Sequence[_Reader]
) -> None:
    """Add what the readers find in the file and no comment in it accepts."""
    data = collect.read(file)
    if isinstance(data, Finding):
        result.findings.append(data)
        return
    findings = (finding for reader in readers for finding in _findings(reader, file, data, project))
    counting = filter(wanted.counts, findings)
    left, accepted = suppressions.apply(file.path, data, counting)
    result.findings += left
    result.accepted += accepted


def _own(file: collect.File, data: bytes, project: WholeProject) -> Iterable[Finding]:
    """What the reader for the file's kind finds."""
    return READERS[file.kind](file, data, project)


def _findings(reader: _Reader, file: collect.File, data: bytes, project: WholeProject) -> Iterator[Finding]:
    try:
        yield from reader(file, data, project)
    except Exception as error:  # one file must not hide what there is in the others
        yield collect.unread(file.path, f"{_FAULT}: {type(error).__name__}: {str(error)[:200]}")
