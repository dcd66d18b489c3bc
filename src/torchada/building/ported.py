"""A build's sources, ported into its build folder: where each copy is, and what had no counterpart."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from torchada.building.checks import remember
from torchada.building.errors import BuildError
from torchada.porting import OutputError, PortingError, Project, Tree, port_files, read_project
from torchada.porting.findings import UNPORTED

_MOST_FINDINGS = 20
# Written for the accelerator: copied as they are, because they include ported headers beside them.
_OWN = ("*.mu", "*.muh")


@dataclass(frozen=True)
class Copies:
    """Files below `root`, and their ported copies below `folder`, where the tree has the same shape; what to tell the user."""

    root: str
    folder: str
    targets: dict[str, str]
    notices: list[str]

    def of(self, file: str) -> str:
        """The copy of a file; the file itself where it has none."""
        target = self.targets.get(os.path.abspath(file))
        return file if target is None else os.path.join(self.folder, target)

    def folder_of(self, directory: str) -> str | None:
        """The folder with the copies of a folder's files; None where none of them was ported."""
        path = os.path.relpath(os.path.abspath(directory), self.root)
        copy = os.path.normpath(os.path.join(self.folder, path))
        return None if path.startswith("..") or not os.path.isdir(copy) else copy

    def with_copies(self, directories: Iterable[str]) -> list[str]:
        """`directories`, each after the folder of its copies, so that files that were not ported are still found."""
        out: list[str] = []
        for directory in directories:
            copy = self.folder_of(directory)
            out += [directory] if copy is None else [copy, directory]
        return out

    def origins(self) -> dict[str, str]:
        """The original of each copy."""
        return {os.path.join(self.folder, target): file for file, target in self.targets.items()}


def port(files: Iterable[str], folder: str, project: str, searched: Iterable[str] = ()) -> Copies:
    """Port `files` into `folder`, also by the rules of the project at `project`; the notices are of what has no counterpart.

    The copies have the shape of the tree from the `searched` folders on, so that an include finds a copy by the path that it says.
    Raises BuildError for what cannot be ported. A file that has not changed since the last time is not written again.
    """
    paths = [os.path.abspath(file) for file in files]
    root = os.path.commonpath([*map(os.path.dirname, paths), *map(os.path.abspath, searched)])
    try:
        rules = read_project(Path(project)) if os.path.isdir(project) else Project()
        rules = replace(rules, exclude=(*rules.exclude, *_OWN))
        tree = port_files(paths, root, folder, rules, lines=True)
    except OutputError as error:
        raise BuildError(f"{folder} was changed since torchada wrote it: remove it, and build again") from error
    except PortingError as error:
        raise BuildError(f"cannot be ported: {error}") from error
    targets = {os.path.join(root, file.path): file.target for file in tree.files}
    copies = Copies(root, folder, targets, _unported(tree, root))
    remember(tree, root)
    return copies


def _unported(tree: Tree, root: str) -> list[str]:
    """A line for each name of CUDA's that stayed, as compilers write them."""
    lines = [
        f"{os.path.join(root, file.path)}:{finding.line}:{finding.column}: {finding.name} has no counterpart and stays: "
        f"{finding.reason}"
        for file, finding in tree.findings
        if finding.kind == UNPORTED
    ]
    more = len(lines) - _MOST_FINDINGS
    return lines[:_MOST_FINDINGS] + ([f"and {more} more; `torchada port {root}` lists all"] if more > 0 else [])
