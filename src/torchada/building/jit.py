"""torch.utils.cpp_extension.load and load_inline: what they hand to ninja, for the accelerator."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from torchada.building.architectures import required_flags
from torchada.building.closure import closure, is_cuda_source, is_source, of_project
from torchada.building.errors import say
from torchada.building.flags import macro, translate
from torchada.building.legacy import stable_include_dirs
from torchada.building.libraries import brought_along, is_of_cuda, linker_flags, names_in
from torchada.building.ported import include_dirs, port
from torchada.building.toolkit import Toolkit


def adapted(arguments: dict[str, Any], toolkit: Toolkit, foreign: Sequence[str]) -> dict[str, Any]:
    """The `arguments` of `_write_ninja_file_and_build_library` for the accelerator; unchanged where nothing concerns CUDA."""
    sources = [os.fspath(source) for source in arguments["sources"]]
    cxx, nvcc = list(arguments["extra_cflags"] or ()), list(arguments["extra_cuda_cflags"] or ())
    given = list(arguments["extra_include_paths"] or ())
    folders, included = include_dirs([*cxx, *nvcc])
    files = [source for source in sources if is_source(source)]
    folders = [*given, *folders]
    apart = [*foreign, *stable_include_dirs(toolkit)]
    found = closure([*files, *of_project(included, apart)], folders, apart)
    is_cuda = any(map(is_cuda_source, sources)) or any(map(is_of_cuda, names_in(arguments["extra_ldflags"] or ())))
    if not (is_cuda or arguments["with_cuda"] or found.needs_cuda(folders, toolkit)):
        return arguments
    toolkit.compiler_path()
    copies = port(found.files, os.path.join(os.path.abspath(arguments["build_directory"]), "torchada"), os.getcwd())
    done = translate(nvcc, toolkit)
    say(done.notices)
    return {
        **arguments,
        "sources": [copies.of(source) if source in files else source for source in sources],
        "extra_cflags": [macro(flag) if flag.startswith(("-D", "-U")) else flag for flag in copies.include_flags(cxx)],
        "extra_cuda_cflags": [*copies.include_flags(done.flags), *required_flags(toolkit, done.asked)],
        "extra_include_paths": [*copies.with_copies(given), *stable_include_dirs(toolkit), *found.beside],
        "extra_ldflags": [
            *(arguments["extra_ldflags"] or ()),
            *(f"-l{name}" for name in brought_along(found.files, toolkit)),
        ],
        "with_cuda": True,
    }


def link_flags(flags: Sequence[str], toolkit: Toolkit) -> list[str]:
    """The linker's flags of such a build, as torch puts them together, for the accelerator."""
    new, notices = linker_flags(flags, toolkit)
    say(notices)
    folders = list(toolkit.library_dirs())
    return [*new, *(f"-L{each}" for each in folders), *(f"-Wl,-rpath,{each}" for each in folders)]
