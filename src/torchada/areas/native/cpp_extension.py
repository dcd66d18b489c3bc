"""torch.utils.cpp_extension: CUDAExtension, BuildExtension, load and load_inline build for the backend.

torch's functions and classes stay what they are, and do most of the work. torchada changes the values that they use: where CUDA
is and what its folders are, which architectures to compile for, what ninja is given, what an extension's sources are.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from torchada.areas.native._toolkit_in_use import NAME, ToolkitInUse, attributes
from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.owners import MISSING

if TYPE_CHECKING:
    from torch.utils.cpp_extension import BuildExtension

    from torchada.redirect.types import P, R

Function = Callable[..., object]
Strings = Callable[..., list[str]]
Arguments = tuple[tuple[object, ...], dict[str, object]]


def patches(context: Context) -> Iterator[Patch]:
    import torch.utils.cpp_extension as cpp_extension

    build = context.backend.build
    if build is None:
        raise Skip(f"{context.backend.adapter} does not build extensions")
    from torchada.building.environment import variable

    in_use = ToolkitInUse(context)
    at = partial(_place, cpp_extension)
    to = f"the {context.backend.name.upper()} toolkit"
    yield Patch(cpp_extension, NAME, MISSING, at(NAME), to=to)
    yield Patch(
        cpp_extension, "__getattr__", attributes(cpp_extension, in_use), None, note=f"{NAME}, when it is asked for"
    )
    dnn_home = next(filter(None, map(variable, build.toolkit.dnn_variables)), None)
    yield Patch(cpp_extension, "CUDNN_HOME", dnn_home, at("CUDNN_HOME"), to=to)
    original_paths = cpp_extension.include_paths

    def others() -> list[str]:
        from torchada.building.adapter import foreign

        known = [*original_paths("cpu"), *filter(None, [in_use.home]), *context.settings.exclude_dirs]
        return foreign(context.backend, in_use.toolkit, known)

    changed: dict[str, Callable[[Any], Function]] = {
        "_find_cuda_home": lambda original: in_use.read,
        "_join_cuda_home": lambda original: in_use.join,
        "include_paths": partial(_include_paths, in_use),
        "library_paths": partial(_library_paths, in_use),
        "_get_cuda_arch_flags": partial(_arch_flags, in_use),
        "_get_build_directory": partial(_build_directory, context, cpp_extension),
        "_is_cuda_file": _is_cuda_file,
        "_write_ninja_file": partial(_write_ninja_file, context, in_use),
        "_write_ninja_file_and_build_library": partial(_build_library, in_use, others),
        "_prepare_ldflags": partial(_ldflags, in_use),
    }
    for name, change in changed.items():
        original = getattr(cpp_extension, name, None)
        if original is not None:
            yield Patch(cpp_extension, name, _like(change(original), original), at(name), to=to)
    check = getattr(cpp_extension, "_check_cuda_version", None)
    if check is not None:
        checked = _like(_check_version(cpp_extension, in_use, check), check)
        yield Patch(cpp_extension, "_check_cuda_version", checked, None, note=f"{NAME}, where torch reads it")
    # In newer torch the first use of the name loads setuptools' command, and only the program should cause that.
    build_extension = vars(cpp_extension).get("_BUILD_EXTENSION_CLASS") or cpp_extension.BuildExtension
    method = _build_extensions(in_use, others, build_extension.build_extensions)
    yield Patch(build_extension, "build_extensions", method, at("BuildExtension"), to=to)
    note = "BuildExtension._port_directory of torchada 0.1"
    yield Patch(build_extension, "_port_directory", _port_directory, None, note=note, kind="emulated")
    _explain_missing_cuda(context)


def _place(module: ModuleType, name: str) -> str:
    return f"{module.__name__}.{name}"


def _like(replacement: Callable[P, R], original: Function) -> Callable[P, R]:
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return replacement(*args, **kwargs)

    return disguise(call, original)


def _check_version(module: ModuleType, in_use: ToolkitInUse, original: Callable[P, R]) -> Callable[P, R]:
    def check_version(*args: P.args, **kwargs: P.kwargs) -> R:
        with in_use.standing_in(module):
            return original(*args, **kwargs)

    return check_version


def _device_paths(original: Strings, own: Callable[[], list[str]]) -> Strings:
    """`original` with the backend's paths first if the call, by its first argument, is for CUDA's."""

    def call(*args: object, **kwargs: object) -> list[str]:
        args, kwargs = _since_2_6(original, args, kwargs)
        bound = inspect.signature(original).bind(*args, **kwargs)
        if bound.arguments.get("device_type") != "cuda":
            return list(original(*args, **kwargs))
        bound.arguments["device_type"] = "cpu"
        paths = [*own(), *original(*bound.args, **bound.kwargs)]
        if not bound.arguments.get(_WITH_TORCH, True):
            bound.arguments[_WITH_TORCH] = True  # the adapter's own list has torch's folders too
            of_torch = set(original(*bound.args, **bound.kwargs))
            paths = [path for path in paths if path not in of_torch]
        return list(dict.fromkeys(paths))

    return call


_WITH_TORCH = "torch_include_dirs"


def _since_2_6(original: Strings, args: tuple[object, ...], kwargs: dict[str, object]) -> Arguments:
    """The arguments of a call that says `cuda=True`, or True alone, as torch before 2.6 and torchada 0.1 took it."""
    asked = kwargs.get("cuda", args[0] if args else None)
    if not isinstance(asked, bool):
        return args, kwargs
    from torchada.base.warnings import warn

    name = original.__name__
    warn(
        f"{name}(cuda={asked}) is how torch before 2.6 and torchada 0.1 had it; use {name}('cuda')", DeprecationWarning
    )
    rest = {key: value for key, value in kwargs.items() if key != "cuda"}
    return ("cuda" if asked else "cpu", *args[1:]), rest


def _include_paths(in_use: ToolkitInUse, original: Strings) -> Strings:
    def own() -> list[str]:
        from torchada.building.stable_abi import stable_include_dirs

        toolkit = in_use.toolkit
        return [*stable_include_dirs(toolkit), *toolkit.include_dirs(), in_use.join("include")]

    return _device_paths(original, own)


def _library_paths(in_use: ToolkitInUse, original: Strings) -> Strings:
    return _device_paths(original, lambda: [*in_use.toolkit.library_dirs(), in_use.join("lib64")])


def _arch_flags(in_use: ToolkitInUse, original: Strings) -> Strings:
    def arch_flags(cflags: Sequence[str] | None = None) -> list[str]:
        from torchada.building.architectures import names_architecture, required_flags

        toolkit = in_use.toolkit
        return [] if any(names_architecture(flag, toolkit) for flag in cflags or ()) else required_flags(toolkit)

    return arch_flags


def _build_directory(
    context: Context, cpp_extension: ModuleType, original: Callable[[str, bool], str]
) -> Callable[[str, bool], str]:
    def build_directory(name: str, verbose: bool) -> str:
        from torchada.building.adapter import build_directory as own
        from torchada.building.environment import variable

        if variable("TORCH_EXTENSIONS_DIR") is not None:
            return str(original(name, verbose))
        version = getattr(context.torch.version, context.backend.name, None)
        return own(context.backend, version, cpp_extension.get_default_build_root(), name)

    return build_directory


def _is_cuda_file(original: Callable[[str], bool]) -> Callable[[str], bool]:
    """Ported sources are compiled by the same compiler, under their new names."""

    def is_cuda_file(path: str) -> bool:
        from torchada.building.extension import is_own_source

        return bool(original(path)) or is_own_source(path)

    return is_cuda_file


def _write_ninja_file(context: Context, in_use: ToolkitInUse, original: Callable[..., None]) -> Callable[..., None]:
    def write_ninja_file(*args: object, **kwargs: object) -> None:
        from torchada.building.cuda_home_files import WITH_HEADERS
        from torchada.building.ninja import complete
        from torchada.building.precompiled import is_wanted

        original(*args, **kwargs)
        wanted = in_use.home is not None and is_wanted(context.settings)
        program = in_use.join("bin", WITH_HEADERS) if wanted else None
        complete(inspect.signature(original).bind(*args, **kwargs).arguments["path"], program)

    return write_ninja_file


def _build_library(
    in_use: ToolkitInUse, foreign: Callable[[], list[str]], original: Callable[..., R]
) -> Callable[..., R]:
    def build_library(*args: object, **kwargs: object) -> R:
        from torchada.building.jit import adapted

        bound = inspect.signature(original).bind(*args, **kwargs)
        bound.arguments.update(adapted(dict(bound.arguments), in_use.toolkit, foreign()))
        return original(*bound.args, **bound.kwargs)

    return build_library


def _ldflags(in_use: ToolkitInUse, original: Strings) -> Strings:
    def prepare_ldflags(*args: object, **kwargs: object) -> list[str]:
        from torchada.building.jit import link_flags

        bound = inspect.signature(original).bind(*args, **kwargs)
        flags = list(original(*args, **kwargs))
        return link_flags(flags, in_use.toolkit) if bound.arguments["with_cuda"] else flags

    return prepare_ldflags


def _build_extensions(
    in_use: ToolkitInUse, foreign: Callable[[], list[str]], original: Callable[[BuildExtension], None]
) -> Callable[[BuildExtension], None]:
    def build_extensions(self: BuildExtension) -> None:
        from torchada.building.extension import prepared

        with prepared(self, in_use.toolkit, foreign()):
            original(self)

    return disguise(build_extensions, original)


def _port_directory(self: object, source_dir: str, mapping_rule: Mapping[str, str] | None = None) -> str:
    """Port the sources of a folder where they are, and return its real path."""
    from torchada.base.warnings import warn
    from torchada.building.legacy import port_in_place

    text = (
        "BuildExtension._port_directory is a name of torchada 0.1 and rewrites sources; use torchada.porting.port_tree"
    )
    warn(text, DeprecationWarning)
    return port_in_place(source_dir, mapping_rule)


def _sees_cuda(context: Context) -> bool:
    """Whether the program that was started sees CUDA."""
    return context.views.sees_cuda(vars(import_module("__main__")))


def _explain_missing_cuda(context: Context) -> None:
    """A setup.py that sees MUSA, and fails because there is no CUDA, prints its own error; pip shows this line next to it."""
    from torchada.building.scripts import is_setup_script

    if is_setup_script() and not context.settings.force_cuda_available and not _sees_cuda(context):
        from torchada.building.errors import say

        name, version = context.backend.name.upper(), context.torch.version.cuda
        say(
            [
                f"this setup.py builds for {name}, where torch.cuda.is_available() is False and torch.version.cuda is "
                f"{version}; if it needs other values, set TORCHADA_FORCE_CUDA_AVAILABLE=1"
            ]
        )
