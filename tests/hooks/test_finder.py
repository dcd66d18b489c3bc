"""The finder and its loader: they do not affect modules they do not watch, and leave no trace on those they do.

The mechanics do not depend on the contents of torch, so tiny packages of that name replace it where the real one is not needed.
A `torch_musa` is there to make the hook act: where no adapter is installed, torch is executed by its own loader alone.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from support.interpreter import Interpreter

pytestmark = pytest.mark.once

# A torch that counts its executions, and an adapter for it.
TORCH = """
import sys
from types import SimpleNamespace
runs = globals().get("runs", 0) + 1
musa = SimpleNamespace(is_available=lambda: False)
cuda = SimpleNamespace(device_count=lambda: 0)
version = SimpleNamespace(cuda=None)
"""
# All areas are skipped, because the tests here are about the finder.
NO_AREAS = "tensors,cuda,precision,dispatch,compiler,distributed,native,libraries"
# DeviceNames needs a real torch; its contents do not matter here.
CONTEXT = """
import torchada.redirect.context
torchada.redirect.context.DeviceNames = lambda torch, device_type: None
"""
RUN = "import sys; runpy.run_path(sys.argv[1], run_name='__main__')"
SEEN = """
def seen(module):
    "The types at every place where the true loader must be visible."
    return {type(value).__module__ for value in (module.__loader__, module.__spec__.loader, module.__spec__)}
"""


class Fake:
    """A folder of small packages, and an interpreter that has it first on sys.path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.package("torch", TORCH)
        self.package("torch_musa", "import torch\n")

    def package(self, name: str, body: str) -> None:
        (self.folder / name).mkdir(exist_ok=True)
        (self.folder / name / "__init__.py").write_text(textwrap.dedent(body))

    def run(self, plain: Interpreter, code: str, **options: object) -> str:
        path = f"sys.path.insert(0, {str(self.folder)!r}); sys.dont_write_bytecode = True"
        preamble = f"import sys, _torchada_startup\n{path}\n{CONTEXT}{SEEN}"
        script = self.folder / "script.py"
        script.write_text(preamble + textwrap.dedent(code))
        # A deadlock ends in a traceback of every thread, not in a run that has to be killed.
        arguments = [
            "-c",
            f"import faulthandler, runpy; faulthandler.dump_traceback_later(30, exit=True); {RUN}",
            str(script),
        ]
        return plain.run(arguments, env={"TORCHADA_SKIP_AREAS": NO_AREAS}, **options).stdout  # type: ignore[arg-type]


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    return Fake(tmp_path)


def test_unwatched_names_are_answered_by_one_look_up(plain: Interpreter) -> None:
    plain.run(
        """
        from _torchada_startup import FINDER
        class Watched(dict):
            asked = []
            def __contains__(self, name):
                self.asked.append(name)
                return dict.__contains__(self, name)
            def get(self, name, default=None): raise AssertionError(name)
            __getitem__ = get
        FINDER.watched = Watched(FINDER.watched)
        FINDER.ask_remaining = None
        assert FINDER.find_spec("colorsys") is None
        assert FINDER.find_spec("torch.nn", ["/nowhere"]) is None
        assert Watched.asked == ["colorsys", "torch.nn"]
        """
    )


def test_the_finder_is_first_and_installed_once(plain: Interpreter) -> None:
    plain.run(
        """
        import sys
        import _torchada_startup as startup
        startup.install(), startup.install()
        assert sys.meta_path[0] is startup.FINDER
        assert sys.meta_path.count(startup.FINDER) == 1
        """
    )


def test_find_spec_imports_nothing(plain: Interpreter, fake: Fake) -> None:
    """find_spec is called while the interpreter's import lock is held; the loader is called without it."""
    fake.run(
        plain,
        """
        from importlib.util import find_spec
        before = set(sys.modules)
        assert find_spec("torch") and find_spec("torch_musa")
        assert set(sys.modules) == before, set(sys.modules) - before
        """,
    )


def test_the_loader_leaves_no_trace_on_module_and_spec(plain: Interpreter, fake: Fake) -> None:
    fake.run(
        plain,
        """
        import torch
        assert "torchada.hooks.activation" in sys.modules, "not hooked at all"
        for name in ("torch", "torch_musa"):
            module = sys.modules[name]
            assert seen(module) == {"_frozen_importlib_external", "_frozen_importlib"}, (name, seen(module))
            assert module.__spec__.loader is module.__loader__
            assert module.__spec__.origin == module.__file__
        """,
    )


