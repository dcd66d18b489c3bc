"""Makes the folder that MUSA_HOME names, once for each state of its sources."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from musasim import cache
from musasim.errors import MusasimBuildError
from musasim.toolchain import find_compiler

_PACKAGE = Path(__file__).parent
_CSRC = _PACKAGE.parent / "csrc"
_MUSART = _CSRC / "musart"
_PROGRAMS = {"mcc": "musasim.toolkit.mcc", "musaInfo": "musasim.toolkit.musa_info"}
_COMPILE = ["-std=c++20", "-O1", "-fPIC", "-fvisibility=hidden", "-shared", "-pthread"]


def home() -> Path:
    """The simulated MUSA_HOME. Made when there is none yet for these sources; at most one process does at a time."""
    target = cache.cache_path() / f"toolkit-{_digest(_package_files(), _identity())}"
    folder = cache.open_cache()
    if not target.exists():
        runtime = _runtime(folder)
        with cache.locked(folder):
            if not target.exists():
                _make(target, folder, runtime)
    return target


def _identity() -> str:
    """What the programs name: the Python that runs them and the package that they are in."""
    return f"{sys.executable}\n{_PACKAGE}\n{_digest(_runtime_files())}"


def _package_files() -> list[Path]:
    headers = [path for path in (_PACKAGE / "include").rglob("*") if path.is_file()]
    return [*headers, *(_MUSART / "include").rglob("*.h"), Path(__file__)]


def _runtime_files() -> list[Path]:
    return [_CSRC / "musart.cpp", *(path for path in _MUSART.rglob("*") if path.suffix in (".cpp", ".h"))]


def _digest(files: list[Path], more: str = "") -> str:
    digest = hashlib.sha256(more.encode())
    for path in sorted(files):
        digest.update(f"{path.relative_to(_PACKAGE.parent)}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _runtime(folder: Path) -> Path:
    """libmusart.so, of the same sources and under the same name as the one that torch_musa's extension loads.

    A process that has loaded either of them has loaded both: the dynamic linker goes by the name in the library.
    """
    target = folder / f"musart-{_digest(_runtime_files())}" / "libmusart.so"
    if not target.exists():
        with cache.locked(folder):
            if not target.exists():
                _compile_runtime(target, folder)
    return target


def _compile_runtime(target: Path, folder: Path) -> None:
    print("musasim: compiling its runtime (once, some seconds) ...", file=sys.stderr, flush=True)
    with cache.workspace(folder) as workspace:
        built = workspace / target.name
        command = [
            *find_compiler(),
            *_COMPILE,
            f"-Wl,-soname,{target.name}",
            str(_CSRC / "musart.cpp"),
            "-o",
            str(built),
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise MusasimBuildError(f"musasim: compiling its runtime failed.\n{done.stdout}{done.stderr}")
        target.parent.mkdir(mode=0o700, exist_ok=True)
        os.replace(built, target)


def _make(target: Path, folder: Path, runtime: Path) -> None:
    with cache.workspace(folder) as workspace:
        made = workspace / "home"
        _copy_headers(made / "include")
        (made / "lib").mkdir()
        shutil.copy2(runtime, made / "lib" / runtime.name)
        (made / "bin").mkdir()
        for name, module in _PROGRAMS.items():
            _write_program(made / "bin" / name, module)
        os.replace(made, target)


def _copy_headers(include: Path) -> None:
    shutil.copytree(_PACKAGE / "include", include)
    shutil.copy2(_MUSART / "include" / "musa_runtime_api.h", include / "musasim" / "runtime_api.h")
    shutil.copytree(_MUSART / "include" / "musasim", include / "musasim", dirs_exist_ok=True)


def _write_program(path: Path, module: str) -> None:
    """Runs from any shell, without a variable set: it names its Python and where the package is."""
    path.write_text(
        f"{_shebang(sys.executable)}\n"
        "import sys\n"
        f"sys.path.insert(0, {str(_PACKAGE.parent.parent)!r})\n"
        f"from {module} import main\n"
        "sys.exit(main(sys.argv[1:]))\n",
        encoding="utf-8",
    )
    path.chmod(0o755)


def _shebang(python: str) -> str:
    """A kernel reads 127 characters, and up to the first space. The shell takes what Python takes for a string."""
    plain = f"#!{python} -IS"
    if len(plain) < 127 and " " not in python:
        return plain
    return f"#!/bin/sh\n'''exec' \"{python}\" -IS \"$0\" \"$@\"\n' '''"
