"""What a build needs: torch's headers and libraries, a C++ compiler, ninja."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from musasim.errors import MusasimBuildError


@dataclass(frozen=True)
class Torch:
    folder: Path
    version: str


def find_torch() -> Torch:
    """The torch that ``import torch`` would give, without importing it."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise MusasimBuildError("musasim needs PyTorch, which is not installed. Run `pip install torch`.")
    folder = Path(spec.origin).parent
    found = re.search(r"^__version__ = '([^']+)'", (folder / "version.py").read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise MusasimBuildError(f"musasim cannot tell the version of the PyTorch in {folder}.")
    return Torch(folder, found[1])


def find_compiler() -> list[str]:
    """The C++ compiler: $CXX, which may carry options, or the first of the usual names."""
    wanted = os.environ.get("CXX")
    command = shlex.split(wanted) if wanted else []
    for name in [command[0]] if command else ["c++", "g++", "clang++"]:
        path = shutil.which(name)
        if path is not None:
            return [path, *command[1:]]
    looked_for = f"CXX={wanted}" if wanted else "c++, g++ or clang++"
    raise MusasimBuildError(
        f"musasim compiles its C++ part once, and found no C++ compiler ({looked_for}). "
        "Install one (Debian, Ubuntu: `apt install g++`) or set CXX."
    )


def find_ninja() -> str:
    """ninja on the PATH, or the one that the ``ninja`` package brings (a venv's bin need not be on the PATH)."""
    path = shutil.which("ninja")
    if path is not None:
        return path
    spec = importlib.util.find_spec("ninja")
    if spec is not None:
        import ninja  # only now: the package is optional

        beside_scripts = Path(sysconfig.get_path("scripts")) / "ninja"
        for candidate in (Path(ninja.BIN_DIR) / "ninja", beside_scripts):
            if candidate.exists():
                return str(candidate)
    raise MusasimBuildError("musasim compiles its C++ part once, and found no ninja. Run `pip install ninja`.")


def ninja_file(torch: Torch, compiler: list[str], sources: list[Path], output: str) -> str:
    """A build file that makes `output` from `sources`, one object each."""
    include = torch.folder / "include"
    folders = [include, include / "torch" / "csrc" / "api" / "include", Path(sysconfig.get_paths()["include"])]
    libraries = torch.folder / "lib"
    flags = ["-std=c++20", "-O1", "-fPIC", "-fvisibility=hidden", "-Wno-unknown-pragmas"]
    flags += [f"-isystem{folder}" for folder in folders]
    flags += [f"-idirafter{Path(__file__).parent / 'csrc' / 'kineto'}"]
    link = ["-shared", f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-lc10", "-ltorch_cpu", "-ltorch", "-ltorch_python"]
    command = shlex.join(compiler)
    lines = [
        "rule compile",
        f"  command = {_escape(command)} {_escape(shlex.join(flags))} -c $in -o $out",
        "rule link",
        f"  command = {_escape(command)} $in -o $out {_escape(shlex.join(link))}",
        *(f"build {source.stem}.o: compile {_escape_path(str(source))}" for source in sources),
        f"build {output}: link {' '.join(source.stem + '.o' for source in sources)}",
    ]
    return "\n".join(lines) + "\n"


def _escape(text: str) -> str:
    return text.replace("$", "$$")


def _escape_path(text: str) -> str:
    return _escape(text).replace(" ", "$ ").replace(":", "$:")
