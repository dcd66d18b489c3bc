"""The toolkit as described by the adapter's own build tools."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterable
from importlib import import_module
from types import ModuleType
from typing import Any

from torchada.building.environment import variable
from torchada.building.stable_abi import stable_include_dirs
from torchada.building.toolkit import Toolkit


def toolkit_of(backend: Any, namespace: Any) -> Toolkit:
    """The toolkit of `backend`, a descriptor with `build`; `namespace` is torch's module for its devices."""
    build = backend.build
    tools, compiler, home = build.toolkit, build.compiler, _home(build)

    def paths(function: str) -> list[str]:
        tell = getattr(_module(build.module), function, None)
        return [] if tell is None or home is None else [str(path) for path in tell(**{build.keyword: True})]

    def devices() -> list[str]:
        return _architectures(namespace)

    own = Toolkit(
        name=backend.name.upper(),
        home=home,
        home_variable=tools.variables[0],
        compiler=compiler.program,
        compiler_variable=compiler.variable,
        language=compiler.language,
        arch_flag=compiler.arch_flag,
        arch_variable=compiler.arch_variable,
        runtime=tools.runtime,
        lister=tools.lister,
        libraries=build.libraries,
        include_dirs=lambda: [*paths("include_paths"), *_own_folders(own, "include")],
        library_dirs=lambda: [*paths("library_paths"), *([own.library_folder()] if own.home else [])],
        devices=devices,
    )
    return own


def foreign(backend: Any, toolkit: Toolkit, more: Iterable[str]) -> list[str]:
    """Folders whose files do not belong to the project: those of Python, the toolkit, the adapter, ours, and `more`.

    The adapter's include folders contain the folder that it is installed in, where projects may be as well.
    """
    package = os.path.dirname(str(getattr(import_module(backend.adapter), "__file__", "") or ""))
    own = [] if toolkit.home is None else [toolkit.home, package, *toolkit.include_dirs()]
    python = [sysconfig.get_path(name) for name in ("include", "platinclude")]
    known = [*more, *own, *stable_include_dirs(toolkit), *python]
    return [folder for folder in known if folder and folder != os.path.dirname(package)]


def _own_folders(toolkit: Toolkit, name: str) -> list[str]:
    return [] if toolkit.home is None else [toolkit.folder(name)]


def _module(name: str) -> ModuleType | None:
    try:
        return import_module(name)
    except ImportError:
        return None


def _home(build: Any) -> str | None:
    """Found as the adapter finds it: by variables, around the compiler, in its usual place.

    The adapter is asked last: its build tools load setuptools', and this runs wherever torch.utils.cpp_extension is imported.
    """
    named = next(filter(None, map(variable, build.toolkit.variables)), None)
    if named is not None:
        return str(named)
    compiler = shutil.which(build.compiler.program)
    if compiler is not None:
        return str(os.path.dirname(os.path.dirname(compiler)))
    if os.path.isdir(build.toolkit.usual_home):
        return str(build.toolkit.usual_home)
    home: str | None = getattr(_module(build.module), build.home, None)
    return home


def _architectures(namespace: Any) -> list[str]:
    """The architectures of the visible devices, such as "31"; empty where there is no device."""
    architectures = set()
    newest = max(map(_number, namespace.get_arch_list()), default=None)
    for index in range(namespace.device_count()):
        major, minor = namespace.get_device_capability(index)
        own = int(f"{major}{minor}")
        architectures.add(str(own if newest is None else min(own, newest)))
    return sorted(architectures)


def _number(name: str) -> int:
    """31 for "mp_31"."""
    return int("".join(filter(str.isdigit, name)))


def build_directory(backend: Any, version: str | None, root: str, name: str) -> str:
    """The folder in which `name` is built at run time, separate from what the same program builds for another device."""
    python = f"py{sys.version_info.major}{sys.version_info.minor}{getattr(sys, 'abiflags', '')}"
    folder = os.path.join(root, f"{python}_{backend.name}{(version or '').replace('.', '')}", name)
    os.makedirs(folder, exist_ok=True)
    return folder