def test_the_loader_is_gone_while_the_module_is_executed(plain: Interpreter, fake: Fake) -> None:
    fake.package("torch", TORCH + "loaders = (type(__loader__).__module__, type(__spec__.loader).__module__)\n")
    out = fake.run(plain, "import torch; print(*torch.loaders)")
    assert out.split() == ["_frozen_importlib_external"] * 2


def test_source_data_and_resources_of_a_hooked_module_are_found(plain: Interpreter, fake: Fake) -> None:
    (fake.folder / "torch" / "data.txt").write_text("data")
    fake.run(
        plain,
        """
        import inspect, pkgutil, importlib.resources
        import torch
        assert "runs = " in inspect.getsource(torch)
        assert pkgutil.get_data("torch", "data.txt") == b"data"
        assert importlib.resources.files("torch").joinpath("data.txt").read_text() == "data"
        assert [found.name for found in pkgutil.iter_modules(torch.__path__)] == []
        """,
    )


def test_find_spec_before_the_import_shows_the_true_file(plain: Interpreter, fake: Fake) -> None:
    """Programs do this to find out whether torch is installed: they see the true file, and nothing is decided yet."""
    fake.run(
        plain,
        """
        import os
        from importlib.util import find_spec
        os.environ["CUDA_VISIBLE_DEVICES"] = "1"
        spec = find_spec("torch")
        assert spec.origin.endswith("torch/__init__.py") and spec.submodule_search_locations
        assert "runs = " in spec.loader.get_source("torch")
        assert spec.loader.get_filename("torch") == spec.origin
        assert "MUSA_VISIBLE_DEVICES" not in os.environ
        import torch
        assert torch.runs == 1 and seen(torch) == {"_frozen_importlib_external", "_frozen_importlib"}
        assert os.environ["MUSA_VISIBLE_DEVICES"] == "1"
        """,
    )


def test_find_spec_before_sys_path_is_complete_decides_nothing(plain: Interpreter, fake: Fake) -> None:
    (fake.folder / "later").mkdir()
    (fake.folder / "torch_musa").rename(fake.folder / "later" / "torch_musa")
    fake.run(
        plain,
        """
        from importlib.util import find_spec
        assert find_spec("torch") and not find_spec("torch_musa")
        sys.path.insert(1, sys.path[0] + "/later")
        import torch
        assert "torch_musa" in sys.modules
        """,
    )


def test_a_module_made_from_a_spec_by_hand_is_executed_once(plain: Interpreter, fake: Fake) -> None:
    fake.run(
        plain,
        """
        from importlib.util import find_spec, module_from_spec
        spec = find_spec("torch")
        torch = module_from_spec(spec)
        sys.modules["torch"] = torch
        spec.loader.exec_module(torch)
        assert torch.runs == 1 and seen(torch) == {"_frozen_importlib_external", "_frozen_importlib"}
        """,
    )


def test_a_lazy_loader_stays_lazy_and_is_hooked(plain: Interpreter, fake: Fake) -> None:
    fake.run(
        plain,
        """
        from importlib.util import LazyLoader, find_spec, module_from_spec
        spec = find_spec("torch")
        spec.loader = LazyLoader(spec.loader)
        torch = module_from_spec(spec)
        sys.modules["torch"] = torch
        spec.loader.exec_module(torch)
        assert "torch_musa" not in sys.modules, "not lazy"
        assert torch.runs == 1
        assert "torch_musa" in sys.modules, "not hooked"
        assert seen(torch) == {"_frozen_importlib_external", "_frozen_importlib"}, seen(torch)
        """,
    )


def test_a_reload_executes_torch_again_and_leaves_no_trace(plain: Interpreter, fake: Fake) -> None:
    fake.run(
        plain,
        """
        import importlib, torch
        again = importlib.reload(torch)
        assert again is torch and torch.runs == 2
        assert seen(torch) == {"_frozen_importlib_external", "_frozen_importlib"}
        """,
    )


def test_a_function_defined_by_a_reload_is_redirected_again(plain: Interpreter, fake: Fake) -> None:
    fake.package("torch._late", "def function(): return 'original'\n")
    (fake.folder / "torch" / "_late").mkdir()
    (fake.folder / "torch" / "_late" / "__init__.py").write_text("def function(): return 'original'\n")
    out = fake.run(
        plain,
        """
        import importlib
        from types import SimpleNamespace
        from torchada.hooks.registry import REGISTRY
        from torchada.redirect.engine import Patch

        def patches(context):
            late = sys.modules["torch._late"]
            original = late.function
            yield Patch(late, "function", lambda: "redirected " + original(), "a test")

        REGISTRY.added["late"] = SimpleNamespace(AREAS={"torch._late": ("late",)}, late=patches)
        import torch._late
        print(torch._late.function())
        importlib.reload(torch._late)
        print(torch._late.function())
        import torchada
        torchada.disable()
        print(torch._late.function())
        """,
    )
    assert out.splitlines() == ["redirected original", "redirected original", "original"]


