"""What a source calls of packages of other people: each dotted name, with the line where it is first used."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from torchada.tools.check.resolve import Reader
from torchada.tools.check.scopes import Paths

Uses = dict[str, ast.AST]


class _Listener:
    """Hears what names stand for, and keeps those of packages that are wanted."""

    def __init__(self, is_wanted: Callable[[str], bool]) -> None:
        self.uses: Uses = {}
        self._is_wanted = is_wanted

    def name(self, node: ast.expr, paths: Paths) -> None:
        for path in paths:
            self._keep(node, path)

    def imported(self, node: ast.stmt, path: str) -> None:
        if isinstance(node, ast.ImportFrom):
            self._keep(node, path)

    def _keep(self, node: ast.AST, path: str) -> None:
        if "." in path and self._is_wanted(path.partition(".")[0]):
            self.uses.setdefault(path, node)

    def is_listed(self, module: str, name: str) -> bool:
        return False

    def attribute(self, node: ast.Attribute) -> None:
        """Of something that is not known."""

    def call(self, node: ast.Call, paths: Paths) -> None:
        """Its name has been told."""

    def compare(self, node: ast.Compare) -> None:
        """No use of a package."""

    def text(self, node: ast.Constant | ast.JoinedStr) -> None:
        """No use of a package."""

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, decorators: Sequence[Paths]) -> None:
        """The project's own."""


def uses(tree: ast.Module, is_wanted: Callable[[str], bool]) -> Uses:
    """The names of wanted top-level packages that a module uses, in the order of the source."""
    listener = _Listener(is_wanted)
    Reader(listener).read(tree)
    return dict(sorted(listener.uses.items(), key=lambda use: (getattr(use[1], "lineno", 0), use[0])))
