"""Builds extensions for MUSA: `MUSAExtension` and `BuildExtension` for a setup.py, `load` and `load_inline` at run time.

The names, flags and limits are the real package's. In particular `.cu` sources are not recognised, `extra_compile_args` of a
`MUSAExtension` has to be a dict, and PYTORCH_MCC is read only in builds by ninja. The parts shared with PyTorch's own builder
(ninja, the versions of modules built at run time, the build folder) come from PyTorch.
"""

from __future__ import annotations

import copy
import os
import platform
import shlex
import shutil
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import setuptools
import torch
import torch.utils.cpp_extension as torch_builder
from setuptools.command.build_ext import build_ext
from torch.utils._cpp_extension_versioner import ExtensionVersioner
from torch.utils.cpp_extension import (
    EXEC_EXT,
    LIB_EXT,
    _get_exec_path,
    _import_module_from_library,
    _run_ninja_build,
    get_compiler_abi_compatibility_and_version,
    get_default_build_root,
    is_ninja_available,
    verify_ninja_availability,
)
from torch.utils.file_baton import FileBaton

from .. import torch_musa
from . import _ninja

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

os.environ.setdefault("MAX_JOBS", str(os.cpu_count() or 1))

SUBPROCESS_DECODE_ARGS = ()
RERUN_CMAKE = False
install_requires = ["packaging"]
COMMON_MCC_FLAGS: list[str] = []
JIT_EXTENSION_VERSIONER: Any = ExtensionVersioner()

_HERE = os.path.abspath(__file__)
_TORCH_PATH = os.path.dirname(torch.__file__)
_TORCH_MUSA_PATH = os.path.dirname(os.path.dirname(_HERE))
TORCH_LIB_PATH = os.path.join(_TORCH_PATH, "lib")
# The real package has its libraries in its folder `lib`. Here they are compiled, so this is the folder that they are stored in.
TORCH_MUSA_LIB_PATH = os.path.dirname(torch_musa._MUSAC.__file__)

_ARCHITECTURES = (10, 21, 22, 31, 32)
_MUSA_SUFFIXES = (".mu", ".muh")


# --- places ------------------------------------------------------------------------------------------------------------------


def _find_musa_home() -> str | None:
    """MUSA_HOME, MUSA_PATH, the mcc on the PATH, or /usr/local/musa; if none of them exists, the simulated toolkit."""
    chosen = os.environ.get("MUSA_HOME") or os.environ.get("MUSA_PATH")
    if chosen:
        return chosen
    compiler = shutil.which("mcc")
    if compiler is not None:
        return os.path.dirname(os.path.dirname(compiler))
    if os.path.exists("/usr/local/musa"):
        return "/usr/local/musa"
    from musasim.toolkit import home

    return str(home())


def __getattr__(name: str) -> Any:
    """Find MUSA_HOME and MUDNN_HOME on first use, because the simulated toolkit may have to be built."""
    if name == "MUSA_HOME":
        value = _find_musa_home()
    elif name == "MUDNN_HOME":
        value = os.environ.get("MUDNN_HOME") or os.environ.get("MUDNN_PATH")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def _join_musa_home(*paths: str) -> str:
    home = sys.modules[__name__].MUSA_HOME
    if home is None:
        raise OSError("MUSA_HOME environment variable is not set. Please set it to your MUSA install root.")
    return os.path.join(home, *paths)


def include_paths(musa: bool = False) -> list[str]:
    """The folders of headers that an extension needs; with `musa`, those of the toolkit too."""
    from musasim import compatible_headers

    paths = ["/usr/local/musa/include", *_compatible_folders(_TORCH_MUSA_PATH), os.path.dirname(_TORCH_MUSA_PATH)]
    # The real package has a copy of all of PyTorch's headers with CUDA's names replaced. Here are those with such names...
    paths += compatible_headers.folders()
    # ... and PyTorch's own.
    include = os.path.join(_TORCH_PATH, "include")
    paths += [include, os.path.join(include, "torch", "csrc", "api", "include")]
    if musa:
        paths.append(_join_musa_home("include"))
        mudnn = sys.modules[__name__].MUDNN_HOME
        if mudnn is not None:
            paths.append(os.path.join(mudnn, "include"))
    return paths


