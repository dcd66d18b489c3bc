"""Reads sources in C++ and CUDA: what the porter finds in them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from torchada.porting import UNPORTED, PortingError, Project, read_project
from torchada.porting.findings import Finding as Unclear
from torchada.porting.includes import renamed
from torchada.porting.workers import Porter
from torchada.report.severity import ERROR, WARNING
from torchada.tools.check.collect import HAS_NUL, File, unread
from torchada.tools.check.findings import SOURCE, Finding
from torchada.tools.check.whole_project import WholeProject

# What has none of these has nothing of CUDA, and may be no text at all.
_SIGNS = (b"cuda", b"CUDA", b"cublas", b"cudnn", b"nccl", b"__global__", b"__device__", b"<<<", b"cub::", b"thrust")


def read(file: File, data: bytes, project: WholeProject) -> Iterator[Finding]:
    """What the porter finds in the contents `data` of `file`."""
    if not any(sign in data for sign in _SIGNS):
        return
    if b"\0" in data:
        yield unread(file.path, HAS_NUL)
        return
    if file.root not in project.porters:
        yield from _make_porter(file.root, project)
    try:
        ported = project.porters[file.root].port(file.path, data, file.file)
    except (PortingError, RecursionError) as error:
        yield unread(file.path, str(error))
    else:
        yield from (_finding(file, unclear) for unclear in ported.findings)


def _make_porter(root: str, project: WholeProject) -> Iterator[Finding]:
    """Make the porter for the sources at `root`; the finding where the rules there cannot be read, and are left out."""
    try:
        rules = read_project(Path(root))
    except PortingError as error:
        yield unread("torchada-port.toml", str(error))
        rules = Project()
    files = [source.file for source in project.cuda_sources]
    targets = {source.path: renamed(source.path) for source in project.cuda_sources}
    project.porters[root] = Porter(rules.knowing(files), targets)


def _finding(file: File, unclear: Unclear) -> Finding:
    column = max(unclear.column, 1)
    return Finding(
        SOURCE,
        ERROR if unclear.kind == UNPORTED else WARNING,
        unclear.name,
        unclear.reason,
        file.path,
        max(unclear.line, 1),
        column,
        column + len(unclear.name),
        source=unclear.source,
    )
