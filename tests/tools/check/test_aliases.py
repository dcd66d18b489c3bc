"""What names stand for is followed through imports, assignments, branches, loops and functions.

The property tests write programs at random, run them with a torch that records which of its paths is used, and compare: whatever a
program uses is found; in a program without branches, nothing else is.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from torchada.tools.check.resolve import Reader
from torchada.tools.check.scopes import Paths

pytestmark = pytest.mark.once


class Uses:
    """A judge that remembers the arguments of calls to `use`."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self._at: dict[int, Paths] = {}
        self.by_line: dict[int, set[str]] = {}

    def name(self, node: ast.expr, paths: Paths) -> None:
        self.names |= paths
        self.by_line.setdefault(node.lineno, set()).update(paths)

    def is_listed(self, module: str, name: str) -> bool:
        return (module, name) in (("torch.cuda", "Stream"), ("torch", "cuda"))

    def attribute(self, node: ast.Attribute) -> None: ...
    def call(self, node: ast.Call, paths: Paths) -> None: ...
    def compare(self, node: ast.Compare) -> None: ...
    def text(self, node: ast.Constant | ast.JoinedStr) -> None: ...
    def imported(self, node: ast.stmt, path: str) -> None: ...
    def function(self, node: Any, decorators: Sequence[Paths]) -> None: ...


def uses(code: str) -> Uses:
    judge = Uses()
    Reader(judge).read(ast.parse(textwrap.dedent(code)))
    return judge


def used(code: str) -> set[str]:
    return uses(code).names


@pytest.mark.parametrize(
    "code",
    [
        "import torch\ntorch.cuda.Stream()",
        "import torch as t\nt.cuda.Stream()",
        "import torch.cuda\ntorch.cuda.Stream()",
        "import torch.cuda as c\nc.Stream()",
        "from torch import cuda\ncuda.Stream()",
        "from torch import cuda as c\nc.Stream()",
        "from torch.cuda import Stream\nStream()",
        "from torch.cuda import Stream as S\nS()",
        "from torch.cuda import *\nStream()",
        "from torch import *\ncuda.Stream()",
        "import torch\nc = torch.cuda\nc.Stream()",
        "import torch\na, c = 1, torch.cuda\nc.Stream()",
        "import torch\nx = y = torch.cuda\ny.Stream()",
        "import torch\nc: object = torch.cuda\nc.Stream()",
        "import torch\nif (c := torch.cuda):\n    c.Stream()",
        "import torch\nc = torch.cuda if flag else None\nc.Stream()",
        "import torch\nc = flag and torch.cuda\nc.Stream()",
        "import torch\ngetattr(torch, 'cuda').Stream()",
        "import importlib\nimportlib.import_module('torch.cuda').Stream()",
        "from importlib import import_module as load\nc = load('torch.cuda')\nc.Stream()",
        "__import__('torch').cuda.Stream()",
        "try:\n    from torch import cuda as c\nexcept ImportError:\n    c = None\nc.Stream()",
        "import torch\ntry:\n    c = torch.cuda\n    fail()\nexcept Exception:\n    c.Stream()",
        "import torch\ndef f():\n    c = torch.cuda\n    def g():\n        return c.Stream()\n    return g",
        "def f():\n    return c.Stream()\nimport torch\nc = torch.cuda",
        "import torch\ndef a():\n    global c\n    c = torch.cuda\ndef b():\n    c.Stream()",
        "import torch\nclass A:\n    c = torch.cuda\n    s = c.Stream()",
        "import torch\nfor i in x:\n    if i:\n        c.Stream()\n    c = torch.cuda",
        "import torch\nf = lambda c=torch.cuda: 0\ng = lambda: torch.cuda.Stream()",
        "import torch\n[torch.cuda.Stream() for i in x]",
        "import torch\nmatch x:\n    case 1:\n        c = torch.cuda\nc.Stream()",
        "import torch\nmatch torch.cuda:\n    case c:\n        c.Stream()",
        "import torch\nmatch torch.cuda:\n    case c if no:\n        pass\nc.Stream()",
        "import torch\nc = None\ndef f():\n    global c\n    c = torch.cuda\nf()\nc.Stream()",
        "import torch\ndef f():\n    c = None\n    def g():\n        nonlocal c\n        c = torch.cuda\n    g()\n    c.Stream()",
        "import torch\nf = lambda c=torch.cuda: c.Stream()",
        "import torch\ndef f(*, c=torch.cuda):\n    c.Stream()",
        "import torch\nclass A:\n    c = torch.cuda\nA.c.Stream()",
        "import torch\nclass A:\n    class B:\n        c = torch.cuda\nd = A\nd.B.c.Stream()",
        "import torch\nwith suppress(E):\n    c = torch.cuda\n    fail()\n    c = None\nc.Stream()",
        "import torch\ndef f(x: torch.cuda.Stream): ...",
        "import torch\n@torch.cuda.Stream\ndef f(): ...",
        "import torch\nasync def f():\n    async with torch.cuda.Stream() as s: ...",
        "import torch\nx = f'{torch.cuda.Stream()}'",
    ],
)
def test_a_use_is_found_through_any_alias(code: str) -> None:
    assert "torch.cuda.Stream" in used(code)


