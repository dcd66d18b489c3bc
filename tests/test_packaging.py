"""The wheel, and what it does in a virtual environment of its own. An editable install from the same tree does the same.

Nothing here needs a network: the wheel is built with the setuptools of the tests' environment, and installed without dependencies.
"""

from __future__ import annotations

import base64
import csv
import fcntl
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import textwrap
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from torchada import __version__

ROOT = Path(__file__).resolve().parent.parent
DIST_INFO = f"torchada-{__version__}.dist-info"
# What the top of site-packages holds; start-up files are read there and nowhere else.
TOP = {"_torchada_startup.py", "torchada-init.pth", "torchada-init.start", DIST_INFO}
TOP |= {"_build_cache", "torchada", "musasim"}
SHIPPED = (".py", ".pyi", ".typed", ".cpp", ".h", ".hpp", ".c", ".cuh", ".mu", ".muh", ".css", ".html")
TREE = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "src", "sitecustomize", "build_backend")
# Of the surroundings, what could change what a fresh environment does.
HIDDEN = ("TORCHADA_", "PYTHON", "VIRTUAL_ENV", "PIP_")
HOOKED = "any(type(finder).__module__ == '_torchada_startup' for finder in sys.meta_path)"
TELL = f"import sys; print({HOOKED})"


# ---------------------------------------------------------------- what is built


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the workers of pytest-xdist have in common."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "packaging"
    folder.mkdir(exist_ok=True)
    return folder


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    with open(folder / "lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def tree(shared: Path) -> Path:
    """The sources without what earlier builds have left among them; setuptools would put stale files into the wheel."""
    with locked(shared):
        target = shared / "tree"
        if not target.exists():
            ignore = shutil.ignore_patterns("*.egg-info", "__pycache__", "*.so", "*.pyc")
            for name in filter(lambda name: (ROOT / name).is_dir(), TREE):
                shutil.copytree(ROOT / name, target / name, ignore=ignore)
            for name in filter(lambda name: (ROOT / name).is_file(), TREE):
                shutil.copy(ROOT / name, target / name)
    return target


@pytest.fixture(scope="session")
def wheel(shared: Path, tree: Path) -> Path:
    with locked(shared):
        if not list(shared.glob("*.whl")):
            command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(shared), str(tree)]
            call(command)
    (built,) = shared.glob("*.whl")
    return built


def clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(HIDDEN)}


def call(command: list[str], **options: Any) -> str:
    """stdout of a command that must succeed."""
    options = {"env": clean(), "timeout": 300, **options}
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        pytest.fail(f"{command}\n--- stdout\n{done.stdout}\n--- stderr\n{done.stderr}", pytrace=False)
    return done.stdout.strip()


def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_the_top_of_the_wheel(wheel: Path) -> None:
    assert {name.partition("/")[0] for name in names(wheel)} == TOP


def test_the_packages_in_the_wheel(wheel: Path, tree: Path) -> None:
    """Every source file and nothing else, apart from the compiled extension."""
    files = [path for path in (tree / "src").rglob("*") if is_shipped(path) and "egg-info" not in str(path)]
    expected = {path.relative_to(tree / "src").as_posix() for path in files}
    expected |= {"torchada/sitecustomize/sitecustomize.py", "torchada-init.pth", "torchada-init.start"}
    found = {name for name in names(wheel) if not name.startswith(DIST_INFO)}
    extra = {name for name in found - expected if not name.endswith((".so", ".md"))}
    assert expected - found == set() and extra == set()


def is_shipped(path: Path) -> bool:
    """Sources by their suffix; headers of the C++ library's kind have none."""
    is_header = "include" in path.parts and path.suffix == "" and path.is_file()
    return path.suffix in SHIPPED or is_header


def test_nothing_is_there_twice(wheel: Path) -> None:
    assert len(names(wheel)) == len(set(names(wheel)))


