"""A project in a temporary folder, and what is found in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from torchada.tools.check import Result, check

Project = Callable[..., Result]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Checks a project whose files are given by path; texts are written as UTF-8, bytes as they are."""

    def make(files: dict[str, str | bytes], exclude: tuple[str, ...] = ()) -> Result:
        for path, contents in files.items():
            file = tmp_path / "project" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(contents.encode() if isinstance(contents, str) else contents)
        return check([str(tmp_path / "project")], exclude)

    return make
