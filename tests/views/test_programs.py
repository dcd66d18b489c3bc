"""In random programs of packages that call each other in every way that Python has, each question gets the view of who asks."""

from __future__ import annotations

import functools
import re
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from torchada.base.settings import Settings
from torchada.views import Views

pytestmark = [pytest.mark.once]

# As torch's own file says, whoever has changed the module.
COMPILED_FOR_CUDA = (
    re.search(r"^cuda\b.*= '", Path(torch.__file__).with_name("version.py").read_text(), re.M) is not None
)
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
        file.write_text(f"{'' if sees_cuda else 'KNOWN = torch_musa = None'}\n{HELPERS}\n{WAYS}")
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


Calls = list[tuple[str, str]]
PROGRAMS = st.lists(st.tuples(st.sampled_from(sorted(PACKAGES)), st.sampled_from(NAMES)), min_size=1, max_size=7)
Answer = tuple[object, bool]


def run(world: dict[str, types.ModuleType], calls: Calls, ask: Callable[[], object]) -> list[Answer]:
    """Each answer to `ask`, which looks at its caller, with the view of the code that asked: package calls package, way by way."""
    if not calls:
        return []
    (package, way), *inner = calls
    names = vars(world[package])
    names["ask_without_a_name"] = ask
    found = names[way](lambda: run(world, inner, ask), ask)
    expected = PACKAGES[package] or way == "nameless"
    return [each if isinstance(each, tuple) else (each, expected) for each in found]


@given(PROGRAMS)
@settings(max_examples=200, deadline=None)
def test_each_question_gets_the_view_of_the_code_that_asks(world: dict[str, types.ModuleType], calls: Calls) -> None:
    views = Views(Settings(strict=True, cache="/proc/nowhere"), "torch_musa")
    found = run(world, calls, lambda: views.sees_cuda(sys._getframe(1).f_globals))
    assert len(found) >= len(calls)
    assert [answer for answer, _ in found] == [expected for _, expected in found]
    seen = {name: views.decisions[name].sees_cuda for name in PACKAGES if name in views.decisions}
    assert seen.items() <= PACKAGES.items()


@pytest.mark.musa
@given(PROGRAMS)
@settings(max_examples=100, deadline=None)
def test_torch_answers_by_the_code_that_asks(world: dict[str, types.ModuleType], calls: Calls) -> None:
    version = functools.partial(getattr, torch.version, "cuda")
    for ask in (torch.cuda.is_available, torch.backends.cuda.is_built, version):
        found = run(world, calls, ask)
        always = (
            COMPILED_FOR_CUDA and ask is not torch.cuda.is_available
        )  # what torch was built with, MUSA's programs see
        assert [bool(answer) for answer, _ in found] == [always or expected for _, expected in found]
    device = torch.device("cuda", 1)
    for ask, text in ((functools.partial(getattr, device, "type"), "{}"), (functools.partial(str, device), "{}:1")):
        found = run(world, calls, ask)
        assert [answer for answer, _ in found] == [text.format("cuda" if seen else "musa") for _, seen in found]


def test_the_packages_differ(world: dict[str, types.ModuleType], tmp_path: Path) -> None:
    views = Views(Settings(strict=True, cache=str(tmp_path)), "torch_musa")
    assert {name: views.sees_cuda(vars(module)) for name, module in world.items()} == PACKAGES
