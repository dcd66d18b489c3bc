"""Switching the hook off and on leaves the imports of other threads alone: no finder is taken off the list that they walk over."""

from __future__ import annotations

import pytest

from support.interpreter import Interpreter

pytestmark = pytest.mark.once

SWITCHES = {
    "disable": ("torchada.disable()", "torchada.enable()"),
    "disabled": ("block = torchada.disabled(); block.__enter__()", "block.__exit__(None, None, None)"),
    "simulator": ("musasim.uninstall()", "musasim.install()"),
}
# Modules named unrelated are found by the last finder. The one before it is asked while an import is walking over sys.meta_path.
FINDERS = """
import musasim, sys, threading, time, torchada
from importlib.machinery import ModuleSpec

class Loader:
    def create_module(self, spec): return None
    def exec_module(self, module): pass

class Last:
    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, Loader()) if name.startswith("unrelated") else None

class Before:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("unrelated"):
            meanwhile()

musasim.install(), torchada.disable, torchada.enable, torchada.disabled
sys.meta_path += [Before(), Last()]
"""
ONCE = """
def meanwhile():
    exec({off!r}, globals())
import unrelated
print("imported")
"""
# Four threads import modules of their own over and over, and the main thread switches as fast as it can.
OFTEN = """
def meanwhile():
    time.sleep(0.0005)

failed, passes = [], 0

def work(name):
    for _ in range(100):
        try:
            __import__(name)
        except ImportError as error:
            failed.append(str(error))
        sys.modules.pop(name, None)

threads = [threading.Thread(target=work, args=(f"unrelated_{{number}}",)) for number in range(4)]
[thread.start() for thread in threads]
while any(thread.is_alive() for thread in threads):
    {off}
    {on}
    passes += 1
print(passes > 10, len(failed), failed[:3])
"""


@pytest.mark.parametrize("switch", SWITCHES.values(), ids=list(SWITCHES))
def test_an_import_under_way_loses_no_finder(plain: Interpreter, switch: tuple[str, str]) -> None:
    assert plain.run(FINDERS + ONCE.format(off=switch[0])).stdout.strip() == "imported"


@pytest.mark.full
@pytest.mark.parametrize("switch", SWITCHES.values(), ids=list(SWITCHES))
def test_other_threads_import_while_one_switches(plain: Interpreter, switch: tuple[str, str]) -> None:
    off, on = switch
    assert plain.run(FINDERS + OFTEN.format(off=off, on=on)).stdout.strip() == "True 0 []"


def test_a_finder_that_is_switched_off_notices_nothing(plain: Interpreter) -> None:
    """It keeps its place, and status does not count it as installed."""
    plain.run(
        """
        import sys, torchada
        from _torchada_startup import FINDER
        from torchada.control.status import report
        length = len(sys.meta_path)
        for _ in range(2):
            assert report()["finder"] == {"installed": True, "position": 0, "of": length}
            torchada.disable()
            assert sys.meta_path[0] is FINDER and FINDER.find_spec("torch") is None
            assert report()["finder"] == {"installed": False, "position": None, "of": length}
            torchada.enable()
            assert FINDER.find_spec("torch") is not None and sys.meta_path.count(FINDER) == 1
        """
    )


def test_installing_again_does_not_switch_on(plain: Interpreter) -> None:
    """A start-up file that is read once more, or a new import of torchada, does not undo what the program asked for."""
    plain.run(
        """
        import sys, torchada
        from _torchada_startup import FINDER, install
        torchada.disable()
        install()
        assert FINDER.find_spec("torch") is None and not FINDER.is_in_force()
        """
    )


def test_nothing_is_installed_where_a_variable_disables_it(plain: Interpreter) -> None:
    plain.run(
        """
        import sys, torchada
        from _torchada_startup import FINDER
        assert FINDER not in sys.meta_path
        torchada.disable()
        assert FINDER not in sys.meta_path
        with torchada.disabled(): pass
        assert FINDER not in sys.meta_path
        torchada.enable()
        assert sys.meta_path[0] is FINDER and FINDER.find_spec("torch") is not None
        """,
        env={"TORCHADA_DISABLE": "1"},
    )
