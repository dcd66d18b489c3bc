"""The toolkit as the adapter's own build tools know it."""

from __future__ import annotations

import shutil
from importlib import import_module
from types import ModuleType
from typing import Any

from torchada.building.environment import variable
from torchada.building.toolkit import Toolkit


def toolkit_of(backend: Any, namespace: Any) -> Toolkit:
    """The toolkit of `backend`, a descriptor with `build_tools`; `namespace` is torch's module for its devices."""
    tools = backend.build_tools
    module = _module(tools.module)
    home = _home(tools) if module is None else getattr(module, tools.home, None)

    def paths(function: str) -> list[str]:
        found = getattr(module, function, None)
        return [] if found is None else [str(path) for path in found(**{tools.keyword: True})]

    def devices() -> list[str]:
        return _architectures(namespace)

    own = Toolkit(
        name=backend.name.upper(),
        home=home,
        home_variable=tools.variables[0],
        compiler=tools.compiler,
        compiler_variable=tools.compiler_variable,
        language=tools.language,
        arch_flag=backend.arch_flag,
        arch_variable=tools.arch_variable,
        runtime=tools.runtime,
        libraries=tools.libraries,
        include_dirs=lambda: [*paths("include_paths"), *_own_folders(own, "include")],
        library_dirs=lambda: [*paths("library_paths"), *([own.library_folder()] if own.home else [])],
        devices=devices,
    )
    return own


def dnn_home(backend: Any) -> str | None:
    """The folder of the neural network library, where it is a folder of its own."""
    module = _module(backend.build_tools.module)
    return getattr(module, backend.build_tools.dnn_home, None)


def _own_folders(toolkit: Toolkit, name: str) -> list[str]:
    return [] if toolkit.home is None else [toolkit.folder(name)]


def _module(name: str) -> ModuleType | None:
    try:
        return import_module(name)
    except ImportError:
        return None


def _home(tools: Any) -> str | None:
    """Where the adapter has no build tools to ask: the folder by its variables, or around the compiler."""
    named = next(filter(None, map(variable, tools.variables)), None)
    compiler = shutil.which(tools.compiler)
    return named or (None if compiler is None else compiler.rpartition("/bin/")[0])


def _architectures(namespace: Any) -> list[str]:
    """What the devices in sight run, such as "31"; nothing where there is no device."""
    found = set()
    newest = max((_number(each) for each in namespace.get_arch_list()), default=None)
    for index in range(namespace.device_count()):
        major, minor = namespace.get_device_capability(index)
        own = int(f"{major}{minor}")
        found.add(str(own if newest is None else min(own, newest)))
    return sorted(found)


def _number(name: str) -> int:
    """31 for "mp_31"."""
    return int("".join(filter(str.isdigit, name)))
