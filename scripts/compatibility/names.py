"""Every name of torch.cuda and its submodules, of the installed torch: discovered, not listed."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

# Left out: programs, and modules that import something only NVIDIA's Linux kernels need.
_PROGRAMS = frozenset({"torch.cuda._annotate_cuda_graph_trace"})


class Name(NamedTuple):
    """`module` is where the name is found ("torch.cuda.memory"); `public` says whether the module lists it in `__all__`."""

    module: str
    name: str
    public: bool

    @property
    def path(self) -> str:
        return f"{self.module}.{self.name}"


def modules() -> list[str]:
    """torch.cuda and its submodules, found in the file system; packages within it one level deep."""
    root = import_module("torch.cuda")
    module_names = [root.__name__]
    for info in pkgutil.walk_packages(root.__path__, f"{root.__name__}."):
        if info.name not in _PROGRAMS:
            module_names.append(info.name)
    return sorted(module_names)


def names() -> list[Name]:
    """All names, module by module: those in `__all__`, and those that the module defines itself."""
    return [name for module in modules() for name in _of(import_module(module))]


def is_in_private_module(name: Name) -> bool:
    """Whether the name is in torch.cuda._something: such a module is private, and few programs use one."""
    return any(part.startswith("_") for part in name.module.split("."))


def _of(module: ModuleType) -> Iterator[Name]:
    promised = getattr(module, "__all__", None)
    for name in sorted({*vars(module), *(promised or ())}):
        if name.startswith("__") or isinstance(vars(module).get(name), ModuleType):
            continue
        public = name in promised if promised is not None else not name.startswith("_")
        if public or is_cudas_own(module, vars(module).get(name)):
            yield Name(module.__name__, name, public)


def is_cudas_own(module: ModuleType, value: Any) -> bool:
    """Whether the module defines `value` and has not imported it; a constant, whose origin is unknown, counts as defined."""
    home = getattr(value, "__module__", None)
    if isinstance(value, type) or callable(value):
        return home == module.__name__ or (module.__name__ == "torch.cuda" and str(home).startswith("torch.cuda"))
    return home is None
