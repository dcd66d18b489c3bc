"""Puts a project's sources into a folder, builds it there by its own setup.py, and compares the sources before and after."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from outside.projects.table import HERE, Project, Source


@dataclass(frozen=True)
class Built:
    """`changed` names sources that are no longer what they were, or are gone; `stops` is the first error of a build that failed."""

    code: int
    seconds: float
    sources: int
    changed: tuple[str, ...]
    stops: str


def unpack(project: Project, mirror: Path | None, folder: Path) -> Path:
    """The folder with the project's sources. What is there already stays, so that a build can go on."""
    if not (folder / ".complete").exists():
        for source in project.sources:
            place = folder / source.at
            place.mkdir(parents=True, exist_ok=True)
            _extract(_repository(source, mirror, folder.parent), source, place)
        (folder / ".complete").touch()
    return folder


def _repository(source: Source, mirror: Path | None, beside: Path) -> Path:
    """A git directory that has the commit: of a folder OWNER+NAME/repo or OWNER/NAME below `mirror`, or fetched."""
    owner, name = source.github.split("/")
    if mirror is not None:
        places = (mirror / f"{owner}+{name}" / "repo", mirror / owner / name)
        found = next((place for place in places if place.exists()), None)
        if found is None:
            raise SystemExit(f"{mirror} has no repository of {source.github}: expected {places[0]} or {places[1]}")
        return found
    place = beside / ".repositories" / f"{owner}+{name}"
    if not place.exists():
        subprocess.run(["git", "init", "-q", "--bare", place], check=True)
    url = f"https://github.com/{source.github}"
    subprocess.run(["git", "-C", place, "fetch", "-q", "--depth=1", url, source.commit], check=True)
    return place


def _extract(repository: Path, source: Source, place: Path) -> None:
    archive = subprocess.Popen(
        ["git", "-C", repository, "archive", source.commit, *source.paths], stdout=subprocess.PIPE
    )
    subprocess.run(["tar", "-x", "-C", place], stdin=archive.stdout, check=True)
    if archive.wait():
        raise SystemExit(f"{repository} has no commit {source.commit}")


def environment(project: Project, folder: Path) -> dict[str, str]:
    """The user's environment, without settings of ours that could change the result, and with the project's."""
    mine = {name: value for name, value in os.environ.items() if not name.startswith(("TORCHADA_", "MUSASIM_"))}
    kept = {name: os.environ[name] for name in ("TORCHADA_NATIVE", "MUSASIM_MEMCHECK") if name in os.environ}
    path = [str(folder / project.folder / each) for each in project.path]
    beside = [str(HERE.parent.parent)] if project.only else []  # where partly.py is found
    python = os.pathsep.join(filter(None, [*path, *beside, mine.get("PYTHONPATH", "")]))
    # Without debugging information, PyTorch's headers compile in two thirds of the time. NDEBUG is among the flags of Python's
    # that CFLAGS replaces.
    cheap = {"MAX_JOBS": "1", "CFLAGS": "-g0 -DNDEBUG", "CXXFLAGS": "-g0 -DNDEBUG", "NVCC_APPEND_FLAGS": "-O1"}
    return {**cheap, **mine, **kept, "TORCHADA_SIMULATE": "1", "PYTHONPATH": python, **_part(project), **project.env}


def _part(project: Project) -> dict[str, str]:
    return {"OUTSIDE_ONLY": os.pathsep.join(project.only)} if project.only else {}


def build(project: Project, folder: Path, log: Path) -> Built:
    """Run the project's own setup.py, or CMake."""
    before, since = checksums(folder), time.monotonic()
    env = environment(project, folder)
    with log.open("wb") as output:
        for command in _commands(project, folder, env):
            done = subprocess.run(
                command, cwd=folder / project.folder, env=env, stdout=output, stderr=subprocess.STDOUT
            )
            if done.returncode:
                break
    after = checksums(folder)
    changed = tuple(name for name, digest in before.items() if after.get(name) != digest)
    stops = first_error(log.read_text(encoding="utf-8", errors="replace")) if done.returncode else ""
    return Built(done.returncode, time.monotonic() - since, len(before), changed, stops)


def _commands(project: Project, folder: Path, env: dict[str, str]) -> list[list[str]]:
    """Python's arguments, or CMake's. After "cmake", `env` gets the compiler of the language CUDA; "torchada" finds it itself."""
    first, *given = project.build
    if first not in ("cmake", "torchada"):
        return [[sys.executable, *(["-m", "outside.projects.partly"] if project.only else []), *project.build]]
    arguments = [each.format(folder=folder.resolve(), python=sys.executable) for each in given]
    build = ["cmake", "--build", "build", "-j", env["MAX_JOBS"]]
    if first == "torchada":
        return [[sys.executable, "-m", "torchada", "build", "cmake", "-S", ".", "-B", "build", *arguments], build]
    asked = [sys.executable, "-c", "from torch.utils.cpp_extension import CUDA_HOME; print(CUDA_HOME)"]
    home = subprocess.run(asked, env=env, capture_output=True, text=True, check=True).stdout.split()[-1]
    env["CUDACXX"] = f"{home}/bin/nvcc"
    return [["cmake", "-S", ".", "-B", "build", *arguments], build]


def first_error(text: str) -> str:
    """The first line of a compiler or of Python that says what is wrong."""
    lines = [line.strip() for line in text.splitlines()]
    signs = (": error:", ": fatal error:", "undefined reference", "Error: ", "error: ")
    found = (line for sign in signs for line in lines if sign in line)
    return next(found, lines[-1] if lines else "")[:300]


def checksums(folder: Path) -> Mapping[str, str]:
    """Of every file of the sources, not of what a build makes: by the list that was taken first."""
    listed = folder / ".sources"
    if not listed.exists():
        names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
        listed.write_text("\n".join(name for name in names if name != ".complete"), encoding="utf-8")
    names = listed.read_text(encoding="utf-8").splitlines()
    return {name: _digest(folder / name) for name in names}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "none"
