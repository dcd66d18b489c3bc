"""What a build needs: torch's headers and libraries, a C++ compiler, ninja."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import sysconfig
from dataclasses import dataclass, field
from pathlib import Path

from _torchada_cache import compilers
from musasim.errors import MusasimBuildError

# Options for the toolkit's own shared libraries, which are made without torch.
SHARED_LIBRARY = ("-std=c++20", "-O1", "-fPIC", "-fvisibility=hidden", "-shared", "-pthread")


@dataclass(frozen=True)
class Torch:
    folder: Path
    version: str


def find_torch() -> Torch:
    """Find the torch that ``import torch`` would load, without importing it."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise MusasimBuildError("musasim needs PyTorch, which is not installed. Run `pip install torch`.")
    folder = Path(spec.origin).parent
    version = re.search(r"^__version__ = '([^']+)'", (folder / "version.py").read_text(encoding="utf-8"), re.MULTILINE)
    if version is None:
        raise MusasimBuildError(f"musasim cannot determine the version of the PyTorch in {folder}.")
    return Torch(folder, version[1])


def find_compiler() -> list[str]:
    """Find the C++ compiler: $CXX, which may contain options, or the first of the usual names."""
    wanted = os.environ.get("CXX", "")
    command = compilers.find_cxx(wanted)
    if command is None:
        raise MusasimBuildError(
            f"musasim has to compile its C++ part once, but found no C++ compiler ({compilers.looked_for(wanted)}). "
            "Install one (Debian, Ubuntu: `apt install g++`) or set CXX."
        )
    return command


def find_ninja() -> str:
    """Find ninja on the PATH or in the ``ninja`` package (the bin folder of a venv need not be on the PATH)."""
    path = shutil.which("ninja")
    if path is not None:
        return path
    spec = importlib.util.find_spec("ninja")
    if spec is not None:
        import ninja  # not at the top, because the package is optional

        beside_scripts = Path(sysconfig.get_path("scripts")) / "ninja"
        for candidate in (Path(ninja.BIN_DIR) / "ninja", beside_scripts):
            if candidate.exists():
                return str(candidate)
    raise MusasimBuildError("musasim has to compile its C++ part once, but found no ninja. Run `pip install ninja`.")


@dataclass(frozen=True)
class Library:
    """A shared library, made from one object for each source. `flags` and `link` are added to the usual options."""

    name: str
    sources: list[Path] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    link: list[str] = field(default_factory=list)
    needs: list[Library] = field(default_factory=list)


def forward_to(name: str, library: Library) -> Library:
    """Describe an empty library: a program that loads it also loads `library`, from the same folder."""
    return Library(name, link=["-Wl,-rpath,$ORIGIN"], needs=[library])


def torch_extension(
    torch: Torch, name: str, sources: list[Path], needs: list[Library], includes: list[Path]
) -> Library:
    """Describe a library that links to torch and Python, and finds the libraries it needs in its own folder."""
    include = torch.folder / "include"
    folders = [include, include / "torch" / "csrc" / "api" / "include", Path(sysconfig.get_paths()["include"])]
    libraries = torch.folder / "lib"
    # The last folder of all has those of Kineto's headers that torch's wheel leaves out.
    compile_flags = [
        *_pybind_flags(libraries),
        *(f"-I{folder}" for folder in includes),
        *(f"-isystem{folder}" for folder in folders),
        f"-idirafter{Path(__file__).parents[1] / 'torch_musa' / 'native' / 'kineto'}",
    ]
    link = [f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-lc10", "-ltorch_cpu", "-ltorch", "-ltorch_python"]
    return Library(name, sources, compile_flags, ["-Wl,-rpath,$ORIGIN", *link], needs)


def _pybind_flags(libraries: Path) -> list[str]:
    """Return the flags that let pybind11 share its types with torch's own extension, which another compiler built.

    Up to pybind11 2.13, the compiler's name and version have to match as well. torch's library contains them as text.
    """
    text = (libraries / "libtorch_python.so").read_bytes()
    internals = re.search(rb"__pybind11_internals_v\d+(_gcc|_clang)(_libstdcpp|_libcpp)?(_cxxabi\d+)__", text)
    if internals is None:
        return []
    names = ("COMPILER_TYPE", "STDLIB", "BUILD_ABI")
    return [f'-DPYBIND11_{name}="{(value or b"").decode()}"' for name, value in zip(names, internals.groups())]


def ninja_file(compiler: list[str], libraries: list[Library]) -> str:
    """Return the text of a build file that makes all of `libraries`."""
    command = _escape(shlex.join(compiler))
    flags = _escape(shlex.join(["-std=c++20", "-O1", "-fPIC", "-fvisibility=hidden", "-Wno-unknown-pragmas"]))
    lines = [
        "rule compile",
        f"  command = {command} {flags} $flags -c $in -o $out",
        "rule link",
        f"  command = {command} -shared -Wl,--no-as-needed -Wl,-soname,$out $objects -o $out $link",
    ]
    for library in libraries:
        lines += _build(library)
    return "\n".join(lines) + "\n"


def _build(library: Library) -> list[str]:
    objects = " ".join(source.stem + ".o" for source in library.sources)
    needed = " ".join(other.name for other in library.needs)
    lines = []
    for source in library.sources:
        lines += [f"build {source.stem}.o: compile {_escape_path(str(source))}"]
        lines += [f"  flags = {_escape(shlex.join(library.flags))}"]
    return [
        *lines,
        f"build {library.name}: link {objects} {needed}".rstrip(),
        f"  objects = {objects} {needed}".rstrip(),
        f"  link = {_escape(shlex.join(library.link))}",
    ]


def _escape(text: str) -> str:
    return text.replace("$", "$$")


def _escape_path(text: str) -> str:
    return _escape(text).replace(" ", "$ ").replace(":", "$:")
