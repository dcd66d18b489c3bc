"""The type and the text of a device in TorchScript, for code that sees CUDA, and what it asks of torch.cuda and torch.version.

TorchScript reads the former in C++, where they are the backend's. The changed source asks for the type of the value first, which
TorchScript answers while it compiles, so that an attribute `type` of anything but a device stays what it is.
"""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Mapping
from typing import Any

from torchada.redirect.by_view import is_by_view


class Viewed(ast.NodeTransformer):
    """Changes the tree of a function in place. Nodes keep their positions in the source, which TorchScript's messages show. New
    ones are at the start of their statement, because TorchScript reads the source behind a node and must not reach its end.

    Only values are changed that are read without a call (a name, an attribute of one, an item with a constant index), because the
    changed source reads them more than once.
    """

    def __init__(self, device_type: str, function: Any, torch: Any) -> None:
        self._device_type = device_type
        self._globals = function.__globals__
        self._names = names_of(function)
        self._version = torch.version
        self._device = expression_of(torch.device, self._names)

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.stmt):
            self._statement = node
        return super().visit(node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        called = node.func
        if not node.args and not node.keywords and is_by_view(self._resolved(called)):
            return self._answer("thing()", self._resolved(called), node)
        if isinstance(called, ast.Attribute):  # x.type(dtype) is a method
            called.value = self.visit(called.value)
            if called.attr == "format" and isinstance(called.value, ast.Constant):
                node.args = [self._text(argument) for argument in node.args]
        node.args = [self.visit(argument) for argument in node.args]
        node.keywords = [self.visit(keyword) for keyword in node.keywords]
        if isinstance(called, ast.Name) and called.id == "str" and len(node.args) == 1:
            text = self._text(node.args[0])
            return node if text is node.args[0] else text
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if node.attr == "cuda" and self._resolved(node.value) is self._version:
            return self._answer("thing.cuda", self._version, node)
        self.generic_visit(node)
        if node.attr != "type" or not isinstance(node.ctx, ast.Load) or not self._is_read(node.value):
            return node
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            return node
        of_text = "('cuda' if _1 == _2 else _1) if isinstance(_1, str) else _1"
        return self._placed(of_text, node, ast.Constant(self._device_type))

    def visit_Compare(self, node: ast.Compare) -> ast.Compare:
        """The type of what a call returns, which may be read once only."""
        self.generic_visit(node)
        operator, value = node.ops[0], node.comparators[0]
        is_type = isinstance(node.left, ast.Attribute) and node.left.attr == "type" and len(node.ops) == 1
        if is_type and isinstance(operator, (ast.Eq, ast.NotEq)) and getattr(value, "value", None) == "cuda":
            node.ops = [ast.In() if isinstance(operator, ast.Eq) else ast.NotIn()]
            node.comparators = [self._placed("[_1, _2]", value, ast.Constant(self._device_type))]
        return node

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.FormattedValue:
        self.generic_visit(node)
        if node.conversion == -1 and node.format_spec is None:
            node.value = self._text(node.value)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.BinOp:
        self.generic_visit(node)
        if isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant) and isinstance(node.left.value, str):
            if isinstance(node.right, ast.Tuple):
                node.right.elts = [self._text(element) for element in node.right.elts]
            else:
                node.right = self._text(node.right)
        return node

    def _resolved(self, node: ast.expr) -> object:
        """The module that an expression names, or what is in one; None for anything else."""
        if isinstance(node, ast.Name):
            return self._names.get(node.id)
        owner = self._resolved(node.value) if isinstance(node, ast.Attribute) else None
        return getattr(owner, node.attr, None) if isinstance(node, ast.Attribute) and inspect.ismodule(owner) else None

    def _answer(self, question: str, thing: object, node: ast.expr) -> ast.expr:
        """What the function is told, as a constant."""
        return ast.copy_location(ast.Constant(eval(question, self._globals, {"thing": thing})), node)

    def _text(self, node: ast.expr) -> ast.expr:
        """The text of a value, with the type renamed where it is a device."""
        if self._device is None or not self._is_read(node):
            return node
        text = "str(_1).replace(_2, 'cuda') if isinstance(_1, _3) else str(_1)"
        return self._placed(text, node, ast.Constant(self._device_type), self._device)

    def _placed(self, text: str, *parts: ast.expr) -> ast.expr:
        return placed(text, self._statement, *parts)

    def _is_read(self, node: ast.expr) -> bool:
        return is_read(node, self._names)


def placed(text: str, statement: ast.stmt, *parts: ast.expr) -> ast.expr:
    """The expression `text`, with `parts` in the place of _1, _2, ..., at the start of `statement`."""
    made: ast.expr = _Filled(parts).visit(ast.parse(text, mode="eval")).body
    for node in ast.walk(made):
        ast.copy_location(node, statement)
    return made


def is_read(node: ast.expr, outside: Mapping[str, object]) -> bool:
    """Whether a value is read without a call, and is none of the names that the function finds `outside`."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
            return False
        node = node.value
    return isinstance(node, ast.Name) and node.id not in outside


class _Filled(ast.NodeTransformer):
    """Puts copies of `parts` in the place of _1, _2, ..."""

    def __init__(self, parts: tuple[ast.expr, ...]) -> None:
        self._parts = parts

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copy.deepcopy(self._parts[int(node.id[1:]) - 1]) if node.id[0] == "_" else node


def names_of(function: Any) -> dict[str, object]:
    """What a function finds outside of itself, by name."""
    code = function.__code__
    outside = {**function.__globals__, **dict(zip(code.co_freevars, map(_content, function.__closure__ or ())))}
    return {name: value for name, value in outside.items() if name not in code.co_varnames}


def _content(cell: object) -> object:
    try:
        return cell.cell_contents  # type: ignore[attr-defined]
    except ValueError:  # not assigned yet
        return None


def expression_of(thing: type, names: Mapping[str, object]) -> ast.expr | None:
    """How the function can say torch.device or torch.Tensor; None if it has no name for it."""
    for name, value in names.items():
        if value is thing:
            return ast.Name(name, ast.Load())
        if inspect.ismodule(value) and value.__name__ == "torch":
            return ast.Attribute(ast.Name(name, ast.Load()), thing.__name__, ast.Load())
    return None