def test_an_area_is_applied_once_another_thread_has_imported_its_module(plain: Interpreter, fake: Fake) -> None:
    """The module was not watched when its execution began; the area is applied when the execution ends."""
    fake.package("slow", "import sys\nsys.begun.set(); assert sys.go_on.wait(60)\nvalue = 'original'\n")
    fake.package(
        "torch_musa",
        """
        import sys, threading, torch
        sys.begun, sys.go_on = threading.Event(), threading.Event()
        thread = threading.Thread(target=__import__, args=("slow",))
        thread.start()
        assert sys.begun.wait(60)
        """,
    )
    out = fake.run(
        plain,
        """
        from types import SimpleNamespace
        from torchada.hooks.registry import REGISTRY
        from torchada.redirect.engine import Patch

        def patches(context):
            yield Patch(sys.modules["slow"], "value", "redirected", "a test")

        REGISTRY.added["slow"] = SimpleNamespace(AREAS={"slow": ("slow",)}, slow=patches)
        import torch_musa
        assert not hasattr(sys.modules["slow"], "value")
        sys.go_on.set()
        torch_musa.thread.join()
        print(sys.modules["slow"].value)
        """,
    )
    assert out.strip() == "redirected"


def test_a_torch_that_raises_on_import_is_hooked_at_the_next_attempt(plain: Interpreter, fake: Fake) -> None:
    """The user sees the module's own error, and the next attempt is hooked like the first."""
    fake.package("torch", "import sys\nif not hasattr(sys, 'second'): raise ValueError('broken')\n" + TORCH)
    fake.run(
        plain,
        """
        try:
            import torch
        except ValueError as error:
            assert str(error) == "broken" and error.__cause__ is None and error.__context__ is None
        assert "torch" not in sys.modules and "torch_musa" not in sys.modules
        sys.second = True
        import torch
        assert "torch_musa" in sys.modules
        """,
    )


def test_a_missing_torch_raises_the_usual_error(plain: Interpreter, fake: Fake) -> None:
    fake.run(
        plain,
        """
        sys.path[:] = []
        sys.path_importer_cache.clear()
        try:
            import torch
        except ModuleNotFoundError as error:
            assert str(error) == "No module named 'torch'" and error.name == "torch"
        else:
            raise AssertionError
        """,
    )


def test_our_own_fault_does_not_break_the_import(plain: Interpreter, fake: Fake) -> None:
    done = fake.run(
        plain,
        """
        sys.modules["torchada.hooks.importer"] = None     # its import raises
        sys.stderr = sys.stdout
        import torch
        assert torch.runs == 1
        """,
    )
    assert done.startswith("torchada: not started: ModuleNotFoundError")


# Instruments our modules as typeguard's import hook does: each call first evaluates the annotations of the function, and some of
# them name types that are imported for type checkers only.
INSTRUMENT = """
import functools, importlib.util, types, typing
class Instrument:
    busy = False
    def find_spec(self, name, path=None, target=None):
        if self.busy or not name.startswith("torchada.hooks"):
            return None
        self.busy = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.busy = False
        execute = spec.loader.exec_module
        def exec_module(module):
            execute(module)
            for key, value in list(vars(module).items()):
                if isinstance(value, types.FunctionType) and value.__module__ == name:
                    setattr(module, key, checked(value))
        spec.loader.exec_module = exec_module
        return spec

def checked(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        typing.get_type_hints(function)
        return function(*args, **kwargs)
    return call

sys.meta_path.insert(0, Instrument())
sys.stderr = sys.stdout
"""


def test_an_import_hook_that_instruments_us_does_not_break_the_import(plain: Interpreter, fake: Fake) -> None:
    done = fake.run(plain, INSTRUMENT + "import torch\nassert torch.runs == 1\n")
    assert done.startswith("torchada: not started: NameError: name 'Callable' is not defined")


@pytest.mark.parametrize("executes", [True, False])
def test_our_own_fault_around_the_execution_does_not_break_the_import(
    plain: Interpreter, fake: Fake, executes: bool
) -> None:
    done = fake.run(
        plain,
        f"""
        from torchada.hooks import importer
        def follow(name, execute, finder):
            {"execute()" if executes else "pass"}
            raise ValueError("ours")
        importer.follow = follow
        sys.stderr = sys.stdout
        import torch
        assert torch.runs == 1
        """,
    )
    assert done == "torchada: not started: ValueError: ours\n"


