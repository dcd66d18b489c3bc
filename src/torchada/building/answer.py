"""What an extension is built with on the accelerator: ported sources, and flags and libraries translated."""

from __future__ import annotations

import os
from collections.abc import Sequence

from torchada.building.architectures import names_architecture, required_flags
from torchada.building.closure import is_own_source, is_within, slashed
from torchada.building.flags import code, macro_name, macros, translate
from torchada.building.include_flags import with_copies
from torchada.building.libraries import brought_along, linked, linker_flags
from torchada.building.ported import Copies
from torchada.building.request import Attributes, Request
from torchada.building.stable_abi import stable_include_dirs
from torchada.building.toolkit import Toolkit

# Torch defines these for nvcc. torch_musa's own extensions do not, so sources for its compiler convert and add such numbers freely.
_RESTRICTIONS = (
    "__CUDA_NO_HALF_OPERATORS__",
    "__CUDA_NO_HALF_CONVERSIONS__",
    "__CUDA_NO_HALF2_OPERATORS__",
    "__CUDA_NO_BFLOAT16_CONVERSIONS__",
)


def answered(
    request: Request, copies: Copies, toolkit: Toolkit, foreign: Sequence[str]
) -> tuple[Attributes, list[str]]:
    """The answer to a request whose files have been ported, and what to tell the user."""
    given, compiled, own = request.given, request.compiled, list(toolkit.library_dirs())
    sources = [_near(copies.of(source)) if source in request.files else source for source in given.sources]
    include_dirs = _include_dirs(given.include_dirs, copies, toolkit, foreign)
    compile_args, of_compilers = _compile_args(request, sources, copies, toolkit)
    libraries, of_libraries = linked(given.libraries, toolkit)
    link_args, of_linker = linker_flags(given.extra_link_args, toolkit)
    more = [toolkit.runtime, *brought_along(compiled.files, toolkit)]
    attributes = Attributes(
        sources=sources,
        depends=[*given.depends, *map(copies.of, compiled.files)],
        include_dirs=[*include_dirs, *compiled.beside],  # last, because the copies' own headers have these names too
        library_dirs=[*given.library_dirs, *own],
        runtime_library_dirs=list(dict.fromkeys([*given.runtime_library_dirs, *own])),
        libraries=[*libraries, *(name for name in more if name not in libraries)],
        define_macros=[_ported_macro(*macro) for macro in given.define_macros],
        undef_macros=list(map(macro_name, given.undef_macros)),
        extra_link_args=link_args,
        extra_compile_args=compile_args,
    )
    return attributes, [*of_compilers, *of_libraries, *of_linker]


def _ported_macro(name: str, *value: object) -> tuple[str | None, ...]:
    """Setuptools writes any value into the flag as text, and takes a name without one for a macro that is undefined."""
    return (macro_name(name), *(None if each is None else code(str(each)) for each in value))


def _near(path: str) -> str:
    """`path` relative to the working directory if it is below it: object files are named after the whole path."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative


def _include_dirs(given: Sequence[str], copies: Copies, toolkit: Toolkit, foreign: Sequence[str]) -> list[str]:
    """The project's folders, then the accelerator's, which contain changed copies of some torch headers, then torch's."""
    apart = tuple(map(slashed, foreign))
    of_torch = [folder for folder in given if is_within(folder, apart)]
    of_project = [folder for folder in given if folder not in of_torch]
    of_toolkit = [*stable_include_dirs(toolkit), *toolkit.include_dirs()]
    return list(dict.fromkeys([*copies.with_copies(of_project), *of_toolkit, *of_torch]))


def _compile_args(
    request: Request, sources: Sequence[str], copies: Copies, toolkit: Toolkit
) -> tuple[list[str] | dict[str, list[str]], list[str]]:
    """A list where one was given and C++ is all that is compiled, otherwise torch's dictionary; and notices."""
    args, given = request.args, request.given.extra_compile_args
    cxx = macros(with_copies(args.cxx, copies))
    if args.is_list and not args.is_forced and not any(map(is_own_source, sources)):
        return cxx, []
    device, architectures, notices = _device_flags(args.nvcc, args.own, toolkit)
    lifted = [f"-U{macro_name(name)}" for name in _RESTRICTIONS] if args.own else []
    by_compiler = {"cxx": cxx, "nvcc": [*lifted, *with_copies(device, copies), *architectures]}
    if args.dlink is not None or args.own_dlink is not None:
        linking, _, of_linking = _device_flags(args.dlink or (), args.own_dlink or (), toolkit)
        by_compiler["nvcc_dlink"] = [*linking, *architectures]
        notices += of_linking
    others = {} if args.is_list else {key: value for key, value in given.items() if key == "sycl"}
    return {**others, **by_compiler}, notices


def _device_flags(nvcc: Sequence[str], own: Sequence[str], toolkit: Toolkit) -> tuple[list[str], list[str], list[str]]:
    """Flags for the accelerator's compiler out of nvcc's and its own, those for architectures if these name none, and notices."""
    translated = translate(nvcc, toolkit)
    flags = [*translated.flags, *macros(own)]
    is_named = any(names_architecture(flag, toolkit) for flag in flags)
    return flags, [] if is_named else required_flags(toolkit, translated.asked), translated.notices
