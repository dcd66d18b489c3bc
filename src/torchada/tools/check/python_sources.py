"""Reads Python sources and notebooks: by their syntax tree, or line by line where there is none."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator

from torchada.report.answers import MEANINGS, SEVERITIES
from torchada.report.severity import NOTE
from torchada.tools.check import decode, models, nvidia, requirements, vendor_operators
from torchada.tools.check.classify import QUESTIONS, Source, Verdicts
from torchada.tools.check.collect import File, unread
from torchada.tools.check.findings import API, DEVICE, QUESTION, Finding, beginning
from torchada.tools.check.resolve import Reader
from torchada.tools.check.whole_project import WholeProject

# What has none of these cannot name CUDA, whatever it is called by: then its syntax is checked, and no more.
_SIGNS = (
    b"cuda", b"nccl", b"faiss", *vendor_operators.SIGNS, *models.SIGNS,
    b"triton", b"nv", b"cu", b"nsys", b"torch2trt", b"tensorrt", b"rmm",
    *(name.encode() for name in nvidia.PACKAGES),
)  # fmt: skip
_CYTHON = (".pyx", ".pxd")
# Where CUDA is named in a line that cannot be parsed. Comments are left out; strings are not told apart from code.
_NAMED = re.compile(
    r"\btorch\.(?:cuda|backends\.cuda|backends\.cudnn|version\.cuda)(?:\.\w+)*|\.cuda\(|[\"']cuda(?::\d+)?[\"']"
)


def read(file: File, data: bytes, project: WholeProject) -> Iterator[Finding]:
    """What the Python source with the contents `data` uses of CUDA, and asks of pip if it is a setup.py."""
    code, problem = decode.decode(data)
    lines = code.split("\n")
    project.python_lines += decode.count(code)
    if problem:
        yield unread(file.path, problem)
    module, problem = (None, "") if file.path.endswith(_CYTHON) else decode.parse(code)
    if module is None:
        if problem:
            why = f"it is no Python that this interpreter reads: {problem}; searched by lines"
            yield unread(file.path, why)
        yield from _by_lines(project.source(file, lines))
        return
    if os.path.basename(file.path) == "setup.py":
        yield from _of_setup(file.path, module, lines)
    if may_name_cuda(data):
        yield from _by_syntax(project.source(file, lines), module)


def may_name_cuda(data: bytes) -> bool:
    """Whether a source has anything by which it could name CUDA."""
    lower = data.lower()
    return any(sign in lower for sign in _SIGNS)


def _of_setup(path: str, module: ast.Module, lines: list[str]) -> list[Finding]:
    try:
        return list(requirements.of_setup(path, module, lines))
    except RecursionError:
        return [unread(path, "it is nested too deeply for its requirements to be read")]


def read_notebook(file: File, data: bytes, project: WholeProject) -> Iterator[Finding]:
    """The same for the code in a notebook's cells; places are those in its file."""
    try:
        code, line_of = decode.notebook(data)
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        yield unread(file.path, f"it is no notebook: {error}")
        return
    lines = code.split("\n")
    project.python_lines += decode.count(code)
    source = project.source(file, lines)._replace(line_of=line_of)
    module, problem = decode.parse(code)
    if module is None:
        yield unread(file.path, f"its cells are no Python that this interpreter reads: {problem}")
        yield from _by_lines(source)
    else:
        yield from _by_syntax(source, module)


def _by_syntax(source: Source, module: ast.Module) -> list[Finding]:
    verdicts = Verdicts(source)
    try:
        verdicts.module(module)
        Reader(verdicts).read(module)
    except RecursionError:
        return [unread(source.file, "it is nested too deeply; searched by lines"), *_by_lines(source)]
    return verdicts.findings


def _by_lines(source: Source) -> Iterator[Finding]:
    """What names CUDA in a source that cannot be parsed, found line by line and without aliases."""
    table = source.table
    for number, line in enumerate(source.lines, 1):
        code = line.partition("#")[0]
        for match in _NAMED.finditer(code):
            word = match[0]
            answer = table.find(word) if word.startswith("torch") else table.device
            if word == ".cuda(":
                answer = table.attributes["cuda"]
            if answer is None or word in table.modules:
                continue
            rule = DEVICE if word[0] in "\"'" else API
            answer = answer._replace(api='"cuda"') if rule == DEVICE else answer
            finding = Finding(
                rule,
                SEVERITIES[answer.kind],
                answer.api,
                MEANINGS[answer.kind],
                source.file,
                source.line_of(number),
                match.start() + 1,
                match.end() + 1,
                answer.kind,
                answer.to,
                source=beginning(line),
            )
            if answer.api in QUESTIONS:
                finding = finding._replace(rule=QUESTION, severity=NOTE, message=source.asked, view=source.view)
            yield finding
