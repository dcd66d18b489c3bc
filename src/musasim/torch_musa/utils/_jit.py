"""load and load_inline: extensions that are built at run time."""

from __future__ import annotations

import os
import shlex
import sys
import sysconfig
from typing import TYPE_CHECKING, Any

import torch
import torch.utils.cpp_extension as torch_builder
from torch.utils._cpp_extension_versioner import ExtensionVersioner
from torch.utils.cpp_extension import (
    EXEC_EXT,
    LIB_EXT,
    _get_exec_path,
    _import_module_from_library,
    _run_ninja_build,
    get_compiler_abi_compatibility_and_version,
    get_default_build_root,
    verify_ninja_availability,
)
from torch.utils.file_baton import FileBaton

from ._flags import _abi_flags, _get_musa_arch_flags, _is_musa_file, _mcc_flags, _quoted, _with_standard
from ._ninja import _maybe_write, _refuse_sycl, _write_ninja_file
from ._paths import TORCH_LIB_PATH, TORCH_MUSA_LIB_PATH, get_cxx_compiler, include_paths, library_paths

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

JIT_EXTENSION_VERSIONER: Any = ExtensionVersioner()


def _get_build_directory(name: str, verbose: bool) -> str:
    """TORCH_EXTENSIONS_DIR/name, or a folder below PyTorch's root that is named after the versions of Python and MUSA."""
    root = os.environ.get("TORCH_EXTENSIONS_DIR")
    if root is None:
        version = f"py{sys.version_info.major}{sys.version_info.minor}{getattr(sys, 'abiflags', '')}"
        root = os.path.join(get_default_build_root(), f"{version}_mu{torch.version.musa}")  # type: ignore[attr-defined]
    if verbose:
        print(f"Using {root} as PyTorch extensions root...", file=sys.stderr)
    folder = os.path.join(root, name)
    os.makedirs(folder, exist_ok=True)
    return folder


def _prepare_ldflags(extra_ldflags: list[str], with_musa: bool, verbose: bool, is_standalone: bool) -> list[str]:
    flags = list(extra_ldflags)
    flags += [shlex.quote(f"-L{path}") for path in library_paths(musa=bool(with_musa))]
    flags += ["-lc10", "-ltorch_cpu", "-ltorch"]
    if not is_standalone:
        flags.append("-ltorch_python")
    flags += ["-lmusa_python", "-lmusa_kernels", "-lmusart"]
    if is_standalone:
        flags += [shlex.quote(f"-Wl,-rpath,{path}") for path in (TORCH_LIB_PATH, TORCH_MUSA_LIB_PATH)]
    return flags


def _write_ninja_file_to_build_library(
    path: str,
    name: str,
    sources: Sequence[str],
    extra_cflags: list[str],
    extra_musa_cflags: list[str],
    extra_sycl_cflags: Any,
    extra_ldflags: list[str],
    extra_include_paths: list[str],
    with_musa: bool,
    with_sycl: Any,
    is_standalone: bool,
) -> None:
    includes = [shlex.quote(f"-I{os.path.abspath(folder)}") for folder in extra_include_paths]
    includes += [shlex.quote(f"-isystem{folder}") for folder in include_paths(musa=bool(with_musa))]
    if not is_standalone:
        includes.append(shlex.quote(f"-isystem{sysconfig.get_path('include')}"))
    named = [] if is_standalone else [f"-DTORCH_EXTENSION_NAME={name}", "-DTORCH_API_INCLUDE_EXTENSION_H"]
    common = [*named, *_quoted(_abi_flags()), *includes]
    chosen = [flag for flag in extra_cflags if flag != "force_mcc"]
    objects = [_object_name(source) for source in sources]
    _write_ninja_file(
        path=path,
        cflags=[*common, "-fPIC", *_with_standard(chosen)],
        post_cflags=None,
        musa_cflags=[*common, *_get_musa_arch_flags(), *_mcc_flags(extra_musa_cflags)] if with_musa else None,
        musa_post_cflags=None,
        musa_dlink_post_cflags=None,
        sycl_cflags=extra_sycl_cflags,
        sycl_post_cflags=None,
        sycl_dlink_post_cflags=None,
        sources=sources,
        objects=objects,
        ldflags=[*([] if is_standalone else ["-shared"]), *extra_ldflags],
        library_target=f"{name}{EXEC_EXT if is_standalone else LIB_EXT}",
        with_musa=with_musa,
        with_sycl=with_sycl,
        force_mcc="force_mcc" in extra_cflags,
    )