HOOK = """
import importlib.util
class Hook:
    "A usual import hook: it asks the whole import system again, and chains a loader."
    busy = False
    notified = 0
    def find_spec(self, name, path=None, target=None):
        if name != "torch" or self.busy:
            return None
        self.busy = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.busy = False
        if spec is not None and not isinstance(spec.loader, Chained):
            spec.loader = Chained(self, spec.loader)
        return spec

class Chained:
    def __init__(self, hook, loader):
        self.hook, self.loader = hook, loader
    def create_module(self, spec):
        return self.loader.create_module(spec)
    def exec_module(self, module):
        self.loader.exec_module(module)
        self.hook.notified += 1
"""


@pytest.mark.parametrize("order", ["first", "last", "both"])
def test_another_import_hook_works_before_and_after_ours(plain: Interpreter, fake: Fake, order: str) -> None:
    fake.run(
        plain,
        f"""
{textwrap.indent(HOOK, " " * 8)}
        hooks = [Hook() for _ in range({2 if order == "both" else 1})]
        if {order!r} != "last":
            sys.meta_path.insert(0, hooks[0])
        if {order!r} != "first":
            sys.meta_path.insert(sys.meta_path.index(_torchada_startup.FINDER) + 1, hooks[-1])
        import torch
        assert torch.runs == 1 and "torch_musa" in sys.modules
        assert all(hook.notified == 1 for hook in hooks)
        """,
    )


@pytest.mark.parametrize("first", ["wrapt", "torchada"])
def test_post_import_hooks_of_wrapt_are_called_once(plain: Interpreter, fake: Fake, first: str) -> None:
    fake.run(
        plain,
        f"""
        import wrapt
        told = []
        wrapt.when_imported("torch")(told.append)
        finder = _torchada_startup.FINDER
        if {first!r} == "torchada":
            sys.meta_path.remove(finder)
            sys.meta_path.insert(0, finder)
        assert sys.meta_path.index(finder) == {0 if first == "torchada" else 1}
        import torch
        assert told == [torch] and torch.runs == 1 and "torch_musa" in sys.modules
        assert seen(torch) == {{"_frozen_importlib_external", "_frozen_importlib"}}, seen(torch)
        """,
    )


OUTER = """
class Outer:
    def __init__(self, inner): self.inner = inner
    def create_module(self, spec): return self.inner.create_module(spec)
    def exec_module(self, module): self.inner.exec_module(module)

class Finder:
    "Chains a loader around whatever the others answer, and stays on the module."
    def find_spec(self, name, path=None, target=None):
        if name not in ("torch", "torch_musa"):
            return None
        for finder in sys.meta_path[sys.meta_path.index(self) + 1:]:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                spec.loader = Outer(spec.loader)
                return spec

sys.meta_path.insert(0, Finder())
"""


def test_a_loader_around_ours_stays(plain: Interpreter, fake: Fake) -> None:
    code = """
import torch
for module in (torch, sys.modules["torch_musa"]):
    assert type(module.__loader__) is type(module.__spec__.loader) is Outer
assert torch.runs == 1
"""
    fake.run(plain, OUTER + code)


def test_a_loader_around_the_stand_in_for_the_simulator_stays(plain: Interpreter) -> None:
    code = "import torch_musa; assert type(torch_musa.__loader__) is Outer, torch_musa.__loader__"
    plain.run("import sys\n" + OUTER + code, env={"TORCHADA_SIMULATE": "1"})


def test_the_spec_can_be_copied_pickled_and_compared(plain: Interpreter, fake: Fake) -> None:
    """As without torchada; and a copy of it is hooked like the spec itself."""
    fake.run(
        plain,
        """
        import copy, pickle
        from importlib.machinery import SourceFileLoader
        from importlib.util import find_spec, module_from_spec
        spec = find_spec("torch")
        true = SourceFileLoader("torch", spec.origin)
        for same in (copy.copy(spec), copy.deepcopy(spec), pickle.loads(pickle.dumps(spec)), find_spec("torch")):
            assert same == spec and same.loader == spec.loader == true and hash(same.loader) == hash(true)
            assert isinstance(same.loader, SourceFileLoader) and vars(same.loader) == vars(true)
        assert true == spec.loader and spec.loader != SourceFileLoader("other", spec.origin)
        assert not hasattr(spec.loader, "no_such_name") and not hasattr(spec.loader, "__no_such_name__")
        spec.loader.seen = True
        assert spec.loader._torchada_loader.seen
        spec = copy.deepcopy(find_spec("torch"))
        sys.modules["torch"] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules["torch"])
        assert "torch_musa" in sys.modules
        """,
    )


