"""The compilers of overrides: the host's for C++, and that of the backend's toolkit for kernels of the device."""

from __future__ import annotations

import platform
import re
import shutil
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from _torchada_cache import compilers
from torchada.areas.kernels.overrides import sources
from torchada.areas.kernels.overrides.compiler import CompileError, Compiler
from torchada.base import settings
from torchada.building.adapter import toolkit_of
from torchada.building.architectures import listed_devices
from torchada.building.errors import BuildError
from torchada.building.toolkit import Toolkit
from torchada.redirect.context import Context


def compilers_for(context: Context) -> dict[str, Callable[[], Compiler]]:
    """By suffix, a function that finds the compiler when the first source needs it; it raises CompileError where there is none."""
    finders: dict[str, Callable[[], Compiler]] = {".cpp": lru_cache(None)(partial(_host_compiler, context.torch))}
    if context.backend.build is not None:
        finders[context.backend.build.compiler.suffix] = lru_cache(None)(partial(_device_compiler, context))
    return finders


def _host_compiler(torch: Any) -> Compiler:
    """The C++ compiler, $CXX, which may carry options, or the first of the usual names."""
    wanted = settings.of_others("CXX")
    command = compilers.find_cxx(wanted)
    if command is None:
        raise CompileError(f"there is no C++ compiler ({compilers.looked_for(wanted)})")
    before = [*command, *_options(torch), *_torch_headers(torch)]
    return Compiler(_version(torch, command[0], before), lambda: (before, _torch_libraries(torch)))


def _device_compiler(context: Context) -> Compiler:
    """The toolkit's compiler, with the adapter's headers before PyTorch's, because the adapter has changed copies of some."""
    torch = context.torch
    toolkit = toolkit_of(context.backend, context.namespace)
    try:
        path = toolkit.compiler_path()
    except BuildError as error:
        raise CompileError(str(error)) from error
    path = shutil.which(path) or path
    before = [path, *_options(torch), *_architectures(context, toolkit)]

    def command() -> tuple[list[str], list[str]]:
        # Asked as late as possible: the adapter's build tools load setuptools, which takes longer than everything else.
        own = [f"-I{folder}" for folder in toolkit.include_dirs()]
        folders = dict.fromkeys(toolkit.library_dirs())
        behind = [*(f"-L{folder}" for folder in folders), *(f"-Wl,-rpath,{folder}" for folder in folders)]
        behind += [f"-l{name}" for name in (*toolkit.libraries, toolkit.runtime)]
        return [*before, *own, *_torch_headers(torch)], [*behind, *_torch_libraries(torch)]

    adapter = f"{context.namespace.__file__} {getattr(context.namespace, '__version__', '')}"
    return Compiler(_version(torch, path, [*before, adapter]), command)


def _architectures(context: Context, toolkit: Toolkit) -> list[str]:
    """Those that MTGPU_TARGET names ("mp_31"), or that the toolkit lists; asking the adapter would initialise the devices."""
    assert context.backend.build is not None
    target = context.backend.build.compiler.target_variable
    named = re.findall(r"\d+", settings.of_others(target)) or listed_devices(toolkit)
    if not named:
        raise CompileError(f"{toolkit.lister} shows no device to compile for; set {target}, for example to mp_31")
    return [toolkit.arch_flag.format(number) for number in named]


def _options(torch: Any) -> list[str]:
    # The same as PyTorch's own builder uses for its headers.
    builder = (Path(torch.__file__).parent / "utils" / "cpp_extension.py").read_text(encoding="utf-8")
    return [
        "-std=c++20" if "-std=c++20" in builder else "-std=c++17",
        "-O2",
        "-fPIC",
        "-shared",
        "-fvisibility=hidden",
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}",
        f"-I{sources.OWN}",
    ]


def _torch_headers(torch: Any) -> list[str]:
    include = Path(torch.__file__).parent / "include"
    return [f"-isystem{include}", f"-isystem{include / 'torch' / 'csrc' / 'api' / 'include'}"]


def _torch_libraries(torch: Any) -> list[str]:
    folder = Path(torch.__file__).parent / "lib"
    return [f"-L{folder}", f"-Wl,-rpath,{folder}", "-lc10", "-ltorch_cpu"]


def _version(torch: Any, compiler: str, options: list[str]) -> str:
    return f"{compilers.identity(compiler)} {torch.__file__} {torch.__version__} {platform.machine()} {options}"
