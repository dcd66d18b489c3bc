"""Our sitecustomize.py, for environments where only PYTHONPATH can be set: it installs the hook, and hides no other one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.interpreter import clean_environment
from torchada.control import startup_files

pytestmark = pytest.mark.once

FOLDER = startup_files.sitecustomize_folder()
PACKAGE = startup_files.PACKAGE.parent
HOOKED = "import sys; print(any(type(finder).__module__ == '_torchada_startup' for finder in sys.meta_path))"


def python(*path: object, code: str = HOOKED, options: tuple[str, ...] = (), **env: str) -> tuple[str, str]:
    """stdout and stderr of an interpreter with this PYTHONPATH, followed by torchada."""
    entries = os.pathsep.join(str(entry) for entry in (*path, PACKAGE))
    done = subprocess.run(
        [sys.executable, *options, "-c", code],
        env={**clean_environment(), "PYTHONPATH": entries, **env},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A folder with a sitecustomize of the user."""
    (tmp_path / "sitecustomize.py").write_text("print('theirs'); value = 1\n")
    return tmp_path


def test_sitecustomize_installs_the_hook() -> None:
    assert python(FOLDER) == ("True", "")


def test_the_disable_variable_keeps_the_hook_out(theirs: Path) -> None:
    code = "import sys; print(sorted(name for name in sys.modules if 'torchada' in name))"
    out, _ = python(FOLDER, theirs, code=code, TORCHADA_DISABLE="1")
    assert out.splitlines() == ["theirs", "['_torchada_startup']"]


def test_isolated_mode_ignores_sitecustomize() -> None:
    if startup_files.in_force() is not None and startup_files.in_force().suffix == ".pth":  # type: ignore[union-attr]
        pytest.skip("the start-up file of the installed torchada is in force in isolated mode, too")
    assert python(FOLDER, options=("-I",)) == ("False", "")


def test_the_sitecustomize_of_the_user_runs_as_well(theirs: Path) -> None:
    assert python(FOLDER, theirs) == ("theirs\nTrue", "")


def test_the_sitecustomize_of_the_user_is_the_module_of_that_name(theirs: Path) -> None:
    code = "import sys, sitecustomize; print(sitecustomize.value, sitecustomize.__file__, sitecustomize.__spec__.name)"
    assert python(FOLDER, theirs, code=code)[0].splitlines()[1:] == [f"1 {theirs}/sitecustomize.py sitecustomize"]


def test_a_sitecustomize_package_of_the_user_runs(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize").mkdir()
    (tmp_path / "sitecustomize" / "__init__.py").write_text("from sitecustomize.part import name; print(name)")
    (tmp_path / "sitecustomize" / "part.py").write_text("name = 'part'")
    assert python(FOLDER, tmp_path) == ("part\nTrue", "")


@pytest.mark.parametrize(
    "body", ["1 / 0", "import not_there", "raise ImportError('plain')", "raise ModuleNotFoundError('x', name='x')"]
)
def test_errors_in_the_sitecustomize_of_the_user_are_reported_by_python(tmp_path: Path, body: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(body)
    after = "import sys; print('sitecustomize' in sys.modules)"
    assert python(FOLDER, tmp_path, code=after) == python(tmp_path, code=after)
    assert python(FOLDER, tmp_path)[0] == "True"


def test_the_sitecustomize_of_the_user_runs_once(theirs: Path) -> None:
    assert python(FOLDER, theirs, theirs, FOLDER) == ("theirs\nTrue", "")


def test_no_name_of_torchada_is_left_in_the_sitecustomize_of_the_user(theirs: Path) -> None:
    code = "import sitecustomize; print([name for name in vars(sitecustomize) if 'torchada' in name])"
    assert python(FOLDER, theirs, code=code)[0].splitlines() == ["theirs", "[]"]


def test_two_copies_of_our_sitecustomize_end(tmp_path: Path, theirs: Path) -> None:
    """A wheel's and a checkout's, or one under two names: each runs the next ones, and there is no endless loop."""
    assert FOLDER is not None
    copy, link = tmp_path / "copy", tmp_path / "link"
    shutil.copytree(FOLDER, copy)
    link.symlink_to(FOLDER)
    assert python(FOLDER, copy, link, theirs, copy) == ("theirs\nTrue", "")


def test_sitecustomize_is_harmless_where_torchada_cannot_be_imported(theirs: Path) -> None:
    assert FOLDER is not None
    done = subprocess.run(
        [
            sys.executable,
            "-S",
            "-c",
            f"import sys; sys.path[:0] = [{str(FOLDER)!r}, {str(theirs)!r}]; import sitecustomize",
        ],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0 and done.stdout == "theirs\n"
    assert done.stderr == "torchada: sitecustomize found no torchada to start: No module named '_torchada_startup'\n"


@pytest.mark.musa
def test_an_unchanged_program_runs_on_the_device() -> None:
    code = "import torch; print(torch.zeros(1, device='cuda').device)"
    assert python(FOLDER, code=code, TORCHADA_SIMULATE="1")[0] == "cuda:0"
