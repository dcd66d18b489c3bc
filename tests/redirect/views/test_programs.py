"""In random programs of packages that call each other in every way that Python has, each question gets the view of who asks."""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from torchada._settings import Settings
from torchada.redirect.views import Views

pytestmark = [pytest.mark.once]

# The packages, and whether each sees CUDA.
PACKAGES = {"of_cuda": True, "of_musa": False, "also_of_cuda": True}
# How one package calls another: `inner` asks in the called package, and `ask` in the code that calls it.
WAYS = """
def call(inner, ask):
    return [ask(), *inner(), ask()]
def callback(inner, ask):
    return [ask(), *call_in_other(lambda: ask()), *inner()]
def decorator(inner, ask):
    return wrap_in_other(lambda: [ask(), *inner()])()
def generator(inner, ask):
    def g():
        yield ask()
        yield from inner()
        yield ask()
    return list(g())
def driven(inner, ask):
    def g():
        yield ask()
        yield ask()
    return [*iterate_in_other(g()), *inner()]
def thread(inner, ask):
    return start_in_other(lambda: [ask(), *inner()])
def executed(inner, ask):
    names = dict(globals(), inner=inner, ask=ask)
    exec("out = [ask(), *inner()]", names)
    return names["out"]
def nameless(inner, ask):
    names = {"inner": inner, "ask": ask_without_a_name}
    exec("out = [ask(), *inner()]", names)
    return names["out"]
def body(inner, ask):
    class A:
        value = ask()
        @property
        def p(self): return ask()
    return [A.value, A().p, *inner()]
def sort(inner, ask):
    out = []
    sorted([2, 1], key=lambda x: out.append(ask()) or x)
    return out + inner()
def partial(inner, ask):
    return [*functools.partial(inner)(), *map(lambda _: ask(), [0])]
def context(inner, ask):
    @contextlib.contextmanager
    def c():
        yield ask()
    with c() as x:
        return [x, *inner()]
def reduced(inner, ask):
    return functools.reduce(lambda a, b: a + [ask()], [0, 0], []) + inner()
def coroutine(inner, ask):
    async def g(): return [ask(), *inner()]
    try: g().send(None)
    except StopIteration as end: return end.value
"""
HELPERS = """
import contextlib, functools, threading
def call_one(function): return [function()]
def wrap(function):
    @functools.wraps(function)
    def wrapper(*args): return function(*args)
    return wrapper
def iterate(generator): return [each for each in generator]
def start(function):
    found = []
    thread = threading.Thread(target=lambda: found.extend(function()))
    thread.start()
    thread.join()
    return found
"""


NAMES = re.findall(r"^def (\w+)", WAYS, re.MULTILINE)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, types.ModuleType]]:
    """The packages in sys.modules, with the ways of calling; two of them do not mention MUSA."""
    folder, made = tmp_path_factory.mktemp("packages"), {}
    for name, sees_cuda in PACKAGES.items():
        file = folder / f"{name}.py"
        file.write_text(f"{'' if sees_cuda else '# torch_musa'}\n{HELPERS}\n{WAYS}")
        module = made[name] = types.ModuleType(name)
        module.__file__ = str(file)
        sys.modules[name] = module
        exec(compile(file.read_text(), str(file), "exec"), vars(module))
    for module, other in zip(made.values(), [*list(made.values())[1:], made["of_cuda"]], strict=True):
        helpers = {"call_in_other": "call_one", "wrap_in_other": "wrap", "iterate_in_other": "iterate"}
        helpers["start_in_other"] = "start"
        vars(module).update({name: vars(other)[helper] for name, helper in helpers.items()})
    yield made
    for name in made:
        del sys.modules[name]


@given(st.lists(st.tuples(st.sampled_from(sorted(PACKAGES)), st.sampled_from(NAMES)), min_size=1, max_size=7))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_each_question_gets_the_view_of_the_code_that_asks(
    world: dict[str, types.ModuleType], calls: list[tuple[str, str]]
) -> None:
    views = Views(Settings(strict=True, cache="/proc/nowhere"), "torch_musa")

    def asking(expected: bool) -> Any:
        def ask() -> tuple[bool, bool]:
            return views.sees_cuda(sys._getframe(1).f_globals), expected

        return ask

    nameless = asking(True)

    def program(rest: list[tuple[str, str]]) -> list[tuple[bool, bool]]:
        if not rest:
            return []
        (package, way), *inner = rest
        names = vars(world[package])
        names["ask_without_a_name"] = nameless
        return names[way](lambda: program(inner), asking(PACKAGES[package]))  # type: ignore[no-any-return]

    found = program(calls)
    assert len(found) >= len(calls)
    assert [answer for answer, _ in found] == [expected for _, expected in found]
    seen = {name: views.decisions[name].sees_cuda for name in PACKAGES if name in views.decisions}
    assert seen.items() <= PACKAGES.items()


def test_the_packages_differ(world: dict[str, types.ModuleType], tmp_path: Path) -> None:
    views = Views(Settings(strict=True, cache=str(tmp_path)), "torch_musa")
    assert {name: views.sees_cuda(vars(module)) for name, module in world.items()} == PACKAGES
