"""Strings that say cuda: which of them name devices, and which are other words, as their place shows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

DEVICE_NAME = re.compile(r"cuda(?::(?:\d+|\{[^{}]*\}|%[ds])?)?")
# Arguments and variables whose "cuda" names a choice of the program's own, or of a library's; and whatever is called a backend.
_NO_DEVICES = frozenset(
    {"impl", "method", "mode", "name", "language", "help", "reason", "extra", "id", "prefix", "suffix"}
)
# The same as the last word of a longer name, for what is a string and no more: weight_sync_mode.
_CHOICES = frozenset({"impl", "method", "mode", "prefix", "suffix", "suffixes", "suffices"})
# What stands beside "cuda" in a list of things that are no devices of PyTorch: kernels, platforms, providers, packages, methods.
_NEIGHBOURS = frozenset(
    {
        "python",
        "triton",
        "torch",
        "pytorch",
        "native",
        "eager",
        "rocm",
        "hip",
        "dml",
        "tensorrt",
        "flashinfer",
        "to",
        "proton",
        "tilelang",
    }
)
_DISPLAYS = (ast.Tuple, ast.List, ast.Set)


def others(tree: ast.Module) -> Iterator[ast.AST]:
    """Expressions whose strings are no devices: parts of paths and of longer texts, choices, and their values by default."""
    joined = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp):
            joined.add(id(node.left))
            if isinstance(node.op, ast.Div):  # a path
                yield from (side for side in (node.left, node.right) if text_of(side))
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            yield from _assigned(node)
        elif isinstance(node, _DISPLAYS) and _is_of_others(node):
            yield from filter(text_of, node.elts)
        elif isinstance(node, ast.JoinedStr) and not DEVICE_NAME.fullmatch(text_of(node).replace("{}", "cuda", 1)):
            yield from (
                value for part in node.values if isinstance(part, ast.FormattedValue) for value in _plain(part.value)
            )
        elif isinstance(node, ast.Call) and any(
            keyword.arg == "choices" and _is_of_others(keyword.value) for keyword in node.keywords
        ):
            yield from (keyword.value for keyword in node.keywords if keyword.arg == "default")
        elif isinstance(node, ast.Constant) and node.value == "cuda:" and id(node) not in joined:
            yield node


def _assigned(node: ast.Assign | ast.AnnAssign) -> Iterator[ast.AST]:
    """The values that an assignment gives to a choice."""
    if node.value is None:
        return
    names = [_name(target) for target in (node.targets if isinstance(node, ast.Assign) else [node.target])]
    listed = isinstance(node, ast.AnnAssign) and any(map(_is_of_others, ast.walk(node.annotation)))
    for value in _plain(node.value):
        if listed or any(is_choice(name, value) for name in names):
            yield value


def _name(target: ast.expr) -> str:
    """What a target is called: a name, an attribute, or a key."""
    if isinstance(target, ast.Subscript):
        return text_of(target.slice)
    return target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")


def _is_of_others(node: ast.AST) -> bool:
    return isinstance(node, _DISPLAYS) and any(text_of(element) in _NEIGHBOURS for element in node.elts)


def _plain(value: ast.expr) -> Iterator[ast.expr]:
    """The strings that an expression may come to by itself, without those in calls."""
    if isinstance(value, _DISPLAYS):
        parts = value.elts
    elif isinstance(value, ast.IfExp):
        parts = [value.body, value.orelse]
    elif isinstance(value, ast.BoolOp):
        parts = value.values
    else:
        parts = []
        if text_of(value):
            yield value
    for part in parts:
        yield from _plain(part)


def text_of(node: ast.AST) -> str:
    """The text of a string, with {} for what an f-string fills in; empty for everything else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return ""


def is_device(node: ast.AST) -> bool:
    """Whether an expression is a string that names a CUDA device: "cuda", "cuda:1", f"cuda:{rank}", "cuda:" + str(rank)."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)):
        return is_device(node.left)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return is_device(node.func.value)
    return bool(DEVICE_NAME.fullmatch(text_of(node)))


def is_choice(name: str, value: ast.expr) -> bool:
    """Whether an argument's "cuda" names a choice of the program's own: method="cuda", backend="cuda", conv_backend="cuda"."""
    name = name.lower()
    if name in _NO_DEVICES:
        return True
    return bool(text_of(value)) if name.rpartition("_")[2] in _CHOICES else "backend" in name and is_device(value)


def chosen(names: ast.expr, rows: ast.expr) -> Iterator[ast.expr]:
    """The choices in what parametrizes a test: "x, backend" or ("x", "backend"), and (1, "cuda") or param(1, "cuda")."""
    keys = [name.strip() for name in text_of(names).split(",")]
    if isinstance(names, (ast.Tuple, ast.List)):
        keys = [text_of(name) for name in names.elts]
    parts = [part.args if isinstance(part, ast.Call) else getattr(part, "elts", []) for part in ast.walk(rows)]
    given = [[value] for part in parts for value in part] if len(keys) == 1 else parts
    for values in given:
        if len(values) == len(keys):
            yield from (value for key, value in zip(keys, values, strict=True) if is_choice(key, value))


def defaults(arguments: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    """The arguments of a function that have a default."""
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    yield from zip(reversed(names), reversed(arguments.defaults), strict=False)
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            yield argument.arg, default
