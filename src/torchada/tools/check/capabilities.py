"""Comparisons of the chip's compute capability, which take the way for older chips without a word."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchada.report.severity import WARNING
from torchada.tools.check.findings import CAPABILITY, Finding

_FUNCTION, _PROPERTIES, _PARTS = "get_device_capability", "get_device_properties", ("major", "minor")
_SIGNS = (_FUNCTION, _PROPERTIES)
_MESSAGE = (
    "the chip's own capability is a smaller number than NVIDIA's, so the way for older chips is taken; "
    "TORCHADA_CUDA_CAPABILITY=8.0 answers otherwise"
)


def comparisons(tree: ast.Module, lines: Sequence[str]) -> Iterator[tuple[ast.AST, Finding]]:
    """Each comparison of a capability, or of a name that one was given to, with the node where it stands."""
    if not any(sign in line for line in lines for sign in _SIGNS):
        return
    names = set(_names(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and any(
            _is_capability(side, names) for side in (node.left, *node.comparators)
        ):
            yield node, Finding(CAPABILITY, WARNING, ast.unparse(node)[:80], _MESSAGE, "")


def _names(tree: ast.Module) -> Iterator[str]:
    """The names, and attributes of objects, that are given a capability or a part of one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _is_capability(node.value, set()):
            for target in node.targets:
                yield from map(ast.unparse, getattr(target, "elts", [target]))


def _is_capability(node: ast.expr, names: set[str]) -> bool:
    """Whether an expression is a capability: the call, its parts, sums with them, or a name that has one."""
    if isinstance(node, ast.Call):
        return _called(node) == _FUNCTION
    if isinstance(node, ast.Attribute) and node.attr in _PARTS and isinstance(node.value, ast.Call):
        return _called(node.value) == _PROPERTIES
    if isinstance(node, (ast.Name, ast.Attribute)):
        return ast.unparse(node) in names
    if isinstance(node, ast.Subscript):
        return _is_capability(node.value, names)
    if isinstance(node, ast.BinOp):
        return _is_capability(node.left, names) or _is_capability(node.right, names)
    return isinstance(node, ast.Tuple) and any(_is_capability(part, names) for part in node.elts)


def _called(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
