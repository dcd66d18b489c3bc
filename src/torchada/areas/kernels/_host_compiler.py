"""The host's C++ compiler, with what it needs to make a shared library of a source that uses PyTorch's headers."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

from _torchada_cache import compilers
from torchada.base import settings


def find() -> list[str] | None:
    """$CXX, which may carry options, or the first of the usual names; None without one."""
    return compilers.find_cxx(settings.of_others("CXX"))


def looked_for() -> str:
    """What `find` could not find, for a message."""
    return compilers.looked_for(settings.of_others("CXX"))


def options(torch: Any, headers: Path) -> list[str]:
    """The same as PyTorch's own builder uses for its headers."""
    builder = (Path(torch.__file__).parent / "utils" / "cpp_extension.py").read_text(encoding="utf-8")
    return [
        "-std=c++20" if "-std=c++20" in builder else "-std=c++17",
        "-O2",
        "-fPIC",
        "-shared",
        "-fvisibility=hidden",
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}",
        f"-I{headers}",
    ]


def torch_headers(torch: Any) -> list[str]:
    include = Path(torch.__file__).parent / "include"
    return [f"-isystem{include}", f"-isystem{include / 'torch' / 'csrc' / 'api' / 'include'}"]


def torch_libraries(torch: Any) -> list[str]:
    folder = Path(torch.__file__).parent / "lib"
    return [f"-L{folder}", f"-Wl,-rpath,{folder}", "-lc10", "-ltorch_cpu"]


def version(torch: Any, compiler: str, command: list[str]) -> str:
    """Everything that a result depends on besides its source."""
    return f"{compilers.identity(compiler)} {torch.__file__} {torch.__version__} {platform.machine()} {command}"
