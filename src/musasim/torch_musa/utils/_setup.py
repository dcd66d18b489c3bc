"""MUSAExtension and BuildExtension: extensions by a setup.py."""

from __future__ import annotations

import copy
import os
import warnings
from typing import TYPE_CHECKING, Any

import setuptools
from setuptools.command.build_ext import build_ext
from torch.utils.cpp_extension import get_compiler_abi_compatibility_and_version, is_ninja_available

from ._flags import (
    _MUSA_SUFFIXES,
    _abi_flags,
    _chosen_flags,
    _get_cpu_arch,
    _get_musa_arch_flags,
    _is_musa_file,
    _mcc_flags,
    _quoted,
    _with_standard,
)
from ._ninja import DEVICE_LINK_OBJECT, _write_ninja_file_and_compile_objects
from ._paths import TORCH_LIB_PATH, TORCH_MUSA_LIB_PATH, _join_musa_home, get_cxx_compiler, include_paths, library_paths

if TYPE_CHECKING:
    from collections.abc import Sequence


def MUSAExtension(name: str, sources: Sequence[str], *args: Any, **kwargs: Any) -> setuptools.Extension:
    """An extension of `.cpp` and `.mu` sources. `extra_compile_args` is a dict with lists for "cxx", "mcc" and "mcc_dlink"."""
    kwargs["include_dirs"] = [*kwargs.get("include_dirs", []), *include_paths(musa=True)]
    kwargs["library_dirs"] = [*kwargs.get("library_dirs", []), *library_paths(musa=True)]
    kwargs["libraries"] = [*kwargs.get("libraries", []), "c10", "torch", "torch_cpu", "torch_python", "musa_python"]
    kwargs["language"] = "c++"
    rpaths = ("$ORIGIN/lib", TORCH_LIB_PATH, TORCH_MUSA_LIB_PATH)
    kwargs["extra_link_args"] = [*kwargs.get("extra_link_args", []), *(f"-Wl,-rpath,{path}" for path in rpaths)]

    given = kwargs.get("extra_compile_args", {})
    # A list has no `get`. The real package fails in the same way.
    cxx, mcc, dlink = given.get("cxx", []), given.get("mcc", []), _device_link_flags(kwargs)
    native = [] if _get_cpu_arch() in ("aarch64", "arm64") else ["-march=native"]
    flags = {**given, "cxx": [*cxx, *native], "mcc": [*mcc, *native, *_get_musa_arch_flags()], **dlink}
    kwargs["extra_compile_args"] = flags
    return setuptools.Extension(name, list(sources), *args, **kwargs)


def _device_link_flags(kwargs: dict[str, Any]) -> dict[str, list[str]]:
    libraries = kwargs.pop("dlink_libraries", [])
    if not kwargs.pop("dlink", False) and not libraries:
        return {}
    folders = [f"-L{path}" for path in kwargs["library_dirs"]]
    return {"mcc_dlink": ["-dlink", *folders, *(f"-l{name}" for name in libraries)]}


