"""However a program is started, its view is that of its own text, or of the package that it runs as."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest

from support.interpreter import Interpreter

pytestmark = pytest.mark.once

# What asks for a program.
ASKING = """
import sys
from torchada.base.settings import Settings
from torchada.views import Views
views = Views(Settings(strict=True, cache="/proc/nowhere"), "torch_musa")
def sees_cuda(): return views.sees_cuda(sys._getframe(1).f_globals)
"""
ASKS = "from asking import sees_cuda\nprint(sees_cuda())\n"
KNOWS = "NAME = 'musa'\n" + ASKS


@pytest.fixture
def here(tmp_path: Path) -> Interpreter:
    """An interpreter in a folder where `asking` can be imported."""
    (tmp_path / "asking.py").write_text(ASKING)
    return Interpreter(env={"PYTHONPATH": str(tmp_path)}, cwd=tmp_path)


def write(here: Interpreter, name: str, text: str) -> Path:
    assert here.cwd is not None
    file = here.cwd / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return file


def answers(here: Interpreter, *arguments: str, stdin: str | None = None) -> list[str]:
    return here.run(list(arguments), stdin=stdin).stdout.split()


@pytest.mark.parametrize(("text", "answer"), [(ASKS, "True"), (KNOWS, "False")])
def test_a_script(here: Interpreter, text: str, answer: str) -> None:
    write(here, "a.py", text)
    for way in (["a.py"], ["-m", "a"], ["-m", "cProfile", "-o", "profile", "a.py"], ["-m", "trace", "-l", "a.py"]):
        assert answers(here, *way)[0] == answer, way


@pytest.mark.parametrize(("text", "answer"), [(ASKS, "True"), (KNOWS, "False")])
def test_a_folder_and_a_zip_file_that_are_run(here: Interpreter, text: str, answer: str) -> None:
    write(here, "app/__main__.py", text)
    assert answers(here, "app") == [answer]
    with zipfile.ZipFile(here.cwd / "app.zip", "w") as archive:  # type: ignore[operator]
        archive.writestr("__main__.py", text)
    assert answers(here, "app.zip") == [answer]


def test_a_module_of_a_package_is_run_as_the_package(here: Interpreter) -> None:
    write(here, "pack/__init__.py", "")
    write(here, "pack/run.py", ASKS)
    assert answers(here, "-m", "pack.run") == ["True"]
    write(here, "pack/other.py", "import torch_musa")
    assert answers(here, "-m", "pack.run") == ["False"]


def test_a_module_in_a_zip_file_that_is_imported(here: Interpreter) -> None:
    with zipfile.ZipFile(here.cwd / "lib.zip", "w") as archive:  # type: ignore[operator]
        archive.writestr("of_cuda/__init__.py", ASKS)
        archive.writestr("of_musa/__init__.py", "from . import part")
        archive.writestr("of_musa/part.py", ASKS)
        archive.writestr("of_musa/platform.py", "import torch_musa")
    code = "import sys; sys.path.insert(0, 'lib.zip'); import of_cuda, of_musa"
    assert answers(here, "-c", code) == ["True", "False"]


def test_a_command_is_judged_by_its_text_and_standard_input_sees_cuda(here: Interpreter) -> None:
    assert answers(here, "-c", ASKS) == ["True"]
    assert answers(here, "-c", KNOWS) == ["False"]
    assert answers(here, "-", stdin=KNOWS) == ["True"]


def test_code_that_is_executed_by_runpy_is_judged_by_its_file(here: Interpreter) -> None:
    write(here, "a.py", ASKS)
    write(here, "b.py", KNOWS)
    code = "import runpy\nfor name in ('a.py', 'b.py', 'a.py'): runpy.run_path(name)\nrunpy.run_path('b.py', run_name='__main__')"
    assert answers(here, "-c", code) == ["True", "False", "True", "False"]


def test_code_without_a_name_sees_cuda(here: Interpreter) -> None:
    write(here, "a.py", f"NAME = 'musa'\nexec({ASKS!r}, {{}})\n{ASKS}")
    assert answers(here, "a.py") == ["True", "False"]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize(("text", "answer"), [(ASKS, "True"), (KNOWS, "False")])
def test_the_processes_of_a_script_see_what_it_sees(here: Interpreter, method: str, text: str, answer: str) -> None:
    code = f"""{text}
import multiprocessing
def work(): print(sees_cuda(), flush=True)
if __name__ == "__main__":
    process = multiprocessing.get_context({method!r}).Process(target=work)
    process.start()
    process.join()
"""
    write(here, "a.py", code)
    assert set(answers(here, "-W", "ignore", "a.py")) == {answer}


def test_a_reloaded_package_keeps_its_view(here: Interpreter) -> None:
    write(here, "mine.py", ASKS)
    code = """
import importlib, pathlib, mine
pathlib.Path('mine.py').write_text("NAME = 'musa'" + chr(10) + pathlib.Path('mine.py').read_text())
importlib.reload(mine)
from asking import views
views.state.choose("mine", None)
importlib.reload(mine)
"""
    assert answers(here, "-c", code) == ["True", "True", "False"]


def test_threads_that_ask_at_once_get_one_view(here: Interpreter) -> None:
    write(here, "mine/__init__.py", "from asking import sees_cuda\ndef ask(): return sees_cuda()\n")
    for number in range(200):
        write(here, f"mine/part{number}.py", "x = 1\n" * 200)
    write(here, "mine/z.py", "import torch_musa")
    code = """
import sys, threading, mine
sys.setswitchinterval(1e-6)
found, barrier = [], threading.Barrier(8)
def work():
    barrier.wait()
    found.append(mine.ask())
threads = [threading.Thread(target=work) for _ in range(8)]
for each in threads: each.start()
for each in threads: each.join()
print(set(found), len(found))
"""
    assert answers(here, "-c", code) == ["{False}", "8"]


def test_nothing_is_imported_in_order_to_decide(here: Interpreter) -> None:
    write(here, "mine/__init__.py", "from asking import sees_cuda\nprint(sees_cuda())\n")
    write(here, "mine/never.py", "raise SystemExit('imported')")
    assert answers(here, "-c", "import mine, sys; print('mine.never' in sys.modules)") == ["True", "False"]


def test_a_notebook_is_judged_by_its_cells(here: Interpreter) -> None:
    pytest.importorskip("IPython", reason="needs IPython")
    code = "from IPython.core.interactiveshell import InteractiveShell as S\ns = S.instance()\n"
    for cells in ([ASKS], ["KNOWN = 'torch.musa'", ASKS]):
        runs = "".join(f"s.run_cell({cell!r}, store_history=True)\n" for cell in cells)
        assert answers(here, "-c", code + runs)[-1] == str(len(cells) == 1)


@pytest.mark.skipif(sys.version_info < (3, 10), reason="sys.orig_argv is new in Python 3.10")
def test_the_options_of_python_do_not_hide_a_command(here: Interpreter) -> None:
    assert answers(here, "-X", "dev", "-W", "ignore", "-c", KNOWS) == ["False"]