@pytest.mark.parametrize(
    "code",
    [
        "import torch\ntorch = make()\ntorch.cuda.Stream()",
        "from torch import cuda\ndef f(cuda):\n    cuda.Stream()",
        "from torch import cuda\nf = lambda cuda: cuda.Stream()",
        "from torch import cuda\n[cuda.Stream() for cuda in x]",
        "from torch import cuda\nwith x as cuda:\n    cuda.Stream()",
        "from torch import cuda\nfor cuda in x:\n    cuda.Stream()",
        "from numba import cuda\ncuda.Stream()",
        "from .torch import cuda\ncuda.Stream()",
        "import torch\nclass A:\n    c = torch.cuda\n    def f(self):\n        c.Stream()",
        "from torch import cuda\ndel cuda\n",
        "import torch\nclass A:\n    c = torch.cuda\n    c = None\nA.c.Stream()",
        "import torch\nc = None\ndef f():\n    c = torch.cuda\nf()\nc.Stream()",
        "import torch\nwith open(x) as f:\n    c = torch.cuda\n    c = None\nc.Stream()",
        "from torch import cuda\ndef cuda(): ...\ncuda.Stream()",
        "from torch import cuda\nclass cuda: ...\ncuda.Stream()",
    ],
)
def test_a_name_that_stands_for_something_else_is_left_alone(code: str) -> None:
    assert "torch.cuda.Stream" not in used(code)


# Programs at random. A value is a path below torch, or None; names are few, so that they are shadowed often.

NAMES = ("a", "b", "c", "torch")
PARTS = ("cuda", "amp", "Stream")


class Torch:
    """Stands for a path below torch: its attributes are those below it. `seen` are the paths that a program hands to `use`."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __getattr__(self, name: str) -> Torch:
        return Torch(f"{self._path}.{name}")


class Suppress:
    """As contextlib.suppress(Exception)."""

    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> bool:
        return True


class Held:
    """A context that hands over what it was made with."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __enter__(self) -> object:
        return self._value

    def __exit__(self, *error: object) -> None: ...


def expressions() -> st.SearchStrategy[str]:
    chain = st.builds(
        lambda name, parts: ".".join([name, *parts]),
        st.sampled_from(NAMES),
        st.lists(st.sampled_from(PARTS), max_size=2),
    )
    return st.one_of(chain, chain, st.just("None"))


def simple() -> st.SearchStrategy[list[str]]:
    name = st.sampled_from(NAMES)
    return st.one_of(
        st.builds(lambda a, e: [f"{a} = {e}"], name, expressions()),
        st.builds(lambda a, b, e, f: [f"{a}, {b} = {e}, {f}"], name, name, expressions(), expressions()),
        st.builds(lambda e: [f"use({e})"], expressions()),
        st.builds(lambda a, e: [f"use(({a} := {e}))"], name, expressions()),
        st.builds(lambda a: [f"del {a}"], name),
    )


def indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines] or ["    pass"]