def test_two_finders_execute_torch_once(plain: Interpreter, fake: Fake) -> None:
    fake.run(
        plain,
        """
        sys.meta_path.insert(1, _torchada_startup.HookFinder())
        import torch
        assert torch.runs == 1 and "torch_musa" in sys.modules
        assert seen(torch) == {"_frozen_importlib_external", "_frozen_importlib"}
        """,
    )


def test_finders_without_find_spec_are_ignored(plain: Interpreter, fake: Fake) -> None:
    """Python up to 3.11 warns of such finders and goes on; later versions ignore them. torchada ignores them, too."""
    fake.run(
        plain,
        """
        import warnings
        warnings.simplefilter("ignore", ImportWarning)
        class Legacy:
            def find_module(self, name, path=None): return None
        sys.meta_path.insert(1, Legacy())
        import torch
        assert torch.runs == 1 and "torch_musa" in sys.modules
        """,
    )


def test_a_namespace_package_has_no_loader_to_chain(plain: Interpreter, fake: Fake) -> None:
    """A folder without __init__.py, such as a checkout in the current directory, has no loader to chain."""
    (fake.folder / "torch_musa" / "__init__.py").unlink()
    fake.run(plain, "import torch_musa; assert torch_musa.__file__ is None")


def test_eight_threads_import_torch_once_without_deadlock(plain: Interpreter, fake: Fake) -> None:
    """Each thread begins with another module; all of them need torch, and none returns before it is complete."""
    fake.package("torch", "import time; time.sleep(0.2)\n" + TORCH)
    fake.package("torch_musa", "import time; time.sleep(0.1); import torch; time.sleep(0.1); complete = True\n")
    out = fake.run(
        plain,
        """
        import threading
        from importlib import import_module
        ours = ["torchada.hooks.activation", "torchada.control.switch"]
        names = ["torch", "torch_musa", "dataclasses", *ours, "torch", "inspect", "torch"]
        start, done = threading.Barrier(len(names)), []
        def work(name):
            start.wait()
            import_module(name)
            done.append(name)
        threads = [threading.Thread(target=work, args=(name,), daemon=True) for name in names]
        [thread.start() for thread in threads]
        [thread.join(25) for thread in threads]
        assert sorted(done) == sorted(names), (done, "deadlock")
        assert sys.modules["torch"].runs == 1 and sys.modules["torch_musa"].complete
        print("done")
        """,
    )
    assert out.strip() == "done"


def test_a_thread_that_imports_what_the_hook_needs_causes_no_deadlock(plain: Interpreter, fake: Fake) -> None:
    """The import system asks finders under its one lock: importing there would wait for this thread, which waits for the lock."""
    slow = "import time; time.sleep(0.5); import colorsys; from _true_dataclasses import *"
    (fake.folder / "slow.py").write_text(slow)
    out = fake.run(
        plain,
        """
        import dataclasses, os, threading, time
        from importlib import import_module
        # What the hook loads is not there yet, and one module of it takes long.
        for name in [name for name in sys.modules if name.startswith("torchada.")]:
            del sys.modules[name]
        sys.modules["_true_dataclasses"] = sys.modules.pop("dataclasses")
        os.rename(sys.path[0] + "/slow.py", sys.path[0] + "/dataclasses.py")
        sys.path_importer_cache.clear()
        other = threading.Thread(target=import_module, args=("dataclasses",), daemon=True)
        ours = threading.Thread(target=import_module, args=("torch",), daemon=True)
        other.start()
        time.sleep(0.1)
        ours.start()
        other.join(10), ours.join(10)
        assert not other.is_alive() and not ours.is_alive(), "deadlock"
        print("done")
        """,
    )
    assert out.strip() == "done"


def test_the_real_torch_shows_its_own_loader_and_source(plain: Interpreter) -> None:
    plain.run(
        """
        import inspect, pkgutil, sys, importlib.resources
        import torch
        assert type(torch.__loader__).__module__ == type(torch.__spec__.loader).__module__ == "_frozen_importlib_external"
        assert "def is_tensor" in inspect.getsource(torch)
        assert pkgutil.get_data("torch", "version.py")
        assert importlib.resources.files("torch").joinpath("version.py").is_file()
        """
    )
