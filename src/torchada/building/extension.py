"""Adapt the extensions of a setup.py while they are built: ported sources, the accelerator's flags and libraries."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from torchada.building.architectures import names_architecture, required_flags
from torchada.building.closure import closure, is_cuda_source, is_source, is_within, of_project
from torchada.building.compile_args import CompileArgs, parsed, unknown_notice
from torchada.building.errors import say
from torchada.building.flags import code, macro, macro_name, translate
from torchada.building.legacy import stable_include_dirs
from torchada.building.libraries import brought_along, is_of_cuda, linked, linker_flags, names_in
from torchada.building.ported import Copies, include_dirs, port
from torchada.building.toolkit import Toolkit

_CHANGED = (
    "sources",
    "depends",
    "include_dirs",
    "library_dirs",
    "runtime_library_dirs",
    "libraries",
    "define_macros",
    "undef_macros",
    "extra_compile_args",
    "extra_link_args",
)
_OWN_SUFFIXES = (".mu", ".muh")
# Torch defines these for nvcc. torch_musa's own extensions do not, so sources for its compiler convert and add such numbers freely.
_RESTRICTIONS = (
    "__CUDA_NO_HALF_OPERATORS__",
    "__CUDA_NO_HALF_CONVERSIONS__",
    "__CUDA_NO_HALF2_OPERATORS__",
    "__CUDA_NO_BFLOAT16_CONVERSIONS__",
)
# C++ sources that the accelerator's compiler gets, because their extension asks for it; torch decides by the name of a file.
_forced: set[str] = set()


@contextmanager
def prepared(command: Any, toolkit: Toolkit, foreign: Sequence[str]) -> Iterator[None]:
    """Adapt the CUDA extensions of `command`, a build_ext, to the accelerator within the block; afterwards they are as before.

    Their sources are ported into its build_temp. `foreign` are the include folders of torch and the like. Raises BuildError for
    what cannot be built.
    """
    extensions = list(command.extensions)
    before = [(each, {name: getattr(each, name) for name in _CHANGED if hasattr(each, name)}) for each in extensions]
    try:
        built = [prepare(each, command.build_temp, toolkit, foreign) for each in extensions]
        if any(built):
            # distutils asks for suffixes where it names object files.
            command.compiler.src_extensions = [*command.compiler.src_extensions, *_OWN_SUFFIXES]
        elif extensions:
            _mention_forgotten_kernels(extensions, toolkit)
        yield
    finally:
        _forced.clear()
        for each, values in before:
            vars(each).update(values)


def prepare(extension: Any, build_temp: str, toolkit: Toolkit, foreign: Sequence[str]) -> bool:
    """Adapt one extension to the accelerator if it is a CUDA extension; returns whether it is one."""
    sources = [os.fspath(source) for source in extension.sources]
    foreign = [*foreign, *stable_include_dirs(toolkit)]
    args = parsed(extension.extra_compile_args, toolkit)
    say(unknown_notice(extension.name, args, toolkit))
    folders, included = include_dirs([*args.cxx, *args.nvcc, *args.own])
    files = [source for source in sources if is_source(source)]
    folders = [*map(os.fspath, extension.include_dirs or ()), *folders]
    found = closure([*files, *of_project(included, foreign)], folders, foreign)
    if not (args.is_forced or _is_of_cuda(extension, sources) or found.needs_cuda(folders, toolkit)):
        return False
    toolkit.compiler_path()  # checked here, because people read the first error of a build
    copies = port(found.files, os.path.join(os.path.abspath(build_temp), "torchada", extension.name), os.getcwd())
    extension.sources = [_near(copies.of(source)) if source in files else source for source in sources]
    extension.depends = [*(extension.depends or ()), *map(copies.of, found.files)]
    if args.is_forced:
        _forced.update(os.path.abspath(copies.of(source)) for source in files)
    _set_compile_args(extension, args, copies, toolkit)
    _set_link_args(extension, found.files, toolkit)
    folders = _include_dirs(map(os.fspath, extension.include_dirs or ()), copies, toolkit, foreign)
    extension.include_dirs = [*folders, *found.beside]  # last, because the copies' own headers have these names too
    return True


def _include_dirs(given: Iterable[str], copies: Copies, toolkit: Toolkit, foreign: Sequence[str]) -> list[str]:
    """The project's folders, then the accelerator's, which contain changed copies of some torch headers, then torch's."""
    folders = list(given)
    apart = tuple(os.path.join(os.path.abspath(each), "") for each in foreign)
    of_torch = [each for each in folders if is_within(each, apart)]
    of_project = [each for each in folders if not is_within(each, apart)]
    own = [*stable_include_dirs(toolkit), *toolkit.include_dirs()]
    return list(dict.fromkeys([*copies.with_copies(of_project), *own, *of_torch]))