def blocks(inner: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    name, flag = st.sampled_from(NAMES), st.sampled_from(("True", "False"))
    body = st.lists(inner, min_size=1, max_size=3).map(lambda parts: [line for part in parts for line in part])
    return st.one_of(
        rarer_blocks(name, flag, body),
        st.builds(lambda f, a, b: [f"if {f}:", *indented(a), "else:", *indented(b)], flag, body, body),
        st.builds(lambda a: ["for i in (1, 2):", *indented(a)], body),
        st.builds(lambda n, a: [f"for {n} in (None,):", *indented(a)], name, body),
        st.builds(lambda a, b: ["try:", *indented([*a, "fail()"]), "except Exception:", *indented(b)], body, body),
        st.builds(lambda a, b: ["try:", *indented(a), "except Exception:", *indented(b)], body, body),
        st.builds(lambda n, a: [f"def f({n}=None):", *indented(a), "run(f)"], name, body),
        st.builds(lambda a: ["class A:", *indented(a)], body),
        blocks_bound_elsewhere(name, body),
    )


def blocks_bound_elsewhere(
    name: st.SearchStrategy[str], body: st.SearchStrategy[list[str]]
) -> st.SearchStrategy[list[str]]:
    """Blocks that bind names outside of them, or by what stands elsewhere."""
    return st.one_of(
        st.builds(lambda n, a: ["def f():", f"    global {n}", *indented(a), "run(f)", f"use({n})"], name, body),
        st.builds(
            lambda n, e, a, b: [
                "def f():",
                *indented([f"{n} = {e}", "def g():", f"    nonlocal {n}", *indented(a), "run(g)", f"use({n})", *b]),
                "run(f)",
            ],
            name,
            expressions(),
            body,
            body,
        ),
        st.builds(lambda n, e, a: [f"def f({n}={e}):", *indented(a), "run(f)"], name, expressions(), body),
        st.builds(lambda n, e, m: [f"g = lambda {n}={e}: use({m})", "run(g)"], name, expressions(), name),
        st.builds(lambda a, n: ["class A:", *indented(a), f"use(A.{n})"], body, name),
        st.builds(
            lambda e, n, f, a: [f"match {e}:", f"    case {n}{f}:", *indented(indented(a)), f"use({n})"],
            expressions(),
            name,
            st.sampled_from(("", " if False")),
            body,
        ),
        st.builds(lambda a, b: ["with suppress():", *indented([*a, "fail()", *b])], body, body),
    )


def rarer_blocks(
    name: st.SearchStrategy[str], flag: st.SearchStrategy[str], body: st.SearchStrategy[list[str]]
) -> st.SearchStrategy[list[str]]:
    """Blocks in which names are bound in other ways: by a context, a comprehension, a lambda, a condition."""
    return st.one_of(
        st.builds(lambda n, a: [f"with held(None) as {n}:", *indented(a)], name, body),
        st.builds(lambda f, a, b: [f"while {f}:", *indented([*a, "break"]), "else:", *indented(b)], flag, body, body),
        st.builds(
            lambda a, b, c: ["try:", *indented(a), "except Exception:", *indented(b), "else:", *indented(c)],
            body,
            body,
            body,
        ),
        st.builds(lambda a, b: ["try:", *indented(a), "finally:", *indented(b)], body, body),
        st.builds(lambda n, m: [f"[use({m}) for {n} in (None, 1)]", f"use({n})"], name, name),
        st.builds(lambda n, m: [f"g = lambda {n}=None: use({m})", "run(g)"], name, name),
        st.builds(lambda n, e, a: [f"if ({n} := {e}):", *indented(a)], name, expressions(), body),
    )


def programs(inner: st.SearchStrategy[list[str]]) -> st.SearchStrategy[str]:
    return st.lists(inner, max_size=8).map(
        lambda parts: "\n".join(["import torch", *(line for part in parts for line in part)])
    )


def really_used(code: str) -> set[str]:
    """The paths that the program hands to `use` when it is run, up to its first error."""
    seen: set[str] = set()

    def use(value: object) -> None:
        if isinstance(value, Torch):
            seen.add(value._path)

    def run(function: Any) -> None:
        try:
            function()
        except Exception:
            pass

    space = {"__import__": None, "use": use, "run": run, "held": Held, "suppress": Suppress}
    space["__builtins__"] = {
        "__import__": lambda *given: Torch("torch"),
        "Exception": Exception,
        "__build_class__": __build_class__,
    }
    space["__name__"] = "program"
    try:
        exec(compile(code, "program", "exec"), space)
    except Exception:
        pass
    return seen


def handed_over(code: str) -> set[str]:
    """What the reader says is handed to `use`."""
    calls: set[int] = set()
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "use":
            argument = node.args[0]
            calls.add(id(argument.value if isinstance(argument, ast.NamedExpr) else argument))

    class OfCalls(Uses):
        def name(self, node: ast.expr, paths: Paths) -> None:
            if id(node) in calls:
                self.names |= paths

    judge = OfCalls()
    Reader(judge).read(tree)
    return judge.names


IN_A_CLASS = """\
import torch
def f(torch=None):
    class A:
        use((torch := torch))
run(f)
"""


@pytest.mark.full
@settings(max_examples=300, deadline=None)
@example(IN_A_CLASS)
@example("import torch\nclass A:\n    if False:\n        torch = None\n    use(torch)")
@example("import torch\ntry:\n    c = torch\n    a = None\n    c = a\n    fail()\nexcept Exception:\n    use(c)")
@example(
    "import torch\ntry:\n    try:\n        torch = c.cuda\n    finally:\n        use(torch)\nexcept Exception:\n    pass"
)
@example("import torch\na = None\ndef f():\n    global a\n    a = torch\nrun(f)\nuse(a)")
@example(
    "import torch\ndef f():\n    a = None\n    def g():\n        nonlocal a\n        a = torch\n    run(g)\n    use(a)\nrun(f)"
)
@example("import torch\ng = lambda a=torch: use(a)\nrun(g)")
@example("import torch\nclass A:\n    a = torch\nuse(A.a)")
@example("import torch\nmatch torch:\n    case a if False:\n        pass\nuse(a)")
@example("import torch\nwith suppress():\n    a = torch\n    fail()\n    a = None\nuse(a)")
@given(programs(st.recursive(simple(), blocks, max_leaves=12)))
def test_whatever_a_program_uses_is_found(code: str) -> None:
    assert really_used(code) <= handed_over(code), code


@settings(max_examples=200, deadline=None)
@given(programs(simple()))
@example("import torch\ntorch, b = None, torch\nuse(b)")
@example("import torch\n(torch, a), b = (None, torch), torch\nuse(a)\nuse(b)")
@example("import torch\ntorch = a, b = torch, None\nuse(a)")
def test_of_a_straight_program_nothing_else_is_found(code: str) -> None:
    try:
        compile(code, "program", "exec")
        exec(
            compile(code.replace("use(", "("), "program", "exec"),
            {"__builtins__": {"__import__": lambda *given: Torch("torch")}},
        )
    except Exception:
        return  # it ends early: what follows is found all the same
    assert handed_over(code) == really_used(code), code
