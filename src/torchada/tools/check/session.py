"""Checks a project: every file by what it is. Nothing of it is run or imported."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from torchada.porting import UNPORTED, PortingError, Project, read_project
from torchada.porting.includes import renamed
from torchada.porting.workers import Porter
from torchada.report.severity import ERROR, SEVERITIES, WARNING
from torchada.tools.check import collect, decode, nvidia, requirements
from torchada.tools.check.classify import Source, Verdicts
from torchada.tools.check.findings import SOURCE, Finding
from torchada.tools.check.resolve import Reader
from torchada.tools.check.views import View, Views

# What has none of these cannot name CUDA, whatever it is called by: then its syntax is checked, and no more.
_SIGNS = (
    b"cuda",
    b"nccl",
    b"triton",
    b"nv",
    b"cu",
    b"nsys",
    b"torch2trt",
    b"tensorrt",
    b"rmm",
    *(name.encode() for name in nvidia.PACKAGES),
)
_OF_CUDA = (b"cuda", b"CUDA", b"cublas", b"cudnn", b"nccl", b"__global__", b"__device__", b"<<<", b"cub::", b"thrust")


@dataclass
class Result:
    """What came of a check: `lines` are those of Python sources, `seconds` is how long it took."""

    roots: list[str]
    findings: list[Finding] = field(default_factory=list)
    views: list[View] = field(default_factory=list)
    files: dict[str, int] = field(default_factory=dict)
    lines: int = 0
    seconds: float = 0.0

    @property
    def worst_first(self) -> list[Finding]:
        return sorted(self.findings, key=lambda each: SEVERITIES.index(each.severity))


def check(roots: Sequence[str], exclude: Sequence[str] = ()) -> Result:
    """Check the folders and files `roots`, which must exist; `exclude` are patterns of paths to leave out."""
    started = time.perf_counter()
    found = collect.collect(roots, exclude)
    result = Result(list(roots), list(found.problems))
    checker = _Checker(found.files, result)
    for file in found.files:
        result.files[file.kind] = result.files.get(file.kind, 0) + 1
        checker.check(file)
    result.findings.sort(key=lambda each: (each.file, each.line, each.column))
    result.views = sorted(checker.views())
    result.seconds = time.perf_counter() - started
    return result


class _Checker:
    """Checks the files of one project, one after the other."""

    def __init__(self, files: Sequence[collect.File], result: Result) -> None:
        self._result = result
        self._views = Views(files)
        self._sources = {file.path: renamed(file.path) for file in files if file.kind == collect.CUDA}
        self._files = [file.file for file in files if file.kind == collect.CUDA]
        self._porters: dict[str, Porter] = {}

    def views(self) -> Iterable[View]:
        return self._views.decided

    def check(self, file: collect.File) -> None:
        data = collect.read(file)
        if isinstance(data, Finding):
            self._result.findings.append(data)
            return
        if file.kind == collect.CUDA:
            self._add(self._of_source(file, data))
        elif b"\0" in data:
            self._add([collect.unread(file.path, "it is not a text, for it has a NUL byte")])
        elif file.kind == collect.REQUIREMENTS:
            decoded = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
            asked = requirements.findings(file.path, decoded)
            self._add(each for each in asked if not self._is_own(each.name))
        elif file.kind == collect.NOTEBOOK:
            self._add(self._of_notebook(file, data))
        else:
            self._add(self._of_python(file, data))

    def _add(self, findings: Iterable[Finding]) -> None:
        self._result.findings += findings

    def _is_own(self, distribution: str) -> bool:
        return distribution.replace("-", "_").lower() in self._views.own

    def _source(self, file: collect.File, lines: Sequence[str]) -> Source:
        view = self._views.of(file)
        return Source(file.path, lines, view.sees_cuda, view.why, self._views.own)

    def _of_python(self, file: collect.File, data: bytes) -> list[Finding]:
        decoded = decode.decode(data)
        lines = decoded.text.split("\n")
        self._result.lines += len(lines)
        found = [collect.unread(file.path, decoded.problem)] if decoded.problem else []
        if file.path.endswith((".pyx", ".pxd")):
            return [*found, *decode.by_lines(self._source(file, lines))]
        module, problem = decode.parse(decoded.text)
        if module is None:
            found.append(
                collect.unread(file.path, f"it is no Python that this interpreter reads: {problem}; searched by lines")
            )
            return [*found, *decode.by_lines(self._source(file, lines))]
        if os.path.basename(file.path) == "setup.py":
            found += requirements.of_setup(file.path, module, lines)
        small = data.lower()
        if not any(sign in small for sign in _SIGNS):
            return found
        verdicts = Verdicts(self._source(file, lines))
        try:
            verdicts.module(module)
            Reader(verdicts).read(module)
        except RecursionError:
            found.append(collect.unread(file.path, "it is nested too deeply; searched by lines"))
            return [*found, *decode.by_lines(self._source(file, lines))]
        return [*found, *verdicts.findings]

    def _of_notebook(self, file: collect.File, data: bytes) -> list[Finding]:
        try:
            code, place = decode.notebook(data)
        except (ValueError, AttributeError, TypeError, RecursionError) as error:
            return [collect.unread(file.path, f"it is no notebook: {error}")]
        lines = code.split("\n")
        module, problem = decode.parse(code)
        self._result.lines += len(lines)
        if module is None:
            found = [each._replace(line=place(each.line)) for each in decode.by_lines(self._source(file, lines))]
            return [
                collect.unread(file.path, f"its cells are no Python that this interpreter reads: {problem}"),
                *found,
            ]
        verdicts = Verdicts(self._source(file, lines), place)
        verdicts.module(module)
        Reader(verdicts).read(module)
        return verdicts.findings

    def _of_source(self, file: collect.File, data: bytes) -> list[Finding]:
        """What the porter finds in a source in C++ or CUDA."""
        if not any(sign in data for sign in _OF_CUDA):
            return []
        if b"\0" in data:
            return [collect.unread(file.path, "it is not a text, for it has a NUL byte")]
        try:
            ported = self._porter(file.root).port(file.path, data, file.file)
        except (PortingError, RecursionError) as error:
            return [collect.unread(file.path, str(error))]
        return [
            Finding(
                SOURCE,
                ERROR if each.kind == UNPORTED else WARNING,
                each.name,
                each.reason,
                file.path,
                max(each.line, 1),
                max(each.column, 1),
                max(each.column, 1) + len(each.name),
                source=each.source,
            )
            for each in ported.findings
        ]

    def _porter(self, root: str) -> Porter:
        if root not in self._porters:
            from pathlib import Path

            try:
                project = read_project(Path(root))
            except PortingError as error:
                self._add([collect.unread("torchada-port.toml", str(error))])
                project = Project()
            self._porters[root] = Porter(project.knowing(self._files), self._sources)
        return self._porters[root]
