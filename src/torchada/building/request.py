"""What a setup.py asks for an extension, read once from setuptools' object, and whether that needs the accelerator."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from torchada.building.closure import Closure, is_cuda_source, is_own_source, is_source, of_build
from torchada.building.libraries import is_of_cuda, names_in
from torchada.building.toolkit import Toolkit

_OF_TORCH = ("cxx", "nvcc", "nvcc_dlink", "sycl")


class Attributes(NamedTuple):
    """The attributes of setuptools' object that a build for the accelerator changes: lists that are never None, paths as text."""

    sources: list[str]
    depends: list[str]
    include_dirs: list[str]
    library_dirs: list[str]
    runtime_library_dirs: list[str]
    libraries: list[str]
    define_macros: list[tuple[Any, ...]]
    undef_macros: list[str]
    extra_link_args: list[str]
    extra_compile_args: Any


@dataclass(frozen=True)
class CompileArgs:
    """Flags by compiler: `cxx` for C++, `nvcc` in nvcc's terms, `own` in those of the accelerator's compiler.

    `dlink` and `own_dlink` are the same two for linking device code, None where the extension does not ask for it.

    `is_list` where one list was given for all compilers. `is_forced` where the accelerator's compiler gets the C++ sources too.
    """

    cxx: list[str] = field(default_factory=list)
    nvcc: list[str] = field(default_factory=list)
    own: list[str] = field(default_factory=list)
    dlink: list[str] | None = None
    own_dlink: list[str] | None = None
    is_list: bool = False
    is_forced: bool = False


@dataclass(frozen=True)
class Request:
    """What is `given`. `files` are the sources that can be ported, `compiled` are they and what they include."""

    given: Attributes
    args: CompileArgs
    files: list[str]
    compiled: Closure
    is_for_cuda: bool
    notices: list[str]


def read(extension: Any, toolkit: Toolkit, foreign: Sequence[str]) -> Request:
    """What `extension` asks for. `foreign` are folders whose headers are not the project's."""
    given = _attributes(extension)
    args = _compile_args(given.extra_compile_args, toolkit)
    files = [source for source in given.sources if is_source(source)]
    compiled = of_build(files, given.include_dirs, [*args.cxx, *args.nvcc, *args.own], foreign)
    is_for_cuda = args.is_forced or _names_cuda(given) or compiled.needs_cuda(toolkit)
    return Request(given, args, files, compiled, is_for_cuda, _unknown_keys(extension, toolkit))


def _attributes(extension: Any) -> Attributes:
    *lists, _ = Attributes._fields
    texts = {name: [_text(entry) for entry in getattr(extension, name) or ()] for name in lists}
    return Attributes(**texts, extra_compile_args=extension.extra_compile_args)


def _text(entry: Any) -> Any:
    return os.fspath(entry) if isinstance(entry, os.PathLike) else entry


def _names_cuda(given: Attributes) -> bool:
    """Whether nvcc is needed, or the accelerator's compiler, or a library of CUDA's."""
    has_sources = any(is_own_source(source) or is_cuda_source(source) for source in given.sources)
    return has_sources or any(map(is_of_cuda, [*given.libraries, *names_in(given.extra_link_args)]))


def _compile_args(given: Any, toolkit: Toolkit) -> CompileArgs:
    """`given` as setup.py files write it: None, one list for all compilers, or a dictionary of lists."""
    force = f"force_{toolkit.compiler}"
    if not isinstance(given, Mapping):
        flags = _flags(given)
        kept = [flag for flag in flags if flag != force]
        return CompileArgs(kept, list(kept), is_list=True, is_forced=force in flags)
    cxx, own_dlink = _flags(given.get("cxx")), f"{toolkit.compiler}_dlink"
    return CompileArgs(
        cxx=[flag for flag in cxx if flag != force],
        nvcc=_flags(given.get("nvcc")),
        own=_flags(given.get(toolkit.compiler)),
        dlink=_flags(given["nvcc_dlink"]) if "nvcc_dlink" in given else None,
        own_dlink=_flags(given[own_dlink]) if own_dlink in given else None,
        is_forced=force in cxx,
    )


def _flags(value: Sequence[str] | None) -> list[str]:
    return [str(flag) for flag in value or ()]


def _unknown_keys(extension: Any, toolkit: Toolkit) -> list[str]:
    """What to tell the user about keys of extra_compile_args that no compiler has."""
    given, keys = extension.extra_compile_args, (*_OF_TORCH, toolkit.compiler, f"{toolkit.compiler}_dlink")
    return [
        f"extra_compile_args of {extension.name} has the key {str(key)!r}, which names no compiler; "
        f"its flags are not used (known: {', '.join(map(repr, keys))})"
        for key in (given if isinstance(given, Mapping) else ())
        if key not in keys
    ]
