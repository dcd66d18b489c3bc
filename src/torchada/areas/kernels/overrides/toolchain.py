"""The compilers of overrides: the host's for C++, and that of the backend's toolkit for kernels of the device."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

from torchada.areas.kernels import _host_compiler
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
    finders: dict[str, Callable[[], Compiler]] = {".cpp": lru_cache(None)(partial(_of_the_host, context.torch))}
    if context.backend.build is not None:
        finders[context.backend.build.compiler.suffix] = lru_cache(None)(partial(_device_compiler, context))
    return finders


def _of_the_host(torch: Any) -> Compiler:
    """The C++ compiler, $CXX, which may carry options, or the first of the usual names."""
    command = _host_compiler.find()
    if command is None:
        raise CompileError(f"there is no C++ compiler ({_host_compiler.looked_for()})")
    before = [*command, *_host_compiler.options(torch, sources.OWN), *_host_compiler.torch_headers(torch)]
    version = _host_compiler.version(torch, command[0], before)
    return Compiler(version, lambda: (before, _host_compiler.torch_libraries(torch)))


def _device_compiler(context: Context) -> Compiler:
    """The toolkit's compiler, with the adapter's headers before PyTorch's, because the adapter has changed copies of some."""
    torch = context.torch
    toolkit = toolkit_of(context.backend, context.namespace)
    try:
        path = toolkit.compiler_path()
    except BuildError as error:
        raise CompileError(str(error)) from error
    path = shutil.which(path) or path
    before = [path, *_host_compiler.options(torch, sources.OWN), *_architectures(context, toolkit)]

    def command() -> tuple[list[str], list[str]]:
        # Asked as late as possible: the adapter's build tools load setuptools, which takes longer than everything else.
        own = [f"-I{folder}" for folder in toolkit.include_dirs()]
        folders = dict.fromkeys(toolkit.library_dirs())
        behind = [*(f"-L{folder}" for folder in folders), *(f"-Wl,-rpath,{folder}" for folder in folders)]
        behind += [f"-l{name}" for name in (*toolkit.libraries, toolkit.runtime)]
        return [*before, *own, *_host_compiler.torch_headers(torch)], [*behind, *_host_compiler.torch_libraries(torch)]

    adapter = f"{context.namespace.__file__} {getattr(context.namespace, '__version__', '')}"
    return Compiler(_host_compiler.version(torch, path, [*before, adapter]), command)


def _architectures(context: Context, toolkit: Toolkit) -> list[str]:
    """Those that MTGPU_TARGET names ("mp_31"), or that the toolkit lists; asking the adapter would initialise the devices."""
    assert context.backend.build is not None
    target = context.backend.build.compiler.target_variable
    named = re.findall(r"\d+", settings.of_others(target)) or listed_devices(toolkit)
    if not named:
        raise CompileError(f"{toolkit.lister} shows no device to compile for; set {target}, for example to mp_31")
    return [toolkit.arch_flag.format(number) for number in named]