def _compatible_folders(package: str) -> list[str]:
    share = os.path.join(package, "share")
    compatible = os.path.join(share, "generated_cuda_compatible")
    include = os.path.join(compatible, "include")
    return [
        os.path.join(compatible, "aten", "src"),
        include,
        os.path.join(include, "torch", "csrc", "api", "include"),
        os.path.join(share, "torch_musa_codegen"),
    ]


def library_paths(musa: bool = False) -> list[str]:
    """The folders of libraries to link against. The toolkit's is among them only if it has a `lib` and no `lib64`."""
    paths = [TORCH_LIB_PATH, TORCH_MUSA_LIB_PATH]
    if musa:
        lib = _join_musa_home("lib")
        if not os.path.exists(_join_musa_home("lib64")) and os.path.exists(lib):
            paths.append(lib)
    return paths


def get_cxx_compiler() -> str:
    return os.environ.get("CXX", "c++")


def _get_mcc_compiler() -> str:
    return os.environ.get("PYTORCH_MCC") or _join_musa_home("bin", "mcc")


# --- flags -------------------------------------------------------------------------------------------------------------------


def _get_cpu_arch() -> str:
    return platform.machine()


def _get_musa_arch_flags() -> list[str]:
    """Flags for the chips to compile for: those in TORCH_MUSA_ARCH_LIST ("22;31"), otherwise those of this machine."""
    listed = os.environ.get("TORCH_MUSA_ARCH_LIST")
    if not listed:
        warnings.warn(
            "TORCH_MUSA_ARCH_LIST is not set, so it is compiled for the devices that are visible", stacklevel=2
        )
    chosen = [name.strip() for name in listed.split(";") if name.strip()] if listed else _visible_architectures()
    for name in chosen:
        if name not in map(str, _ARCHITECTURES):
            raise ValueError(f"Unknown MUSA arch ({name}) or GPU not supported; supported are {list(_ARCHITECTURES)}")
    return [f"--offload-arch=mp_{name}" for name in sorted(set(chosen))]


def _visible_architectures() -> list[str]:
    newest = max((int(name.rsplit("_", 1)[-1]) for name in torch_musa.get_arch_list()), default=_ARCHITECTURES[-1])
    found = []
    for index in range(torch_musa.device_count()):
        major, minor = torch_musa.get_device_capability(index)
        if 10 * major + minor > newest:
            warnings.warn(
                f"The detected MUSA capability {major}.{minor} is newer than torch_musa knows; compiling for mp_{newest}.",
                stacklevel=3,
            )
        found.append(str(min(10 * major + minor, newest)))
    return found


def _standard_flag() -> str:
    """C++17 as in torch_musa 2.7.1, or the standard that a newer PyTorch's own builder uses."""
    text = Path(torch_builder.__file__).read_text(encoding="utf-8")
    return "-std=c++20" if "-std=c++20" in text else "-std=c++17"


def _with_standard(flags: list[str]) -> list[str]:
    return flags if any(flag.startswith("-std=") for flag in flags) else [*flags, _standard_flag()]


def _abi_flags() -> list[str]:
    flags = [f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}"]
    for name in ("COMPILER_TYPE", "STDLIB", "BUILD_ABI"):
        value = getattr(torch._C, f"_PYBIND11_{name}", None)
        if value is not None:
            flags.append(f'-DPYBIND11_{name}="{value}"')
    return flags


def _mcc_flags(flags: list[str]) -> list[str]:
    return _with_standard([*COMMON_MCC_FLAGS, "-fPIC", *flags])


def _is_musa_file(path: str) -> bool:
    return os.path.splitext(path)[1] in _MUSA_SUFFIXES


# --- setup.py ----------------------------------------------------------------------------------------------------------------


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
            objects = [*objects, os.path.join(output_dir, _ninja.DEVICE_LINK_OBJECT)]
        return objects


