"""What is for NVIDIA's devices in the files around a project's sources: scripts of the shell, CMake, compositions of containers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchada.report.explanations import address
from torchada.report.severity import ERROR, NOTE
from torchada.tools.check import nvidia, requirements, variables
from torchada.tools.check.collect import File
from torchada.tools.check.findings import BUILD, PROGRAM, Finding
from torchada.tools.check.whole_project import WholeProject

# Every look ahead ends somewhere: from each of many beginnings in one line, it would go to the end of the line.
_COMMAND = re.compile(
    r"(?:^|[;&|(`]|\b(?:then|do|else|exec|sudo|time))\s*(?:\w{1,99}=\S{0,300}\s{1,80}){0,20}(?:\S{0,300}/)?"
    rf"({'|'.join(nvidia.PROGRAMS)})(?=\s|$|[;&|)`])"
)
_ASSIGNED = re.compile(rf"(?:^|[;&]|\bexport)\s*({variables.NAME.pattern})=")
_CMAKE = (
    re.compile(r"\benable_language\s*\(\s*CUDA\b", re.IGNORECASE),
    re.compile(r"\bproject\s*\([^)]{0,500}\bCUDA\b", re.IGNORECASE),
    re.compile(r"\bfind_package\s*\(\s*CUDA(?:Toolkit)?\b", re.IGNORECASE),
)
_CMAKE_ADVICE = f"it takes the nvcc that stands in for the vendor's compiler ({address('how-to/extensions.md#cmake')})"
_OF_CONTAINERS = (
    (
        re.compile(r"\bimage:\s*[\"']?((?=\S{0,400}?(?:nvidia|cuda))[^\s\"']{1,400})[\"']?\s*$"),
        "an image with CUDA; the container needs one of the vendor's",
    ),
    (re.compile(r"\b(runtime:\s*[\"']?nvidia)\b"), "NVIDIA's runtime of containers; the vendor has one of its own"),
    (re.compile(r"\b(driver:\s*[\"']?nvidia)\b"), "NVIDIA's devices are reserved; the vendor has a runtime of its own"),
)


def read_script(file: File, data: bytes, project: WholeProject) -> Iterator[Finding]:
    """Programs of NVIDIA's, variables and requirements in a script of the shell."""
    text = _text(data)
    for number, line in _lines(text, "#"):
        for match in _COMMAND.finditer(line):
            need = nvidia.PROGRAMS[match[1]]
            yield _at(file, number, line, match, Finding(PROGRAM, need.severity, match[1], need.advice, ""))
        for match in _ASSIGNED.finditer(line):
            if variables.is_known(match[1]):
                yield _at(file, number, line, match, variables.of(match[1]), 1)
    yield from requirements.of_commands(file, text, project)


def read_cmake(file: File, data: bytes, project: WholeProject) -> Iterator[Finding]:
    """Where CMake is asked for CUDA."""
    for number, line in _lines(_text(data), "#"):
        for pattern in _CMAKE:
            if match := pattern.search(line):
                yield _at(
                    file,
                    number,
                    line,
                    match,
                    Finding(BUILD, NOTE, match[0].split("(")[0] + "(CUDA)", _CMAKE_ADVICE, ""),
                )


def read_containers(file: File, data: bytes, project: WholeProject) -> Iterator[Finding]:
    """Images, runtimes and devices in a composition of containers."""
    for number, line in _lines(_text(data), "#"):
        for pattern, advice in _OF_CONTAINERS:
            if match := pattern.search(line):
                yield _at(file, number, line, match, Finding(BUILD, ERROR, match[1], advice, ""), 1)


def _text(data: bytes) -> str:
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n")


def _lines(text: str, comment: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.lstrip().startswith(comment):
            yield number, line


def _at(file: File, number: int, line: str, match: re.Match[str], finding: Finding, group: int = 0) -> Finding:
    column, end = match.start(group) + 1, match.end(group) + 1
    return finding._replace(file=file.path, line=number, column=column, end=end, source=line.strip()[:200])
