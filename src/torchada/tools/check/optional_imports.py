"""Which imports a program may do without: in a `try` that goes on when they fail, in a function, or for type checkers alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

_CAUGHT = frozenset({"ImportError", "ModuleNotFoundError", "OSError", "Exception", "BaseException"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# What statements may be in.
_HOLDERS = (ast.stmt, ast.ExceptHandler, ast.match_case)


@lru_cache(maxsize=1)  # asked for each import of a source
def optional(tree: ast.Module) -> frozenset[int]:
    """The `id` of each import statement that may fail, or is executed only where it is needed."""
    return frozenset(map(id, _optional(tree)))


def _optional(tree: ast.Module) -> Iterator[ast.stmt]:
    # A list of what is still to be looked at, because a long chain of `elif` is a deep tree.
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, is_optional = waiting.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)) and is_optional:
            yield node
        is_optional = is_optional or isinstance(node, _FUNCTIONS)
        guarded = set(map(id, node.body)) if isinstance(node, (ast.Try, ast.If)) and _guards(node) else set()
        children = (child for child in ast.iter_child_nodes(node) if isinstance(child, _HOLDERS))
        waiting += [(child, is_optional or id(child) in guarded) for child in children]


def _guards(node: ast.Try | ast.If) -> bool:
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.unparse(node.test)
    return any(map(_goes_on, node.handlers))


def _goes_on(handler: ast.ExceptHandler) -> bool:
    """Whether a handler catches a failed import, and does not raise."""
    kinds = getattr(handler.type, "elts", [handler.type])
    catches = handler.type is None or any(getattr(kind, "id", "") in _CAUGHT for kind in kinds)
    return catches and not any(isinstance(statement, ast.Raise) for statement in handler.body)
