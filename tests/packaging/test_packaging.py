"""torchada in a virtual environment of its own, installed from the wheel, the sources or the source distribution.

Nothing here needs a network: all is built with the setuptools of the tests' environment, and installed without dependencies.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import textwrap
from pathlib import Path

import pytest

from support.distributions import DIST_INFO, HOOKED, TOP, MakeVenv, Venv, call, clean
from torchada import __version__

pytestmark = pytest.mark.once

TELL = f"import sys; print({HOOKED})"


# ---------------------------------------------------------------- installed, and uninstalled


@pytest.mark.full
@pytest.mark.parametrize("archive", ["wheel", pytest.param("sdist", marks=pytest.mark.slow)])
@pytest.mark.musa
def test_uninstall_leaves_the_environment_byte_by_byte_as_it_was(
    make_venv: MakeVenv, archive: str, request: pytest.FixtureRequest
) -> None:
    """Also after use, which leaves compiled files among the sources."""
    made = make_venv()
    made.show_the_tests_packages()
    before = made.contents()
    # pip sees the torchada that the tests run on, and would take the wheel for installed.
    made.install("--force-reinstall", str(request.getfixturevalue(archive)))
    assert made.top() == TOP and made.tells(HOOKED) is True
    code = "import torch, torchada; assert torchada.__file__.startswith(sys.prefix); torch.zeros(1, device='cuda')"
    made.run("-c", f"import sys; {code}", env={"TORCHADA_SIMULATE": "1"})
    made.run("-m", "torchada.hooks", "status", "--probe", env={"TORCHADA_SIMULATE": "1"})
    assert len(made.contents()) > len(before) + 100
    made.pip("uninstall", "--yes", "torchada")
    assert made.contents() == before and made.tells(HOOKED) is False


@pytest.mark.full
def test_installation_from_the_tree_puts_the_hook_in_force(make_venv: MakeVenv, tree: Path) -> None:
    made = make_venv()
    made.show_the_tests_packages()
    made.install(str(tree))
    assert made.top() == TOP and made.tells(HOOKED) is True


@pytest.mark.slow
@pytest.mark.musa
def test_installation_without_a_compiler_succeeds_and_status_says_so(
    make_venv: MakeVenv, tree: Path, tmp_path: Path
) -> None:
    """The install succeeds without the optional extensions, device strings are translated portably, and status says why."""
    made, fresh = make_venv(), tmp_path / "tree"
    made.show_the_tests_packages()
    shutil.copytree(tree, fresh, ignore=shutil.ignore_patterns("build", "*.egg-info", "*.so"))
    made.install(str(fresh), CC="/nonexistent/cc")
    assert list((made.site / "torchada" / "redirect" / "native").glob("__init__.py"))
    assert not list(made.site.rglob("torchada/**/*.so"))
    status = made.run("-m", "torchada.hooks", "status", "--probe", env={"TORCHADA_SIMULATE": "1"})
    assert "portable: its extension was not built" in status and "no C compiler?" in status


@pytest.mark.full
def test_editable_installation_uses_the_checkout_and_uninstalls(make_venv: MakeVenv, tree: Path) -> None:
    made = make_venv()
    made.show_the_tests_packages()
    made.install("--editable", str(tree))
    assert {"torchada-init.pth", "torchada-init.start", DIST_INFO} <= made.top()
    assert not {"torchada", "musasim"} & made.top(), "the checkout is in force, and nothing hides it"
    code = f"import sys, torchada; print({HOOKED}, torchada.__file__)"
    assert made.run("-c", code) == f"True {tree}/src/torchada/__init__.py"
    status = made.status()
    assert status["startup"]["file"] == str(made.site / "torchada-init.pth")
    made.pip("uninstall", "--yes", "torchada")
    assert made.top() == set() and made.tells(HOOKED) is False


# ---------------------------------------------------------------- start-up


def test_start_up_loads_one_module(venv: Venv) -> None:
    """Only the start-up module is loaded, and no module of the standard library that the bare interpreter does not load."""
    expression = "sorted(sys.modules)"
    added = set(venv.tells(expression)) - _loaded_without_us(venv)
    assert added == {"_torchada_startup"}


def _loaded_without_us(venv: Venv) -> set[str]:
    hidden = venv.site / "torchada-init.pth"
    aside = venv.site / "torchada-init.pth.aside"
    hidden.rename(aside)
    try:
        return set(venv.tells("sorted(sys.modules)"))
    finally:
        aside.rename(hidden)


def test_start_up_module_is_compiled_on_installation(venv: Venv) -> None:
    """Without its .pyc, each start of an interpreter that may not write one compiles the module again."""
    assert list((venv.site / "__pycache__").glob("_torchada_startup.*.pyc"))
    assert venv.status()["startup"]["bytecode_cached"] is True


def test_finder_is_installed_once_though_the_line_runs_twice(venv: Venv) -> None:
    count = venv.tells("sum(type(finder).__module__ == '_torchada_startup' for finder in sys.meta_path)")
    assert count == 1
    assert venv.tells("type(sys.meta_path[0]).__module__") == "_torchada_startup"


def test_disable_variable_keeps_the_finder_out(venv: Venv) -> None:
    expression = f"[{HOOKED}, [name for name in sys.modules if 'torchada' in name]]"
    assert venv.tells(expression, env={"TORCHADA_DISABLE": "1"}) == [False, ["_torchada_startup"]]


@pytest.mark.parametrize(("option", "hooked"), [("-S", False), ("-I", True), ("-E", True), ("-s", True), ("-O", True)])
def test_finder_is_in_force_unless_an_option_turns_site_off(venv: Venv, option: str, hooked: bool) -> None:
    """The hook is off only where site itself is off; isolated mode still reads the files of site-packages."""
    assert venv.tells(HOOKED, option) is hooked


@pytest.mark.full
def test_broken_installation_costs_one_line_and_no_import(make_venv: MakeVenv, wheel: Path) -> None:
    made = make_venv()
    made.install(str(wheel))
    shutil.rmtree(made.site / "torchada")
    (made.site / "torch.py").write_text("loaded = True")
    done = subprocess.run(
        [made.python, "-c", "import torch; print(torch.loaded)"], env=clean(), capture_output=True, text=True
    )
    assert done.stdout == "True\n" and done.stderr.count("torchada: not started") == 1


def test_finder_is_in_force_in_code(venv: Venv) -> None:
    assert venv.run("-c", TELL) == "True"


def test_finder_is_in_force_in_standard_input(venv: Venv) -> None:
    assert venv.run("-", input=TELL) == "True"


def test_finder_is_in_force_in_a_script(venv: Venv, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(TELL)
    assert venv.run(str(tmp_path / "script.py")) == "True"


def test_finder_is_in_force_in_a_module(venv: Venv, tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(TELL)
    assert venv.run("-m", "module", cwd=tmp_path) == "True"


def test_finder_is_in_force_in_a_folder_and_in_a_zip_archive(venv: Venv, tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__main__.py").write_text(TELL)
    assert venv.run(str(tmp_path / "app")) == "True"
    venv.run("-m", "zipapp", str(tmp_path / "app"), "-o", str(tmp_path / "app.pyz"))
    assert venv.run(str(tmp_path / "app.pyz")) == "True"


def test_finder_is_in_force_under_runpy(venv: Venv, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(TELL)
    assert venv.run("-c", f"import runpy; runpy.run_path({str(tmp_path / 'script.py')!r})") == "True"


def test_finder_is_in_force_in_a_subprocess(venv: Venv) -> None:
    assert (
        venv.run("-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {TELL!r}], check=True)")
        == "True"
    )


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_finder_is_in_force_in_processes_of_multiprocessing(venv: Venv, tmp_path: Path, method: str) -> None:
    script = f"""
    import multiprocessing, sys
    def hooked(_):
        return {HOOKED}
    if __name__ == "__main__":
        with multiprocessing.get_context({method!r}).Pool(2) as pool:
            print(all(pool.map(hooked, range(4))))
    """
    (tmp_path / "script.py").write_text(textwrap.dedent(script))
    assert venv.run(str(tmp_path / "script.py")) == "True"


def test_torch_without_hardware_is_left_alone(venv: Venv) -> None:
    """In an environment without the hardware, torch is found, executed and left alone."""
    code = "import sys, torch; print(torch.zeros(1).device, sorted(name for name in sys.modules if 'torchada' in name))"
    loaded = ["_torchada_startup", "torchada", "torchada.hooks", "torchada.hooks.importer"]
    assert venv.run("-c", code) == f"cpu {loaded}"


# ---------------------------------------------------------------- what else is installed


@pytest.mark.parametrize("before", ["", "import torchada, musasim; "])
def test_pytest_warns_of_nothing_that_was_imported_before_it(venv: Venv, tmp_path: Path, before: str) -> None:
    """It rewrites the modules of a package that has a plug-in, and warns of each that it has come too late for."""
    (tmp_path / "test_of_a_user.py").write_text("def test():\n    pass\n")
    program = f"{before}import pytest, sys; sys.exit(pytest.main(['-q', '-W', 'error', 'test_of_a_user.py']))"
    assert "1 passed" in venv.run("-c", program, cwd=tmp_path)


def test_console_script_runs_programs_as_python_does(venv: Venv, tmp_path: Path) -> None:
    script = str(venv.folder / "bin" / "torchada")
    assert call([script, "--version"]) == f"torchada {__version__}"
    (tmp_path / "script.py").write_text("import os, sys; print(sys.argv[1:], os.environ['TORCHADA_SIMULATE'])")
    assert call([script, "run", "--simulate", "script.py", "--x", "-m"], cwd=tmp_path) == "['--x', '-m'] 1"
    assert call([script, "run", "-c", TELL]) == "True"


def test_status_names_the_start_up_file(venv: Venv) -> None:
    found = venv.status()
    assert found["startup"]["file"] == str(venv.site / "torchada-init.pth")
    assert found["torchada"] == __version__


@pytest.mark.full
def test_sitecustomize_of_the_wheel_serves_where_no_pth_file_is_read(
    make_venv: MakeVenv, wheel: Path, tmp_path: Path
) -> None:
    """Installed where no .pth file is read (pip install --target), one variable puts it in force."""
    made = make_venv()
    made.install("--target", str(tmp_path / "target"), str(wheel))
    target = tmp_path / "target"
    path = os.pathsep.join([str(target / "torchada" / "sitecustomize"), str(target)])
    assert made.tells(HOOKED, env={"PYTHONPATH": str(target)}) is False
    assert made.tells(HOOKED, env={"PYTHONPATH": path}) is True


@pytest.mark.musa
def test_unchanged_program_runs_on_the_simulator(venv: Venv) -> None:
    code = "import torch; print(torch.zeros(2, device='cuda').device)"
    assert venv.run("-c", code, env={"TORCHADA_SIMULATE": "1"}) == "cuda:0"
