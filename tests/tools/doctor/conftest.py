"""Environments of their own: an interpreter with torch and torchada, which tests break and mend."""

from __future__ import annotations

import json
import site
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import torchada
from support.interpreter import ROOT, Interpreter

# Start-up files, and the adapter, are read from a folder of the environment's own, so that a test may change them.
LINE = (ROOT / "sitecustomize" / "torchada-init.pth").read_text()
ARGUMENTS = ["-m", "torchada", "doctor", "--json"]


@dataclass
class Environment:
    """A virtual environment that borrows the packages of this one. `site` is its own folder, which comes first."""

    folder: Path
    env: dict[str, str] = field(default_factory=dict)

    @property
    def site(self) -> Path:
        return self.folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"

    @property
    def start_file(self) -> Path:
        return self.site / ("torchada-init.start" if sys.version_info >= (3, 15) else "torchada-init.pth")

    def install(self, name: str, number: str, code: str | None = None) -> Path:
        """A distribution with metadata, and a package of its name if it has code; returns the folder of metadata."""
        metadata = self.site / f"{name}-{number}.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {number}\n")
        if code is not None:
            (self.site / name).mkdir(exist_ok=True)
            (self.site / name / "__init__.py").write_text(code)
        return metadata

    def doctor(
        self, *options: str, cwd: Path | None = None, env: dict[str, str] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """The exit code and the report of `torchada doctor`."""
        there = Interpreter(str(self.folder / "bin" / "python"), {**self.env, **(env or {})}, cwd or self.folder)
        done = there.run([*ARGUMENTS, *options], check=False)
        assert done.returncode in (0, 1), done.stderr
        return done.returncode, json.loads(done.stdout)


def borrow(made: Environment) -> None:
    """Let the environment have every package of this one, but neither torchada's metadata nor anybody's start-up files."""
    folder = made.folder / "borrowed"
    folder.mkdir()
    for path in [*map(Path, sys.path), *map(Path, site.getsitepackages())]:
        for each in path.iterdir() if path.name == "site-packages" and path.is_dir() else ():
            is_ours = each.name.startswith("torchada-") or each.suffix in (".pth", ".start")
            if not is_ours and not (folder / each.name).is_symlink():
                (folder / each.name).symlink_to(each)
    (made.site / "borrowed.pth").write_text(f"{Path(torchada.__file__).parent.parent}\n{folder}\n")


@pytest.fixture
def environment(tmp_path: Path) -> Callable[..., Environment]:
    """Makes an environment that is healthy: torch without a device, torchada and its start-up file."""

    def make(**env: str) -> Environment:
        made = Environment(tmp_path / "environment", env)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(made.folder)], check=True)
        borrow(made)
        made.start_file.write_text(LINE if made.start_file.suffix == ".pth" else "_torchada_startup:install\n")
        made.install("torchada", version("torchada"))
        return made

    return make