def _object_name(source: str) -> str:
    stem = os.path.splitext(os.path.basename(source))[0]
    # A .mu and a .cpp file with the same name may exist.
    return f"{stem}.musa.o" if _is_musa_file(source) else f"{stem}.o"


def _write_ninja_file_and_build_library(
    name: str,
    sources: Sequence[str],
    extra_cflags: list[str],
    extra_musa_cflags: list[str],
    extra_sycl_cflags: Any,
    extra_ldflags: list[str],
    extra_include_paths: list[str],
    build_directory: str,
    verbose: bool,
    with_musa: bool | None,
    with_sycl: Any,
    is_standalone: bool = False,
) -> None:
    verify_ninja_availability()
    get_compiler_abi_compatibility_and_version(get_cxx_compiler())
    if with_musa is None:
        with_musa = any(map(_is_musa_file, sources))
    _write_ninja_file_to_build_library(
        path=os.path.join(build_directory, "build.ninja"),
        name=name,
        sources=sources,
        extra_cflags=extra_cflags,
        extra_musa_cflags=extra_musa_cflags,
        extra_sycl_cflags=extra_sycl_cflags,
        extra_ldflags=_prepare_ldflags(extra_ldflags, with_musa, verbose, is_standalone),
        extra_include_paths=extra_include_paths,
        with_musa=with_musa,
        with_sycl=with_sycl,
        is_standalone=is_standalone,
    )
    _run_ninja_build(build_directory, verbose, error_prefix=f"Error building extension '{name}'")


def _jit_compile(
    name: str,
    sources: Sequence[str],
    extra_cflags: list[str] | None,
    extra_musa_cflags: list[str] | None,
    extra_sycl_cflags: Any,
    extra_ldflags: list[str] | None,
    extra_include_paths: list[str] | None,
    build_directory: str,
    verbose: bool,
    with_musa: bool | None,
    with_sycl: Any,
    is_python_module: bool,
    is_standalone: bool,
    keep_intermediates: bool = True,
) -> Any:
    if is_python_module and is_standalone:
        raise ValueError("`is_python_module` and `is_standalone` are mutually exclusive.")
    _refuse_sycl(extra_sycl_cflags, with_sycl)
    known = JIT_EXTENSION_VERSIONER.get_version(name)
    version = JIT_EXTENSION_VERSIONER.bump_version_if_changed(
        name,
        sources,
        build_arguments=[extra_cflags, extra_musa_cflags, extra_ldflags, extra_include_paths],
        build_directory=build_directory,
        with_cuda=with_musa,
        with_sycl=False,
        is_python_module=is_python_module,
        is_standalone=is_standalone,
    )
    if version > 0:
        name = f"{name}_v{version}"
    baton = FileBaton(os.path.join(build_directory, "lock"))
    if baton.try_acquire():
        try:
            if version != known:
                _write_ninja_file_and_build_library(
                    name=name,
                    sources=sources,
                    extra_cflags=extra_cflags or [],
                    extra_musa_cflags=extra_musa_cflags or [],
                    extra_sycl_cflags=extra_sycl_cflags or [],
                    extra_ldflags=extra_ldflags or [],
                    extra_include_paths=extra_include_paths or [],
                    build_directory=build_directory,
                    verbose=verbose,
                    with_musa=with_musa,
                    with_sycl=with_sycl,
                    is_standalone=is_standalone,
                )
        finally:
            baton.release()
    else:
        baton.wait()
    if is_standalone:
        return _get_exec_path(name, build_directory)  # type: ignore[no-untyped-call]
    return _import_module_from_library(  # type: ignore[no-untyped-call]
        name, build_directory, is_python_module
    )


