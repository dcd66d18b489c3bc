"""Adapt the extensions of a setup.py while they are built: ported sources, the accelerator's flags and libraries."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from torchada.building.answer import answered
from torchada.building.closure import OWN_SUFFIXES
from torchada.building.errors import say
from torchada.building.ported import port
from torchada.building.request import Attributes, read
from torchada.building.toolkit import Toolkit

# C++ sources that the accelerator's compiler gets, because their extension asks for it; torch decides by the name of a file.
_forced: set[str] = set()


@contextmanager
def prepared(command: Any, toolkit: Toolkit, foreign: Sequence[str]) -> Iterator[None]:
    """Adapt the CUDA extensions of `command`, a build_ext, to the accelerator within the block; afterwards they are as before.

    Their sources are ported into its build_temp. `foreign` are the include folders of torch and the like. Raises BuildError for
    what cannot be built.
    """
    extensions = list(command.extensions)
    before = [
        (extension, {name: getattr(extension, name) for name in Attributes._fields if hasattr(extension, name)})
        for extension in extensions
    ]
    try:
        are_adapted = [prepare(extension, command.build_temp, toolkit, foreign) for extension in extensions]
        if any(are_adapted):
            # distutils asks for suffixes where it names object files.
            command.compiler.src_extensions = [*command.compiler.src_extensions, *OWN_SUFFIXES]
        elif extensions:
            _mention_forgotten_kernels(extensions, toolkit)
        yield
    finally:
        _forced.clear()
        for extension, attributes in before:
            vars(extension).update(attributes)


def prepare(extension: Any, build_temp: str, toolkit: Toolkit, foreign: Sequence[str]) -> bool:
    """Adapt one extension to the accelerator if it is a CUDA extension; returns whether it is one."""
    request = read(extension, toolkit, foreign)
    say(request.notices)  # after each step, because the next may end the build
    if not request.is_for_cuda:
        return False
    toolkit.compiler_path()  # checked here, because people read the first error of a build
    folder = os.path.join(os.path.abspath(build_temp), "torchada", extension.name)
    copies = port(request.compiled.files, folder, os.getcwd(), request.compiled.searched)
    say(copies.notices)
    attributes, notices = answered(request, copies, toolkit, foreign)
    say(notices)
    for name, value in attributes._asdict().items():
        setattr(extension, name, value)
    if request.args.is_forced:
        _forced.update(os.path.abspath(copies.of(source)) for source in request.files)
    return True


def _mention_forgotten_kernels(extensions: Sequence[Any], toolkit: Toolkit) -> None:
    """Say so if a project has CUDA sources and builds none: most probably its setup.py has asked whether CUDA is available."""
    sources = [os.fspath(source) for extension in extensions for source in extension.sources]
    if any(map(is_own_source, sources)):
        return
    kernel = next(_kernels(sorted({os.path.dirname(os.path.abspath(source)) for source in sources})), None)
    if kernel is not None:
        say(
            [
                f"no extension is built with CUDA, though there is {os.path.relpath(kernel)}. If setup.py asks "
                f"torch.cuda.is_available() or torch.version.cuda, which tell the truth on {toolkit.name}, set "
                "TORCHADA_FORCE_CUDA_AVAILABLE=1 for this build; many have a switch of their own, such as FORCE_CUDA=1"
            ]
        )


def _kernels(folders: Sequence[str]) -> Iterator[str]:
    """CUDA sources in `folders`, and one level below."""
    for folder in folders:
        for path, inner, names in os.walk(folder):
            yield from (os.path.join(path, name) for name in names if name.endswith(".cu"))
            inner[:] = [] if path != folder else [name for name in inner if name not in ("build", ".git")]


def is_own_source(path: str) -> bool:
    """Whether the accelerator's compiler gets `path`: ported CUDA, its own language, or C++ where an extension wants that."""
    return path.endswith(OWN_SUFFIXES) or os.path.abspath(path) in _forced
