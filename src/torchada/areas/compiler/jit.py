"""Source code on its way into TorchScript: device names, `x.cuda()` and `x.is_cuda`.

Scripted code never calls what is redirected in Python. Its device names reach torch's own parser, which the native mechanism
redirects and the portable one cannot, so the latter translates the names that the source has in the place of a device. `cuda()`
and `is_cuda` are not device names but operators, and those exist for CUDA only. The type and the text of a device answer by the
view of the function, as in eager code.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import TYPE_CHECKING

from torchada.areas.compiler._script_views import Viewed
from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torch._sources import ParsedDef

    from torchada.redirect.types import P

Translate = Callable[[str], str]


def patches(context: Context) -> Iterator[Patch]:
    frontend = context.torch.jit.frontend
    parse = _parse_def(context, frontend.parse_def)
    yield Patch(frontend, "parse_def", parse, None, note='torch.jit.script of x.cuda(), x.is_cuda, device="cuda"')


def _parse_def(context: Context, original: Callable[P, ParsedDef]) -> Callable[P, ParsedDef]:
    # Comparisons read the text of a device, so names stay unchanged wherever torch's own parser understands them.
    translate: Translate = (lambda name: name) if context.mechanism.native else context.devices.translate

    def parse_def(*args: P.args, **kwargs: P.kwargs) -> ParsedDef:
        parsed = original(*args, **kwargs)
        function = inspect.unwrap(args[0]) if args else None  # type: ignore[arg-type]
        function = getattr(function, "__func__", function)  # of a module's method
        if isinstance(function, FunctionType) and context.views.sees_cuda(function.__globals__):
            Viewed(context.backend.device_type, function, context.torch).visit(parsed.ast)
        _Translated(context.backend.device_type, translate).visit(parsed.ast)
        return parsed

    return disguise(parse_def, original)


class _Translated(ast.NodeTransformer):
    """Changes a tree in place; every node keeps its position in the source, which TorchScript's messages show."""

    def __init__(self, device_type: str, translate: Translate) -> None:
        self._device_type = device_type
        self._translate = translate

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        for keyword in node.keywords:
            if keyword.arg == "device" or (called, keyword.arg) == ("device", "type"):
                self._rename(keyword.value)
        if called in ("device", "to") and node.args:
            self._rename(node.args[0])
        if called == "cuda" and not node.args and not node.keywords and _is_of_another(node.func):
            node.func.attr = "to"  # type: ignore[attr-defined]
            node.args = [ast.copy_location(ast.Constant(self._device_type), node)]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if node.attr != "is_cuda" or not isinstance(node.ctx, ast.Load) or not _is_of_another(node):
            return node
        of_type = ast.Attribute(ast.Attribute(node.value, "device", node.ctx), "type", node.ctx)
        is_ours = ast.Compare(of_type, [ast.Eq()], [ast.Constant(self._device_type)])
        return ast.fix_missing_locations(ast.copy_location(is_ours, node))

    def _rename(self, node: ast.expr) -> None:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = self._translate(node.value)


def _is_of_another(node: ast.expr) -> bool:
    """Whether this is an attribute of something other than `self`: scripted modules may have methods and flags of such names."""
    return isinstance(node, ast.Attribute) and getattr(node.value, "id", "") != "self"
