"""Wheels, source distributions and the environments they are installed into. Nothing here needs a network."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from torchada import __version__

DIST_INFO = f"torchada-{__version__}.dist-info"
# The contents of the top of site-packages; start-up files are read there and nowhere else.
STARTUP = {"_torchada_startup.py", "torchada-init.pth", "torchada-init.start"}
TOP = {*STARTUP, "_torchada_cache", "torchada", "torch_battery", "torch_host", "musasim", DIST_INFO}
HOOKED = "any(type(finder).__module__ == '_torchada_startup' for finder in sys.meta_path)"
# Variables that could change what a fresh environment does.
_HIDDEN = ("TORCHADA_", "PYTHON", "VIRTUAL_ENV", "PIP_", "SOURCE_DATE_EPOCH")
MakeVenv = Callable[[], "Venv"]


def clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(_HIDDEN)}


def call(command: list[str], **options: Any) -> str:
    """stdout of a command that must succeed."""
    options = {"env": clean(), "timeout": 300, **options}
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        pytest.fail(f"{command}\n--- stdout\n{done.stdout}\n--- stderr\n{done.stderr}", pytrace=False)
    return done.stdout.strip()


def build(tree: Path, target: Path, *options: str, **how: Any) -> None:
    """Build with the setuptools of the tests' environment."""
    call([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(target), *options, str(tree)], **how)


def wheel_names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def metadata(wheel: Path) -> str:
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(f"{DIST_INFO}/METADATA").decode()


def unpack(sdist: Path, target: Path) -> Path:
    """The folder that the source distribution consists of."""
    with tarfile.open(sdist) as archive:
        archive.extractall(target)
    return target / f"torchada-{__version__}"


@dataclass
class Venv:
    folder: Path

    @classmethod
    def make(cls, folder: Path) -> Venv:
        call([sys.executable, "-m", "venv", "--without-pip", str(folder)])
        return cls(folder)

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")

    @property
    def site(self) -> Path:
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        return self.folder / "lib" / version / "site-packages"

    def pip(self, *arguments: str, **env: str) -> str:
        common = ["--python", self.python, "--disable-pip-version-check", "--no-input"]
        return call([sys.executable, "-m", "pip", *common, *arguments], env={**clean(), **env})

    def install(self, *what: str, **env: str) -> None:
        self.pip("install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", *what, **env)

    def show_the_tests_packages(self) -> None:
        """Add setuptools, torch and others by path lines. The .pth files in folders added that way are not read.

        pip then also sees the tests' own torchada, and takes a wheel of the same version for installed, so install wheels first.
        """
        found = [path for path in sys.path if path.endswith("site-packages")]
        (self.site / "zz-packages-of-the-tests.pth").write_text("".join(f"{path}\n" for path in found))

    def run(self, *arguments: str, env: dict[str, str] | None = None, **options: Any) -> str:
        return call([self.python, *arguments], env={**clean(), **(env or {})}, **options)

    def tells(self, expression: str, *arguments: str, **options: Any) -> Any:
        return json.loads(self.run(*arguments, "-c", f"import json, sys; print(json.dumps({expression}))", **options))

    def status(self, **env: str) -> dict[str, Any]:
        """The report of `status`, which exits with 1 where nothing is active."""
        command = [self.python, "-m", "torchada.hooks", "status", "--json"]
        done = subprocess.run(command, env={**clean(), **env}, capture_output=True, text=True, timeout=60)
        assert done.returncode in (0, 1), done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def top(self) -> set[str]:
        """The files of torchada at the top of site-packages."""
        found = self.site.iterdir() if self.site.exists() else ()  # pip removes empty folders
        return {path.name for path in found if path.name in TOP or "torchada" in path.name or "musasim" in path.name}

    def contents(self) -> dict[str, str]:
        """Every file of the environment with a digest of its bytes, and every folder."""
        found = {str(path.relative_to(self.folder)): path for path in self.folder.rglob("*")}
        digests = {
            name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in found.items() if path.is_file()
        }
        return {**dict.fromkeys(found, "folder"), **digests}
