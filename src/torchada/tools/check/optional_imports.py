"""Which imports a program may do without: in a `try` that goes on when they fail, in a function, or for type checkers alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_CAUGHT = frozenset({"ImportError", "ModuleNotFoundError", "OSError", "Exception", "BaseException"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def optional(tree: ast.Module) -> frozenset[int]:
    """The `id` of each import statement that may fail, or is executed only where it is needed."""
    return frozenset(id(node) for node in _in(tree, False))


def _in(node: ast.AST, is_optional: bool) -> Iterator[ast.stmt]:
    if isinstance(node, (ast.Import, ast.ImportFrom)) and is_optional:
        yield node
    guarded = node.body if isinstance(node, (ast.Try, ast.If)) and _guards(node) else []
    within = is_optional or isinstance(node, _FUNCTIONS)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.stmt, ast.ExceptHandler)):
            yield from _in(child, within or child in guarded)


def _guards(node: ast.Try | ast.If) -> bool:
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.unparse(node.test)
    return any(map(_goes_on, node.handlers))


def _goes_on(handler: ast.ExceptHandler) -> bool:
    """Whether a handler catches a failed import, and does not raise."""
    kinds = getattr(handler.type, "elts", [handler.type])
    catches = handler.type is None or any(getattr(kind, "id", "") in _CAUGHT for kind in kinds)
    return catches and not any(isinstance(statement, ast.Raise) for statement in handler.body)