def test_start_up_files_are_those_of_the_tree(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for name in ("torchada-init.pth", "torchada-init.start"):
            assert archive.read(name) == (ROOT / "sitecustomize" / name).read_bytes()
            assert archive.getinfo(name).external_attr >> 16 & 0o444 == 0o444, "readable for everybody"


def test_the_record_is_complete(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        record = {row[0]: row[1:] for row in csv.reader(io.StringIO(archive.read(f"{DIST_INFO}/RECORD").decode()))}
        assert record.keys() == set(archive.namelist())
        assert record.pop(f"{DIST_INFO}/RECORD") == ["", ""]
        for name, (digest, size) in record.items():
            data = archive.read(name)
            computed = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert (digest, int(size)) == (f"sha256={computed}", len(data)), name


def test_metadata(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"{DIST_INFO}/METADATA").decode().splitlines()
        assert "torchada = torchada.cli:main" in archive.read(f"{DIST_INFO}/entry_points.txt").decode()
    assert {"Name: torchada", f"Version: {__version__}", "License-Expression: MIT"} <= set(metadata)
    required = [line for line in metadata if line.startswith("Requires-Dist") and "extra ==" not in line]
    assert required == [
        "Requires-Dist: wrapt>=1.16",
        'Requires-Dist: importlib_metadata>=4.6; python_version < "3.10"',
    ]


def test_a_wheel_built_from_the_source_distribution(tree: Path, wheel: Path, tmp_path: Path) -> None:
    call([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path), str(tree)])
    (built,) = tmp_path.glob("*.whl")
    assert sorted(names(built)) == sorted(names(wheel))


# ---------------------------------------------------------------- what is installed


@dataclass
class Venv:
    folder: Path

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")

    @property
    def site(self) -> Path:
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        return self.folder / "lib" / version / "site-packages"

    def pip(self, *arguments: str, **env: str) -> str:
        common = ["--python", self.python, "--disable-pip-version-check", "--no-input"]
        return call([sys.executable, "-m", "pip", *common, *arguments], env={**clean(), **env})

    def install(self, *what: str, **env: str) -> None:
        self.pip("install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", *what, **env)

    def show_the_tests_packages(self) -> None:
        """setuptools, torch and others, by a path line. Of folders added that way, the .pth files are not read."""
        (self.site / "zz-packages-of-the-tests.pth").write_text(sysconfig.get_path("purelib") + "\n")

    def run(self, *arguments: str, env: dict[str, str] | None = None, **options: Any) -> str:
        return call([self.python, *arguments], env={**clean(), **(env or {})}, **options)

    def tells(self, expression: str, *arguments: str, **options: Any) -> Any:
        return json.loads(self.run(*arguments, "-c", f"import json, sys; print(json.dumps({expression}))", **options))

    def top(self) -> set[str]:
        """What is of torchada at the top of site-packages."""
        found = self.site.iterdir() if self.site.exists() else ()  # pip takes empty folders away
        return {path.name for path in found if "torchada" in path.name or "musasim" in path.name}


@pytest.fixture
def make_venv(tmp_path: Path) -> Callable[[], Venv]:
    return lambda: _make(tmp_path / "venv")


def _make(folder: Path) -> Venv:
    call([sys.executable, "-m", "venv", "--without-pip", str(folder)])
    return Venv(folder)


@pytest.fixture(scope="session")
def venv(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Venv:
    """The wheel in a fresh environment. Tests leave it as it is."""
    made = _make(tmp_path_factory.mktemp("installed") / "venv")
    made.install(str(wheel))
    made.show_the_tests_packages()
    return made


def test_install_and_uninstall_the_wheel(make_venv: Callable[[], Venv], wheel: Path) -> None:
    made = make_venv()
    made.install(str(wheel))
    assert made.top() == TOP and made.tells(HOOKED) is True
    made.pip("uninstall", "--yes", "torchada")
    assert made.top() == set() and made.tells(HOOKED) is False


def test_install_from_the_tree(make_venv: Callable[[], Venv], tree: Path) -> None:
    made = make_venv()
    made.show_the_tests_packages()
    made.install(str(tree))
    assert made.top() == TOP and made.tells(HOOKED) is True


@pytest.mark.musa
def test_install_without_a_compiler(make_venv: Callable[[], Venv], tree: Path, tmp_path: Path) -> None:
    """The install succeeds without the optional extension, device strings are translated portably, and status says why."""
    made, fresh = make_venv(), tmp_path / "tree"
    made.show_the_tests_packages()
    shutil.copytree(tree, fresh, ignore=shutil.ignore_patterns("build", "*.egg-info", "*.so"))
    made.install(str(fresh), CC="/nonexistent/cc")
    assert list((made.site / "torchada" / "redirect" / "native").glob("__init__.py"))
    assert not list(made.site.rglob("*_device_parser*.so"))
    status = made.run("-m", "torchada.hooks", "status", "--probe", env={"TORCHADA_SIMULATE": "1"})
    assert "portable: its extension was not built" in status and "no C compiler?" in status


def test_editable_install(make_venv: Callable[[], Venv], tree: Path) -> None:
    made = make_venv()
    made.show_the_tests_packages()
    made.install("--editable", str(tree))
    assert {"torchada-init.pth", "torchada-init.start", DIST_INFO} <= made.top()
    assert not {"torchada", "musasim"} & made.top(), "the checkout is in force, and nothing hides it"
    code = f"import sys, torchada; print({HOOKED}, torchada.__file__)"
    assert made.run("-c", code) == f"True {tree}/src/torchada/__init__.py"
    status = json.loads(_status(made))
    assert status["startup"]["file"] == str(made.site / "torchada-init.pth")
    made.pip("uninstall", "--yes", "torchada")
    assert made.top() == set() and made.tells(HOOKED) is False


def _status(venv: Venv, **env: str) -> str:
    """`status` exits with 1 where nothing is active."""
    command = [venv.python, "-m", "torchada.hooks", "status", "--json"]
    done = subprocess.run(command, env={**clean(), **env}, capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


# ---------------------------------------------------------------- start-up


def test_what_start_up_loads(venv: Venv) -> None:
    """The one start-up module, and not one of the standard library's that the bare interpreter does not load."""
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


def test_it_is_compiled_on_installation(venv: Venv) -> None:
    """Without its .pyc, each start of an interpreter that may not write one compiles the module again."""
    assert list((venv.site / "__pycache__").glob("_torchada_startup.*.pyc"))
    assert json.loads(_status(venv))["startup"]["bytecode_cached"] is True


def test_it_is_installed_once_though_the_line_runs_twice(venv: Venv) -> None:
    count = venv.tells("sum(type(finder).__module__ == '_torchada_startup' for finder in sys.meta_path)")
    assert count == 1
    assert venv.tells("type(sys.meta_path[0]).__module__") == "_torchada_startup"


def test_disabled(venv: Venv) -> None:
    expression = f"[{HOOKED}, [name for name in sys.modules if 'torchada' in name]]"
    assert venv.tells(expression, env={"TORCHADA_DISABLE": "1"}) == [False, ["_torchada_startup"]]


@pytest.mark.parametrize(("option", "hooked"), [("-S", False), ("-I", True), ("-E", True), ("-s", True), ("-O", True)])
def test_options_of_python(venv: Venv, option: str, hooked: bool) -> None:
    """Off only where site itself is off; isolated mode still reads the files of site-packages."""
    assert venv.tells(HOOKED, option) is hooked


def test_a_broken_installation_does_not_break_python(make_venv: Callable[[], Venv], wheel: Path) -> None:
    made = make_venv()
    made.install(str(wheel))
    shutil.rmtree(made.site / "torchada")
    (made.site / "torch.py").write_text("loaded = True")
    done = subprocess.run(
        [made.python, "-c", "import torch; print(torch.loaded)"], env=clean(), capture_output=True, text=True
    )
    assert done.stdout == "True\n" and done.stderr.count("torchada: not started") == 1


def test_code(venv: Venv) -> None:
    assert venv.run("-c", TELL) == "True"


def test_standard_input(venv: Venv) -> None:
    assert venv.run("-", input=TELL) == "True"


def test_a_script(venv: Venv, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(TELL)
    assert venv.run(str(tmp_path / "script.py")) == "True"


def test_a_module(venv: Venv, tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(TELL)
    assert venv.run("-m", "module", cwd=tmp_path) == "True"


def test_a_folder_and_a_zip_archive(venv: Venv, tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__main__.py").write_text(TELL)
    assert venv.run(str(tmp_path / "app")) == "True"
    venv.run("-m", "zipapp", str(tmp_path / "app"), "-o", str(tmp_path / "app.pyz"))
    assert venv.run(str(tmp_path / "app.pyz")) == "True"


def test_runpy(venv: Venv, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(TELL)
    assert venv.run("-c", f"import runpy; runpy.run_path({str(tmp_path / 'script.py')!r})") == "True"


def test_a_subprocess(venv: Venv) -> None:
    assert (
        venv.run("-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {TELL!r}], check=True)")
        == "True"
    )


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_multiprocessing(venv: Venv, tmp_path: Path, method: str) -> None:
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


def test_the_real_torch(venv: Venv) -> None:
    """As in any environment without the hardware: found, executed and left alone."""
    code = "import sys, torch; print(torch.zeros(1).device, sorted(name for name in sys.modules if 'torchada' in name))"
    loaded = ["_torchada_startup", "torchada", "torchada.hooks", "torchada.hooks.importer"]
    assert venv.run("-c", code) == f"cpu {loaded}"


# ---------------------------------------------------------------- what else is installed


def test_the_console_script(venv: Venv, tmp_path: Path) -> None:
    script = str(venv.folder / "bin" / "torchada")
    assert call([script, "--version"]) == f"torchada {__version__}"
    (tmp_path / "script.py").write_text(
        "import os, sys; print(sys.argv[1:], os.environ['TORCHADA_FORCE_CUDA_AVAILABLE'])"
    )
    assert call([script, "run", "script.py", "--x", "-m"], cwd=tmp_path) == "['--x', '-m'] 1"
    assert call([script, "run", "-c", TELL]) == "True"


def test_status(venv: Venv) -> None:
    found = json.loads(_status(venv))
    assert found["startup"]["file"] == str(venv.site / "torchada-init.pth")
    assert found["torchada"] == __version__


def test_the_sitecustomize_of_the_wheel(make_venv: Callable[[], Venv], wheel: Path, tmp_path: Path) -> None:
    """Installed where no .pth file is read (pip install --target), one variable puts it in force."""
    made = make_venv()
    made.install("--target", str(tmp_path / "target"), str(wheel))
    target = tmp_path / "target"
    path = os.pathsep.join([str(target / "torchada" / "sitecustomize"), str(target)])
    assert made.tells(HOOKED, env={"PYTHONPATH": str(target)}) is False
    assert made.tells(HOOKED, env={"PYTHONPATH": path}) is True


@pytest.mark.musa
def test_an_unchanged_program_on_the_simulator(venv: Venv) -> None:
    code = "import torch; print(torch.zeros(2, device='cuda').device)"
    assert venv.run("-c", code, env={"TORCHADA_SIMULATE": "1"}) == "musa:0"
