"""Installed packages, read and not imported: their modules, what these define, and where a name of theirs leads."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from importlib.machinery import PathFinder

from torchada.tools.check import decode

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_LARGEST = 4 << 20
_MOST_STEPS = 20  # of imports that hand a name on


@dataclass(eq=False)
class Module:
    """A module of a package: its dotted name, its path as it is shown, and its syntax tree."""

    name: str
    path: str
    tree: ast.Module
    lines: list[str] = field(repr=False)
    is_package: bool = False

    @cached_property
    def defined(self) -> dict[str, Definition]:
        """The functions and classes at its top, in branches as well."""
        return {node.name: node for node in _top(self.tree) if isinstance(node, _DEFINITIONS)}

    @cached_property
    def imported(self) -> dict[str, str]:
        """The names at its top that imports bind, and the dotted names that they stand for."""
        return dict(self.bound_by(_top(self.tree)))

    def bound_by(self, nodes: Iterator[ast.AST]) -> Iterator[tuple[str, str]]:
        """What the imports among `nodes` bind."""
        for node in nodes:
            if isinstance(node, ast.Import):
                tops = (alias.name.partition(".")[0] for alias in node.names if not alias.asname)
                yield from ((top, top) for top in tops)
                yield from ((alias.asname, alias.name) for alias in node.names if alias.asname)
            elif isinstance(node, ast.ImportFrom):
                module = self._absolute(node)
                yield from ((alias.asname or alias.name, f"{module}.{alias.name}") for alias in node.names)

    @cached_property
    def stars(self) -> list[str]:
        """The modules whose names are all imported at its top."""
        imports = (node for node in _top(self.tree) if isinstance(node, ast.ImportFrom))
        return [self._absolute(node) for node in imports if node.names[0].name == "*"]

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        steps = self.name.split(".")
        kept = steps[: len(steps) - node.level + self.is_package]
        return ".".join([*kept, *filter(None, [node.module])])


def _top(tree: ast.Module) -> Iterator[ast.AST]:
    """The statements that are executed when a module is imported; bodies of functions and classes are not entered."""
    pending: list[ast.AST] = [*reversed(tree.body)]
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, _DEFINITIONS):
            children = (
                child for child in ast.iter_child_nodes(node) if isinstance(child, (ast.stmt, ast.ExceptHandler))
            )
            pending += reversed(list(children))


class Packages:
    """The packages on `path` (sys.path)."""

    def __init__(self, path: list[str]) -> None:
        self._path = path
        self._modules: dict[str, Module | None] = {}
        self._folders: dict[str, str | None] = {}

    def lead(self, path: str, steps: int = _MOST_STEPS) -> tuple[Module, Definition] | None:
        """The function or class that a dotted name leads to; None where that is not known."""
        names = path.split(".")
        for length in range(len(names) - 1, 0, -1):
            module = self.module(".".join(names[:length]))
            if module is not None:
                return self._in(module, names[length:], steps) if steps else None
        return None

    def _in(self, module: Module, names: list[str], steps: int) -> tuple[Module, Definition] | None:
        node = module.defined.get(names[0])
        if node is not None:
            return module, node
        target = module.imported.get(names[0])
        if target is not None and target.partition(".")[0] == module.name.partition(".")[0]:
            return self.lead(".".join([target, *names[1:]]), steps - 1)
        return next(filter(None, (self.lead(".".join([star, *names]), steps - 1) for star in module.stars)), None)

    def module(self, name: str) -> Module | None:
        """The module of a dotted name; None where it is not installed, or is no Python source."""
        if name not in self._modules:
            self._modules[name] = self._read(name)
        return self._modules[name]

    def _read(self, name: str) -> Module | None:
        top, _, rest = name.partition(".")
        folder = self._folder(top)
        if folder is None:
            return None
        below = os.path.join(folder, *rest.split(".")) if rest else folder
        for file, is_package in ((os.path.join(below, "__init__.py"), True), (f"{below}.py", False)):
            data = _contents(file)
            if data is not None:
                text = decode.decode(data).text
                tree, _ = decode.parse(text)
                shown = os.path.relpath(file, os.path.dirname(folder))
                return None if tree is None else Module(name, shown, tree, text.split("\n"), is_package)
        return None

    def _folder(self, top: str) -> str | None:
        """The folder of a top-level package, or the path of a module without its suffix. Nothing is imported."""
        if top not in self._folders:
            try:
                spec = PathFinder.find_spec(top, self._path)
            except (ImportError, ValueError):
                spec = None
            places = list(spec.submodule_search_locations or ()) if spec is not None else []
            alone = os.path.splitext(spec.origin)[0] if spec is not None and spec.origin and not places else None
            self._folders[top] = places[0] if places else alone
        return self._folders[top]


def _contents(file: str) -> bytes | None:
    try:
        with open(file, "rb") as stream:
            data = stream.read(_LARGEST + 1)
    except OSError:
        return None
    return data if len(data) <= _LARGEST else None
