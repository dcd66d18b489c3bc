"""Reads the syntax tree of a module in the order of execution, and tells a judge what names stand for where they are used."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from torchada.tools.check.device_strings import defaults
from torchada.tools.check.scopes import (
    NOTHING,
    OF_A_CLASS,
    OTHER,
    Paths,
    Scope,
    known,
)

Parts = Sequence[tuple[Paths, "Parts"]]

Given = dict[str, Paths]
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_IMPORTING = frozenset({"importlib.import_module", "__import__", "importlib.__import__"})


class Judge(Protocol):
    """Who is told. Nodes come in no particular order, and in loops more than once."""

    def name(self, node: ast.expr, paths: Paths) -> None:
        """`node` is a name, with its attributes, that stands for `paths`."""

    def attribute(self, node: ast.Attribute) -> None:
        """`node` is an attribute of something that is not known."""

    def call(self, node: ast.Call, paths: Paths) -> None:
        """`node` calls what stands for `paths`; nothing where that is not known."""

    def compare(self, node: ast.Compare) -> None:
        """`node` is a comparison."""

    def text(self, node: ast.Constant | ast.JoinedStr) -> None:
        """`node` is a string that is a value, and no docstring, key or name of a keyword."""

    def imported(self, node: ast.stmt, path: str) -> None:
        """`node` imports `path`."""

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, decorators: Sequence[Paths]) -> None:
        """`node` defines a function; `decorators` are what its decorators, or what they are made by, stand for."""

    def is_listed(self, module: str, name: str) -> bool:
        """Whether `from module import *` brings `name`, as far as that is known."""


class Reader:
    """Reads one module. `read` may be called once."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._scope = Scope()
        self._later: list[tuple[Function, Scope, Given]] = []
        self._from_inside: dict[int, dict[str, Paths]] = {}
        self._classes: dict[str, Scope] = {}
        self._statements: dict[type, Callable[[Any], None]] = {
            ast.Assign: self._assign,
            ast.AnnAssign: self._annotated,
            ast.AugAssign: self._augmented,
            ast.Import: self._import,
            ast.ImportFrom: self._import_from,
            ast.FunctionDef: self._function,
            ast.AsyncFunctionDef: self._function,
            ast.ClassDef: self._class,
            ast.If: self._if,
            ast.For: self._for,
            ast.AsyncFor: self._for,
            ast.While: self._while,
            ast.Try: self._try,
            ast.With: self._with,
            ast.AsyncWith: self._with,
            ast.Delete: self._delete,
            ast.Global: lambda node: self._scope.declare_global(node.names),
            ast.Nonlocal: lambda node: self._scope.declare_nonlocal(node.names),
            ast.Expr: self._expression_statement,
            ast.Match: self._match,
        }
        if hasattr(ast, "TryStar"):
            self._statements[ast.TryStar] = self._try
        self._expressions: dict[type, Callable[[Any], Paths]] = {
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Call: self._call,
            ast.Constant: self._constant,
            ast.JoinedStr: self._joined,
            ast.Compare: self._compare,
            ast.Lambda: self._lambda,
            ast.NamedExpr: self._named,
            ast.IfExp: self._conditional,
            ast.BoolOp: self._either,
            ast.Dict: self._dict,
            ast.Subscript: self._subscript,
            ast.ListComp: self._comprehension,
            ast.SetComp: self._comprehension,
            ast.GeneratorExp: self._comprehension,
            ast.DictComp: self._comprehension,
        }

    def read(self, tree: ast.Module) -> None:
        """Tell the judge of everything in the module."""
        module, bound = self._scope, -1
        # A function may bind names outside of it, which others see: then everything is read again.
        for _ in range(3):
            self._scope = Scope(from_inside=module.from_inside)
            self._body(tree.body)
            self._functions()
            before, bound = bound, sum(map(_size, (module.from_inside, *self._from_inside.values())))
            if bound == max(before, 0):
                return

    def _functions(self) -> None:
        """Read the bodies of functions that have been put off, and of those within them."""
        module = self._scope
        while self._later:
            node, scope, given = self._later.pop()
            self._scope = Scope(scope, from_inside=self._from_inside.setdefault(id(node), {}))
            for argument in _arguments(node.args):
                self._scope.bind(argument, given.get(argument, NOTHING) | OTHER)
            if isinstance(node, ast.Lambda):
                self._expr(node.body)
            else:
                self._body(node.body)
        self._scope = module

    # Statements

    def _body(self, statements: Sequence[ast.stmt]) -> None:
        for node in statements:
            act = self._statements.get(type(node))
            if act is not None:
                act(node)
            else:
                self._children(node)

    def _children(self, node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self._expr(child)
            elif isinstance(child, (ast.keyword, ast.Starred)):
                self._expr(child.value)

    def _expression_statement(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring, or a string that is a comment
            self._expr(node.value)

    def _assign(self, node: ast.Assign) -> None:
        paths = self._expr(node.value)
        parts = self._parts(node.value)
        for target in node.targets:
            self._bind(target, paths, parts)

    def _annotated(self, node: ast.AnnAssign) -> None:
        self._expr(node.annotation)
        if node.value is not None:
            self._bind(node.target, self._expr(node.value))
        elif not isinstance(node.target, ast.Name):
            self._expr(node.target)

    def _augmented(self, node: ast.AugAssign) -> None:
        self._expr(node.value)
        self._bind(node.target, OTHER)

    def _parts(self, value: ast.expr) -> Parts:
        """What the elements of a tuple stand for, each with its own: asked before the first of them is assigned."""
        if not isinstance(value, (ast.Tuple, ast.List)) or any(
            isinstance(element, ast.Starred) for element in value.elts
        ):
            return []
        return [(self._silent(element), self._parts(element)) for element in value.elts]

    def _bind(self, target: ast.expr, paths: Paths, parts: Parts = ()) -> None:
        """Assign to a target; `parts` are those of what is assigned, where a tuple may be taken apart."""
        if isinstance(target, ast.Name):
            self._scope.bind(target.id, paths or OTHER)
        elif isinstance(target, (ast.Tuple, ast.List)):
            fits = len(parts) == len(target.elts) and not any(
                isinstance(element, ast.Starred) for element in target.elts
            )
            for number, element in enumerate(target.elts):
                self._bind(element, *(parts[number] if fits else (OTHER, ())))
        elif isinstance(target, ast.Starred):
            self._bind(target.value, OTHER)
        else:
            self._expr(target)

    def _silent(self, node: ast.expr) -> Paths:
        """What an expression that has been read stands for."""
        return self._chain_of(node) if isinstance(node, (ast.Name, ast.Attribute)) else OTHER

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._judge.imported(node, alias.name)
            path = alias.name if alias.asname else alias.name.partition(".")[0]
            self._scope.bind(alias.asname or path, frozenset({path}))

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = "." * node.level + (node.module or "")
        for alias in node.names:
            if alias.name == "*":
                self._judge.imported(node, module)
                self._scope.stars.append(module)
                continue
            path = f"{module}.{alias.name}"
            self._judge.imported(node, path)
            self._scope.bind(alias.asname or alias.name, frozenset({path}))

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        makers = [decorator.func if isinstance(decorator, ast.Call) else decorator for decorator in node.decorator_list]
        for decorator in node.decorator_list:
            self._expr(decorator)
        self._judge.function(node, [self._silent(decorator) for decorator in makers])
        given = self._signature(node.args)
        if node.returns is not None:
            self._expr(node.returns)
        self._scope.bind(node.name, OTHER)
        self._later.append((node, self._scope, given))

    def _signature(self, arguments: ast.arguments) -> Given:
        """Read what stands in a signature; what its defaults stand for."""
        given = {name: self._expr(default) for name, default in defaults(arguments)}
        every = (*arguments.posonlyargs, *arguments.args, arguments.vararg, *arguments.kwonlyargs, arguments.kwarg)
        for argument in every:
            if argument is not None and argument.annotation is not None:
                self._expr(argument.annotation)
        return given

    def _class(self, node: ast.ClassDef) -> None:
        for expression in (*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)):
            self._expr(expression)
        outer = self._scope
        self._scope = Scope(outer, of_class=_bound(node.body))
        self._body(node.body)
        mark = f"{OF_A_CLASS}{id(node)}"
        self._classes[mark] = self._scope
        self._scope = outer
        outer.bind(node.name, OTHER | {mark})

    def _if(self, node: ast.If) -> None:
        self._expr(node.test)
        self._branches([node.body, node.orelse])

    def _branches(self, bodies: Iterable[Sequence[ast.stmt]]) -> None:
        before, after = self._scope.state(), []
        for body in bodies:
            self._scope.now = dict(before)
            self._body(body)
            after.append(self._scope.now)
        self._scope.merge(*after)

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        self._expr(node.iter)
        before = self._scope.state()
        for _ in range(2):  # names that the end of the body binds are seen at its beginning
            self._bind(node.target, OTHER)
            self._body(node.body)
            self._scope.merge(before, self._scope.now)
        self._body(node.orelse)

    def _while(self, node: ast.While) -> None:
        before = self._scope.state()
        for _ in range(2):
            self._expr(node.test)
            self._body(node.body)
            self._scope.merge(before, self._scope.now)
        self._body(node.orelse)

    def _try(self, node: Any) -> None:
        """What ends it runs after any part of the others, where one of them raises, and after all of them."""
        before = self._scope.state()
        with self._scope.recording() as bound:
            self._tried(node, before)
        if node.finalbody:
            normal = self._scope.state()
            self._scope.merge(before, bound, normal)
            self._body(node.finalbody)
            self._scope.now = normal
        self._body(node.finalbody)

    def _tried(self, node: Any, before: dict[str, Paths]) -> None:
        """A handler may run after any part of the body; what it sees is what was bound before, or there."""
        with self._scope.recording() as bound:
            self._body(node.body)
        self._body(node.orelse)
        ends = [self._scope.state()]
        for handler in node.handlers:
            self._scope.merge(before, bound)
            if handler.type is not None:
                self._expr(handler.type)
            if handler.name:
                self._scope.bind(handler.name, OTHER)
            self._body(handler.body)
            if handler.name:
                self._scope.delete(handler.name)
            ends.append(self._scope.state())
        self._scope.merge(*ends)

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            self._expr(item.context_expr)
            if item.optional_vars is not None:
                self._bind(item.optional_vars, OTHER)
        before = self._scope.state()
        with self._scope.recording() as bound:
            self._body(node.body)
        if any(map(_ends_errors, node.items)):
            self._scope.merge(before, bound, self._scope.state())

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self._scope.delete(target.id)
            else:
                self._expr(target)

    def _match(self, node: ast.Match) -> None:
        subject = self._expr(node.subject) or OTHER
        before, after = self._scope.state(), []
        for case in node.cases:
            self._scope.now = dict(before)
            for part in ast.walk(case.pattern):
                name = getattr(part, "name", None) or getattr(part, "rest", None)
                if isinstance(name, str):
                    self._scope.bind(name, subject if part is case.pattern else OTHER)
                if isinstance(part, ast.MatchValue):
                    self._expr(part.value)
            if case.guard is not None:
                self._expr(case.guard)
            matched = self._scope.state()
            self._body(case.body)
            after.append(self._scope.now)
            self._scope.merge(before, matched)  # where it does not match, after some of it did
            before = self._scope.now
        self._scope.merge(before, *after)

    # Expressions: each returns what it stands for

    def _expr(self, node: ast.expr) -> Paths:
        act = self._expressions.get(type(node))
        if act is not None:
            return act(node)
        self._children(node)
        return NOTHING

    def _name(self, node: ast.Name) -> Paths:
        paths = self._chain_of(node)
        if known(paths) and isinstance(node.ctx, ast.Load):
            self._judge.name(node, known(paths))
        return paths

    def _attribute(self, node: ast.Attribute) -> Paths:
        paths = self._chain_of(node)
        if known(paths):
            self._judge.name(node, known(paths))
            return paths
        self._judge.attribute(node)
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            inner = inner.value
            if isinstance(inner, ast.Attribute):
                self._judge.attribute(inner)
        if not isinstance(inner, ast.Name):
            base = known(self._expr(inner))  # getattr(torch, "cuda").empty_cache
            names = _attributes(node)
            reached = frozenset(".".join([path, *names]) for path in base)
            if reached:
                self._judge.name(node, reached)
            return reached
        return NOTHING

    def _chain_of(self, node: ast.expr) -> Paths:
        """What a name with its attributes stands for, without telling anybody."""
        names = _attributes(node)
        while isinstance(node, ast.Attribute):
            node = node.value
        if not isinstance(node, ast.Name):
            return NOTHING
        paths = self._scope.find(node.id)
        if paths is None:
            stars = [module for module in self._scope.starred() if self._judge.is_listed(module, node.id)]
            paths = frozenset(f"{module}.{node.id}" for module in stars)
        if not names:
            return paths
        return frozenset().union(*(self._below(path, names) for path in paths - OTHER))

    def _below(self, path: str, names: Sequence[str]) -> Paths:
        """What attributes of a path stand for."""
        if path[0] != OF_A_CLASS:
            return frozenset({".".join([path, *names])})
        paths = self._classes[path].now.get(names[0], NOTHING)
        return frozenset().union(*(self._below(inner, names[1:]) for inner in paths - OTHER)) if names[1:] else paths

    def _call(self, node: ast.Call) -> Paths:
        paths = known(self._expr(node.func))
        self._judge.call(node, paths)
        for argument in node.args:
            self._expr(argument.value if isinstance(argument, ast.Starred) else argument)
        for keyword in node.keywords:
            self._expr(keyword.value)
        return self._imported_by_call(node, paths)

    def _imported_by_call(self, node: ast.Call, paths: Paths) -> Paths:
        """importlib.import_module("torch.cuda"), __import__("torch"), getattr(torch, "cuda")."""
        name = node.func.id if isinstance(node.func, ast.Name) and not paths else ""
        if (paths & _IMPORTING or name == "__import__") and node.args:
            path = _string(node.args[0])
            if path and name == "__import__":
                path = path.partition(".")[0]
            return frozenset({path}) if path else NOTHING
        if name == "getattr" and len(node.args) >= 2:
            attribute = _string(node.args[1])
            base = known(self._silent(node.args[0]))
            reached = frozenset(f"{path}.{attribute}" for path in base) if attribute else NOTHING
            if reached:
                self._judge.name(node, reached)
            return reached
        return NOTHING

    def _constant(self, node: ast.Constant) -> Paths:
        if isinstance(node.value, str):
            self._judge.text(node)
        return NOTHING

    def _joined(self, node: ast.JoinedStr) -> Paths:
        self._judge.text(node)
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self._expr(part.value)
        return NOTHING

    def _compare(self, node: ast.Compare) -> Paths:
        self._judge.compare(node)
        self._children(node)
        return NOTHING

    def _lambda(self, node: ast.Lambda) -> Paths:
        self._later.append((node, self._scope, self._signature(node.args)))
        return NOTHING

    def _named(self, node: ast.NamedExpr) -> Paths:
        paths = self._expr(node.value)
        self._scope.bind(node.target.id, paths or OTHER)
        return paths

    def _conditional(self, node: ast.IfExp) -> Paths:
        self._expr(node.test)
        return self._expr(node.body) | self._expr(node.orelse)

    def _either(self, node: ast.BoolOp) -> Paths:
        return frozenset().union(*[self._expr(value) for value in node.values])

    def _dict(self, node: ast.Dict) -> Paths:
        for key in node.keys:
            if key is not None and not isinstance(key, ast.Constant):
                self._expr(key)
        for value in node.values:
            self._expr(value)
        return NOTHING

    def _subscript(self, node: ast.Subscript) -> Paths:
        self._expr(node.value)
        if not isinstance(node.slice, ast.Constant):  # a key
            self._expr(node.slice)
        return NOTHING

    def _comprehension(self, node: Any) -> Paths:
        outer = self._scope
        self._scope = Scope(outer)
        if outer.is_class or outer.parent is not None or outer.now:
            self._scope.now = dict(outer.now)  # it runs here and now
        for generator in node.generators:
            self._expr(generator.iter)
            self._bind(generator.target, OTHER)
            for condition in generator.ifs:
                self._expr(condition)
        for part in ("key", "value", "elt"):
            inner = getattr(node, part, None)
            if inner is not None:
                self._expr(inner)
        self._scope = outer
        return NOTHING


def _attributes(node: ast.expr) -> list[str]:
    """The attributes behind the innermost expression of a chain."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return names[::-1]


def _arguments(arguments: ast.arguments) -> list[str]:
    every = (*arguments.posonlyargs, *arguments.args, arguments.vararg, *arguments.kwonlyargs, arguments.kwarg)
    return [argument.arg for argument in every if argument is not None]


def _ends_errors(item: ast.withitem) -> bool:
    """Whether what follows a block may run after an error in it: suppress(), pytest.raises(), self.assertRaises()."""
    function = item.context_expr.func if isinstance(item.context_expr, ast.Call) else item.context_expr
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name == "suppress" or "raises" in name.lower()


def _bound(body: Sequence[ast.stmt]) -> set[str]:
    """The names that the body of a class binds, or deletes."""
    names: set[str] = set()
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler)) and node.name:
            names.add(node.name)
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            pending.extend(ast.iter_child_nodes(node))
    return names


def _size(names: Given) -> int:
    """How much names stand for."""
    return sum(map(len, names.values()))


def _string(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