def _is_of_cuda(extension: Any, sources: Sequence[str]) -> bool:
    """Whether nvcc is needed, or the accelerator's compiler, or a library of CUDA's."""
    libraries = [*(extension.libraries or ()), *names_in(extension.extra_link_args or ())]
    return _is_own(sources) or any(map(is_cuda_source, sources)) or any(map(is_of_cuda, libraries))


def _is_own(sources: Sequence[str]) -> bool:
    """Whether some sources are written for the accelerator."""
    return any(source.endswith(_OWN_SUFFIXES) for source in sources)


def _set_compile_args(extension: Any, args: CompileArgs, copies: Copies, toolkit: Toolkit) -> None:
    extension.define_macros = [
        (macro_name(name), value if value is None else code(value)) for name, value in extension.define_macros or ()
    ]
    extension.undef_macros = [macro_name(name) for name in extension.undef_macros or ()]
    cxx = [macro(flag) if flag.startswith(("-D", "-U")) else flag for flag in copies.include_flags(args.cxx)]
    if args.is_list and not args.is_forced and not _is_own(extension.sources):
        extension.extra_compile_args = cxx
        return
    given = extension.extra_compile_args
    others = {key: value for key, value in given.items() if key == "sycl"} if isinstance(given, dict) else {}
    device, architectures = _device_flags(args.nvcc, args.own, toolkit)
    if args.own:
        device = [*(f"-U{macro_name(name)}" for name in _RESTRICTIONS), *device]
    extension.extra_compile_args = {**others, "cxx": cxx, "nvcc": [*copies.include_flags(device), *architectures]}
    if args.dlink is not None or args.own_dlink is not None:
        linking, _ = _device_flags(args.dlink or (), args.own_dlink or (), toolkit)
        extension.extra_compile_args["nvcc_dlink"] = [*linking, *architectures]


def _device_flags(nvcc: Sequence[str], own: Sequence[str], toolkit: Toolkit) -> tuple[list[str], list[str]]:
    """Flags for the accelerator's compiler out of nvcc's and its own, and those that name the architectures if none of these do."""
    done = translate(nvcc, toolkit)
    say(done.notices)
    flags = [*done.flags, *(macro(flag) if flag.startswith(("-D", "-U")) else flag for flag in own)]
    named = any(names_architecture(flag, toolkit) for flag in flags)
    return flags, [] if named else required_flags(toolkit, done.asked)


def _set_link_args(extension: Any, files: Iterable[str], toolkit: Toolkit) -> None:
    libraries, notices = linked(extension.libraries or (), toolkit)
    flags, more = linker_flags(extension.extra_link_args or (), toolkit)
    say([*notices, *more])
    libraries += [name for name in (toolkit.runtime, *brought_along(files, toolkit)) if name not in libraries]
    own = list(toolkit.library_dirs())
    extension.libraries = libraries
    extension.extra_link_args = flags
    extension.library_dirs = [*(extension.library_dirs or ()), *own]
    extension.runtime_library_dirs = list(dict.fromkeys([*(extension.runtime_library_dirs or ()), *own]))


def _near(path: str) -> str:
    """`path` relative to the working directory if it is below it: object files are named after the whole path."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative


def _mention_forgotten_kernels(extensions: Sequence[Any], toolkit: Toolkit) -> None:
    """Say so if a project has CUDA sources and builds none: most probably its setup.py has asked whether CUDA is available."""
    sources = [os.fspath(source) for each in extensions for source in each.sources]
    if _is_own(sources):
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
    return path.endswith(_OWN_SUFFIXES) or os.path.abspath(path) in _forced
