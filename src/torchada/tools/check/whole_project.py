"""What the reader of one file knows of the whole project: its packages, who sees CUDA in it, and its CUDA sources."""

from __future__ import annotations

import os
from collections.abc import Sequence

from torchada.porting.workers import Porter
from torchada.tools.check.apis import table
from torchada.tools.check.classify import Source
from torchada.tools.check.collect import CUDA, PYTHON, File
from torchada.tools.check.views import Views


class WholeProject:
    """One project while it is checked, against a release of torch_musa. `modules` are its own packages and the names of its files.

    `porters` are those that have been made, by the root whose rules they follow.
    """

    def __init__(self, files: Sequence[File], release: str) -> None:
        self.release = release
        self.views = Views(files)
        self.cuda_sources = [file for file in files if file.kind == CUDA]
        self.porters: dict[str, Porter] = {}
        self.python_lines = 0
        scripts = (os.path.splitext(os.path.basename(file.file))[0] for file in files if file.kind == PYTHON)
        self.modules = self.views.own | frozenset(scripts)

    def has(self, distribution: str) -> bool:
        """Whether a distribution is a package of the project itself."""
        return distribution.replace("-", "_").lower() in self.views.own

    def source(self, file: File, lines: Sequence[str]) -> Source:
        """A Python source of the project, with the view of who asks in it."""
        view = self.views.of(file)
        return Source(file.path, lines, view.sees_cuda, view.why, table(self.release), self.views.own)