def load(
    name: str,
    sources: Any,
    extra_cflags: list[str] | None = None,
    extra_musa_cflags: list[str] | None = None,
    extra_sycl_cflags: list[str] | None = None,
    extra_ldflags: list[str] | None = None,
    extra_include_paths: list[str] | None = None,
    build_directory: str | None = None,
    verbose: bool = False,
    with_musa: bool | None = None,
    with_sycl: bool | None = None,
    is_python_module: bool = True,
    is_standalone: bool = False,
    keep_intermediates: bool = True,
) -> ModuleType | str:
    """Compile the sources and import the module. They are compiled again only if they or the flags have changed."""
    return _jit_compile(  # type: ignore[no-any-return]
        name,
        [sources] if isinstance(sources, str) else sources,
        extra_cflags,
        extra_musa_cflags,
        extra_sycl_cflags,
        extra_ldflags,
        extra_include_paths,
        build_directory or _get_build_directory(name, verbose),
        verbose,
        with_musa,
        with_sycl,
        is_python_module,
        is_standalone,
        keep_intermediates=keep_intermediates,
    )


def load_inline(
    name: str,
    cpp_sources: Any,
    musa_sources: Any = None,
    sycl_sources: Any = None,
    functions: Any = None,
    extra_cflags: list[str] | None = None,
    extra_musa_cflags: list[str] | None = None,
    extra_sycl_cflags: list[str] | None = None,
    extra_ldflags: list[str] | None = None,
    extra_include_paths: list[str] | None = None,
    build_directory: str | None = None,
    verbose: bool = False,
    with_musa: bool | None = None,
    with_sycl: bool | None = None,
    is_python_module: bool = True,
    with_pytorch_error_handling: bool = True,
    keep_intermediates: bool = True,
    use_pch: bool = False,
) -> ModuleType | str:
    """`load` for sources given as text. `functions` (names, or names with docstrings) are bound to Python."""
    _refuse_sycl(sycl_sources, extra_sycl_cflags, with_sycl)
    folder = build_directory or _get_build_directory(name, verbose)
    cpp = ["#include <torch/extension.h>", *_as_list(cpp_sources)]
    if functions is not None:
        cpp.append(_bindings(functions, with_pytorch_error_handling))
    sources = [os.path.join(folder, "main.cpp")]
    _maybe_write(sources[0], "\n".join(cpp))
    if musa_sources:
        includes = ["#include <torch/types.h>", "#include <musa.h>", "#include <musa_runtime.h>"]
        sources.append(os.path.join(folder, "musa.mu"))
        _maybe_write(sources[1], "\n".join([*includes, *_as_list(musa_sources)]))
    if use_pch:
        torch_builder._check_and_build_extension_h_precompiler_headers(extra_cflags, extra_include_paths)
    return _jit_compile(  # type: ignore[no-any-return]
        name,
        sources,
        extra_cflags,
        extra_musa_cflags,
        extra_sycl_cflags,
        extra_ldflags,
        extra_include_paths,
        folder,
        verbose,
        with_musa,
        with_sycl,
        is_python_module,
        is_standalone=False,
        keep_intermediates=keep_intermediates,
    )


def _as_list(sources: Any) -> list[str]:
    return [sources] if isinstance(sources, str) else list(sources)


def _bindings(functions: Any, with_error_handling: bool) -> str:
    if isinstance(functions, str):
        functions = [functions]
    described = functions if isinstance(functions, dict) else {name: name for name in functions}
    lines = ["PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {"]
    for name, text in described.items():
        function = f"torch::wrap_pybind_function({name})" if with_error_handling else name
        lines.append(f'm.def("{name}", {function}, "{text}");')
    return "\n".join([*lines, "}"])