def _chosen_flags(flags: Any, key: str) -> tuple[list[str], bool]:
    """The flags for one compiler, and whether those for C++ contain "force_mcc", which selects mcc for C++ as well."""
    chosen = list(flags[key] if isinstance(flags, dict) else flags)
    return [flag for flag in chosen if flag != "force_mcc"], "force_mcc" in chosen


def _quoted(flags: list[str]) -> list[str]:
    return [shlex.quote(flag) for flag in flags]


def _maybe_write(filename: str, new_content: str) -> None:
    """Write a file unless it already has this content, so that its time changes only with its content."""
    path = Path(filename)
    if not path.exists() or path.read_text(encoding="utf-8") != new_content:
        path.write_text(new_content, encoding="utf-8")


# --- ninja -------------------------------------------------------------------------------------------------------------------


def _write_ninja_file(
    path: str,
    cflags: list[str],
    post_cflags: list[str] | None,
    musa_cflags: list[str] | None,
    musa_post_cflags: list[str] | None,
    musa_dlink_post_cflags: list[str] | None,
    sycl_cflags: Any,
    sycl_post_cflags: Any,
    sycl_dlink_post_cflags: Any,
    sources: Sequence[str],
    objects: Sequence[str],
    ldflags: list[str] | None,
    library_target: str | None,
    with_musa: bool,
    with_sycl: bool,
    force_mcc: bool,
) -> None:
    _refuse_sycl(sycl_cflags, sycl_post_cflags, sycl_dlink_post_cflags, with_sycl)
    plan = _ninja.Plan(
        cxx=get_cxx_compiler(),
        mcc=_get_mcc_compiler() if with_musa else None,
        cflags=[*cflags, *(post_cflags or [])],
        musa_cflags=[*(musa_cflags or []), *(musa_post_cflags or [])],
        force_mcc=force_mcc,
        device_link=musa_dlink_post_cflags,
        ldflags=ldflags,
        target=library_target,
    )
    for source, target in zip(sources, objects):
        plan.add(os.path.abspath(source), target, _is_musa_file(source))
    _maybe_write(path, plan.text())


def _write_ninja_file_and_compile_objects(
    sources: Sequence[str],
    objects: Sequence[str],
    cflags: list[str],
    post_cflags: list[str] | None,
    musa_cflags: list[str] | None,
    musa_post_cflags: list[str] | None,
    musa_dlink_post_cflags: list[str] | None,
    sycl_cflags: Any,
    sycl_post_cflags: Any,
    sycl_dlink_post_cflags: Any,
    build_directory: str,
    verbose: bool,
    with_musa: bool | None,
    with_sycl: Any,
    force_mcc: bool,
) -> None:
    verify_ninja_availability()
    if with_musa is None:
        with_musa = any(map(_is_musa_file, sources))
    os.makedirs(build_directory, exist_ok=True)
    _write_ninja_file(
        path=os.path.join(build_directory, "build.ninja"),
        cflags=cflags,
        post_cflags=post_cflags,
        musa_cflags=musa_cflags,
        musa_post_cflags=musa_post_cflags,
        musa_dlink_post_cflags=musa_dlink_post_cflags,
        sycl_cflags=sycl_cflags,
        sycl_post_cflags=sycl_post_cflags,
        sycl_dlink_post_cflags=sycl_dlink_post_cflags,
        sources=sources,
        objects=objects,
        ldflags=None,
        library_target=None,
        with_musa=with_musa,
        with_sycl=with_sycl,
        force_mcc=force_mcc,
    )
    _run_ninja_build(build_directory, verbose, error_prefix="Error compiling objects for extension")


def _refuse_sycl(*arguments: Any) -> None:
    if any(arguments):
        raise RuntimeError("SYCL extensions are not supported by torch_musa")


# --- at run time -------------------------------------------------------------------------------------------------------------


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
        includes.append(shlex.quote(f"-isystem{_python_headers()}"))
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


def _python_headers() -> str:
    import sysconfig

    return sysconfig.get_path("include")


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
