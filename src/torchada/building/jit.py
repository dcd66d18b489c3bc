"""torch.utils.cpp_extension.load and load_inline: what they hand to ninja, for the accelerator."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from torchada.building.architectures import required_flags
from torchada.building.closure import is_cuda_source, is_source, of_build
from torchada.building.errors import say
from torchada.building.flags import macros, translate
from torchada.building.include_flags import with_copies
from torchada.building.libraries import brought_along, is_of_cuda, linker_flags, names_in
from torchada.building.ported import port
from torchada.building.stable_abi import stable_include_dirs
from torchada.building.toolkit import Toolkit


def adapted(arguments: dict[str, Any], toolkit: Toolkit, foreign: Sequence[str]) -> dict[str, Any]:
    """The `arguments` of `_write_ninja_file_and_build_library` for the accelerator; unchanged where nothing concerns CUDA."""
    sources = [os.fspath(source) for source in arguments["sources"]]
    cxx, nvcc, linker = (list(arguments[name] or ()) for name in ("extra_cflags", "extra_cuda_cflags", "extra_ldflags"))
    given = list(arguments["extra_include_paths"] or ())
    files = [source for source in sources if is_source(source)]
    compiled = of_build(files, given, [*cxx, *nvcc], foreign)
    names_cuda = any(map(is_cuda_source, sources)) or any(map(is_of_cuda, names_in(linker)))
    if not (names_cuda or arguments["with_cuda"] or compiled.needs_cuda(toolkit)):
        return arguments
    toolkit.compiler_path()
    folder = os.path.join(os.path.abspath(arguments["build_directory"]), "torchada")
    copies = port(compiled.files, folder, os.getcwd(), compiled.searched)
    say(copies.notices)
    translated = translate(nvcc, toolkit)
    say(translated.notices)
    return {
        **arguments,
        "sources": [copies.of(source) if source in files else source for source in sources],
        "extra_cflags": macros(with_copies(cxx, copies)),
        "extra_cuda_cflags": [*with_copies(translated.flags, copies), *required_flags(toolkit, translated.asked)],
        "extra_include_paths": [*copies.with_copies(given), *stable_include_dirs(toolkit), *compiled.beside],
        "extra_ldflags": [*linker, *(f"-l{name}" for name in brought_along(compiled.files, toolkit))],
        "with_cuda": True,
    }


def link_flags(flags: Sequence[str], toolkit: Toolkit) -> list[str]:
    """The linker's flags of such a build, as torch puts them together, for the accelerator."""
    new, notices = linker_flags(flags, toolkit)
    say(notices)
    folders = list(toolkit.library_dirs())
    return [*new, *(f"-L{folder}" for folder in folders), *(f"-Wl,-rpath,{folder}" for folder in folders)]
