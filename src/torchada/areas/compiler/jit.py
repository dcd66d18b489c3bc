"""Source code on its way into TorchScript: device names, `x.cuda()` and `x.is_cuda`.

Scripted code never calls what is redirected in Python. Its device names reach torch's own parser, which the native mechanism
redirects and the portable one cannot, so the latter translates the names that the source has in the place of a device. `cuda()`
and `is_cuda` are not device names but operators, and those exist for CUDA only. The type and the text of a device answer by the
view of the function, as in eager code.

What stands in for a Python function of torch calls that with whatever it was given, which TorchScript cannot compile. It is given
the source of torch's own function, as in `with torch.autocast(...)`.
"""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any

from torchada.redirect.calls import disguise, original_of
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torch._sources import ParsedDef

    from torchada.redirect.types import AnyFunction, P

Translate = Callable[[str], str]


def patches(context: Context) -> Iterator[Patch]:
    frontend = context.torch.jit.frontend
    parse = _parse_def(context, frontend.parse_def)
    yield Patch(frontend, "parse_def", parse, None, note='torch.jit.script of x.cuda(), x.is_cuda, device="cuda"')
    internal = context.torch._jit_internal
    note = "torch.jit.script of torch's own functions"
    yield Patch(internal, "get_closure", _get_closure(internal.get_closure), None, note=note)


def _get_closure(original: Callable[[object], dict[str, object]]) -> AnyFunction:
    """What a function finds outside of itself."""

    def get_closure(fn: object) -> dict[str, object]:
        return original(_scripted(fn))

    return disguise(get_closure, original)


def _scripted(function: Any) -> Any:
    """The function whose source TorchScript compiles for this one."""
    original = original_of(function)
    return _scripted(original) if original is not function and isinstance(original, FunctionType) else function


def _parse_def(context: Context, original: Callable[P, ParsedDef]) -> Callable[P, ParsedDef]:
    # Comparisons read the text of a device, so names stay unchanged wherever torch's own parser understands them.
    translate: Translate = (lambda name: name) if context.mechanism.native else context.devices.translate

    def parse_def(*args: P.args, **kwargs: P.kwargs) -> ParsedDef:
        from torchada.areas.compiler._script_views import Viewed, expression_of, names_of

        parsed = original(*map(_scripted, args), **kwargs)
        function = inspect.unwrap(_scripted(args[0])) if args else None
        function = getattr(function, "__func__", function)  # of a module's method
        names: dict[str, object] = {}
        if isinstance(function, FunctionType):
            names = names_of(function)
            if context.views.sees_cuda(function.__globals__):
                Viewed(context.backend.device_type, function, context.torch).visit(parsed.ast)
        tensor = expression_of(context.torch.Tensor, names)
        _Translated(context.backend.device_type, translate, tensor, names).visit(parsed.ast)
        return parsed

    return disguise(parse_def, original)


class _Translated(ast.NodeTransformer):
    """Changes a tree in place; every node keeps its position in the source, which TorchScript's messages show.

    Scripted classes may have a method `cuda` and what is called `is_cuda`. So the changed source asks whether a value is a tensor,
    which TorchScript answers while it compiles, where the value may be read twice. `tensor` is how the function can say
    torch.Tensor, None if it cannot, and `names` is what it finds outside of itself.
    """

    def __init__(
        self, device_type: str, translate: Translate, tensor: ast.expr | None, names: Mapping[str, object]
    ) -> None:
        self._device_type = device_type
        self._translate = translate
        self._tensor = tensor
        self._names = names

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.stmt):
            self._statement = node
        return super().visit(node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self._visit_parts(node)
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        for keyword in node.keywords:
            if keyword.arg == "device" or (called, keyword.arg) == ("device", "type"):
                self._rename(keyword.value)
        if called in ("device", "to") and node.args:
            self._rename(node.args[0])
        if called == "cuda" and not node.args and not node.keywords and _is_of_another(node.func):
            moved = copy.copy(node)
            moved.func = copy.copy(node.func)
            moved.func.attr = "to"  # type: ignore[attr-defined]
            moved.args = [ast.copy_location(ast.Constant(self._device_type), node)]
            return self._of_tensor(node.func.value, moved, node)  # type: ignore[attr-defined]
        return node

    def _visit_parts(self, node: ast.Call) -> None:
        """Visit all parts; of a method `is_cuda` that is called, only its object: on a tensor, `is_cuda` is a flag."""
        if isinstance(node.func, ast.Attribute) and node.func.attr == "is_cuda":
            node.func.value = self.visit(node.func.value)
        else:
            node.func = self.visit(node.func)
        node.args = [self.visit(argument) for argument in node.args]
        node.keywords = [self.visit(keyword) for keyword in node.keywords]

    def _of_tensor(self, value: ast.expr, ours: ast.expr, other: ast.expr) -> ast.expr:
        """`ours` where `value` is a tensor, else `other`; `ours` where that cannot be asked."""
        from torchada.areas.compiler._script_views import is_read, placed

        if self._tensor is None or not is_read(value, self._names):
            return ours
        return placed("_1 if isinstance(_2, _3) else _4", self._statement, ours, value, self._tensor, other)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if node.attr != "is_cuda" or not isinstance(node.ctx, ast.Load) or not _is_of_another(node):
            return node
        of_type = ast.Attribute(ast.Attribute(node.value, "device", node.ctx), "type", node.ctx)
        # By both names, because what is compiled here may be saved and read where the device is CUDA's own.
        types = ast.List([ast.Constant(self._device_type), ast.Constant("cuda")], ast.Load())
        is_ours = ast.Compare(of_type, [ast.In()], [types])
        return self._of_tensor(node.value, ast.fix_missing_locations(ast.copy_location(is_ours, node)), node)

    def _rename(self, node: ast.expr) -> None:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = self._translate(node.value)


def _is_of_another(node: ast.expr) -> bool:
    """Whether this is an attribute of something other than `self`: scripted modules may have methods and flags of such names."""
    return isinstance(node, ast.Attribute) and getattr(node.value, "id", "") != "self"