class BuildExtension(build_ext):
    """Compiles `.mu` with mcc and everything else with the C++ compiler; through ninja unless `use_ninja=False`."""

    @classmethod
    def with_options(cls, **options: Any) -> Any:
        """A subclass whose constructor takes these options too."""

        class cls_with_options(cls):  # type: ignore[misc, valid-type]
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                kwargs.update(options)
                super().__init__(*args, **kwargs)

        return cls_with_options

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.no_python_abi_suffix = kwargs.pop("no_python_abi_suffix", False)
        self.use_ninja = kwargs.pop("use_ninja", True)
        super().__init__(*args, **kwargs)
        if self.use_ninja and not is_ninja_available():
            warnings.warn(
                "Attempted to use ninja as the BuildExtension backend but we could not find ninja.. Falling back to using the "
                "slow distutils backend.",
                stacklevel=2,
            )
            self.use_ninja = False

    def finalize_options(self) -> None:
        super().finalize_options()
        if self.use_ninja:
            self.force = True  # ninja itself determines what is out of date

    def build_extensions(self) -> None:
        self._check_abi()
        for extension in self.extensions:
            self._prepare(extension)
        self.compiler.src_extensions += [
            suffix for suffix in _MUSA_SUFFIXES if suffix not in self.compiler.src_extensions
        ]
        if self.use_ninja:
            self.compiler.compile = self._compile_by_ninja
        else:
            self.compiler._compile = self._one_by_one(self.compiler._compile)
        super().build_extensions()

    def _prepare(self, extension: setuptools.Extension) -> None:
        flags: Any = extension.extra_compile_args
        if isinstance(flags, dict):
            extension.extra_compile_args = {"cxx": [], "mcc": [], **flags}  # type: ignore[assignment]
            if "mcc_dlink" in flags and not self.use_ninja:
                raise AssertionError(f"With dlink=True, ninja is required to build musa extension {extension.name}.")
        self._add_compile_flag(extension, "-DTORCH_API_INCLUDE_EXTENSION_H")
        self._define_torch_extension_name(extension)
        self._add_gnu_cpp_abi_flag(extension)

    def get_ext_filename(self, ext_name: str) -> str:
        filename: str = super().get_ext_filename(ext_name)  # type: ignore[no-untyped-call]
        parts = filename.split(".")
        if self.no_python_abi_suffix and len(parts) > 2:
            return ".".join([*parts[:-2], parts[-1]])
        return filename

    def _check_abi(self) -> Any:
        compiler = getattr(self.compiler, "compiler_cxx", None)
        return get_compiler_abi_compatibility_and_version(compiler[0] if compiler else get_cxx_compiler())

    def _add_compile_flag(self, extension: setuptools.Extension, flag: str) -> None:
        flags: Any = copy.deepcopy(extension.extra_compile_args)
        if isinstance(flags, dict):
            for key in ("cxx", "mcc"):
                flags[key].append(flag)
        else:
            flags.append(flag)
        extension.extra_compile_args = flags

    def _define_torch_extension_name(self, extension: setuptools.Extension) -> None:
        self._add_compile_flag(extension, f"-DTORCH_EXTENSION_NAME={extension.name.rsplit('.', 1)[-1]}")

    def _add_gnu_cpp_abi_flag(self, extension: setuptools.Extension) -> None:
        for flag in _abi_flags():
            self._add_compile_flag(extension, flag)

    def _one_by_one(self, compile_one: Any) -> Any:
        # Newer releases of setuptools have a separate compiler for sources with a C++ suffix.
        slots = [slot for slot in ("compiler_so", "compiler_so_cxx") if hasattr(self.compiler, slot)]

        def compile_source(obj: str, src: str, ext: str, cc_args: list[str], flags: Any, pp_opts: list[str]) -> None:
            host = {slot: getattr(self.compiler, slot) for slot in slots}
            musa = _is_musa_file(src)
            chosen, force_mcc = _chosen_flags(flags, "mcc" if musa else "cxx")
            try:
                if musa or force_mcc:
                    mcc = [_join_musa_home("bin", "mcc"), *([] if musa else ["-x", "musa"])]
                    chosen = _mcc_flags(chosen)
                    self.compiler.set_executables(**dict.fromkeys(slots, mcc))
                compile_one(obj, src, ext, cc_args, _with_standard(chosen), pp_opts)
            finally:
                self.compiler.set_executables(**host)

        return compile_source

    def _compile_by_ninja(
        self,
        sources: list[str],
        output_dir: str | None = None,
        macros: Any = None,
        include_dirs: Any = None,
        debug: bool = False,
        extra_preargs: Any = None,
        extra_postargs: Any = None,
        depends: Any = None,
    ) -> list[str]:
        """Replace the compiler's own `compile`, with one run of ninja for all sources."""
        output_dir = os.path.abspath(output_dir or "")
        self.compiler.include_dirs = [os.path.abspath(folder) for folder in self.compiler.include_dirs]
        objects: list[str]
        _, objects, flags, pp_opts, _ = self.compiler._setup_compile(
            output_dir, macros, include_dirs, sources, depends, extra_postargs
        )
        common = self.compiler._get_cc_args(pp_opts, debug, extra_preargs)
        cxx, force_mcc = _chosen_flags(flags, "cxx")
        mcc, _ = _chosen_flags(flags, "mcc")
        dlink = flags.get("mcc_dlink") if isinstance(flags, dict) else None
        _write_ninja_file_and_compile_objects(
            sources=sources,
            objects=[os.path.abspath(path) for path in objects],
            cflags=_quoted([*self.compiler.compiler_so[1:], *common]),
            post_cflags=_quoted(_with_standard(cxx)),
            musa_cflags=_quoted(common),
            musa_post_cflags=_quoted(_mcc_flags(mcc)),
            musa_dlink_post_cflags=_quoted(_mcc_flags(dlink)) if dlink else None,
            sycl_cflags=None,
            sycl_post_cflags=None,
            sycl_dlink_post_cflags=None,
            build_directory=output_dir,
            verbose=True,
            with_musa=any(map(_is_musa_file, sources)) or force_mcc,
            with_sycl=False,
            force_mcc=force_mcc,
        )
        if dlink:
            objects = [*objects, os.path.join(output_dir, DEVICE_LINK_OBJECT)]
        return objects
