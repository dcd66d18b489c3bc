"""What builds ask torch: the version of CUDA, and where CMake's find_package(Torch) looks.

torch.version.cuda is the version of CUDA that the backend's toolkit stands for, in code that sees CUDA.

Builds compare it with the output of `nvcc -V`, so it is the version that torchada's replacement for nvcc prints. Other code gets
torch's own: None, or the version that torch was built for. In a setup.py that finds a version in any case (torch was built for
CUDA, or TORCHADA_FORCE_CUDA_AVAILABLE=1 is set), torch's own code has to find the same.

torch.utils.cmake_prefix_path is a folder in which torch's package for CMake has the backend in the place of CUDA.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

from torchada.redirect.by_view import by_view
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch


def patches(context: Context) -> Iterator[Patch]:
    version = context.torch.version
    if _is_one_for_all(context):
        from torchada.building.cuda_home_files import VERSION

        yield Patch(version, "cuda", VERSION, "torch.version.cuda", kind="emulated", to=repr(VERSION))
    if type(version) is ModuleType:
        viewed = type("module", (ModuleType,), {"__module__": "builtins"})
        yield Patch(_ClassOf(version), "__class__", viewed, None, note="torch.version.cuda, by who asks")
        yield Patch(viewed, "cuda", _by_view(context), "torch.version.cuda", kind="emulated", to="the version of nvcc")
    if type(context.torch.utils) is ModuleType and context.backend.build is not None:
        yield from _prefix(context)


def _prefix(context: Context) -> Iterator[Patch]:
    name, viewed = "cmake_prefix_path", type("module", (ModuleType,), {"__module__": "builtins"})
    yield Patch(_ClassOf(context.torch.utils), "__class__", viewed, None, note=f"torch.utils.{name}, by who asks")
    place = f"torch.utils.{name}"
    yield Patch(viewed, name, _prefix_by_view(context, name), place, kind="emulated", to="a package for the backend")


def _prefix_by_view(context: Context, name: str) -> property:
    """What the program assigns is what it reads."""

    def own(self: ModuleType) -> object:
        return vars(self)[name]

    def of_backend(self: ModuleType) -> object:
        is_torchs = vars(self)[name] == torchs_own
        return _package(context, torchs_own) if is_torchs else vars(self)[name]

    def assign(self: ModuleType, value: object) -> None:
        vars(self)[name] = torchs_own if value == _made.get(torchs_own) else value

    torchs_own = str(vars(context.torch.utils)[name])
    return property(by_view(context.views, of_backend, own), assign)


_made: dict[str, str] = {}


def _package(context: Context, torchs_own: str) -> str:
    """The folder of the package; torch's own where it cannot be made, with a warning, because a program may only look at it."""
    if torchs_own not in _made:
        from torchada.building.errors import BuildError
        from torchada.building.torch_package import of_backend

        try:
            _made[torchs_own] = of_backend(context.backend, context.namespace, torchs_own, context.settings.cache)
        except (BuildError, OSError) as error:
            from torchada.base.warnings import warn_once

            warn_once(f"torch.utils.cmake_prefix_path is torch's own: {error}", error)
            return torchs_own
    return _made[torchs_own]


def _is_one_for_all(context: Context) -> bool:
    has_version = context.torch.version.cuda is not None or context.settings.force_cuda_available
    if not has_version or context.backend.build is None:
        return False
    from torchada.building.scripts import is_setup_script

    return is_setup_script()


class _ClassOf:
    """The class of a module, as the owner of a patch: only a class can answer for an attribute by who asks."""

    __torchada_owner__ = True

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def get(self, name: str) -> type[ModuleType]:
        return type(self._module)

    def set(self, name: str, value: type[ModuleType]) -> None:
        self._module.__class__ = value

    def delete(self, name: str) -> None:
        raise TypeError("a module cannot be without a class")


def _by_view(context: Context) -> property:
    """What the program assigns is what it reads, until it assigns again what was there: a replacement for a while ends so.

    unittest.mock takes that from the module's dictionary, pytest's monkeypatch by reading the attribute.
    """
    torchs_own = vars(context.torch.version)["cuda"]
    is_assigned = False

    def of_nvcc(self: ModuleType) -> object:
        from torchada.building.cuda_home_files import VERSION

        return vars(self)["cuda"] if is_assigned else VERSION

    def own(self: ModuleType) -> object:
        return vars(self)["cuda"]

    def assign(self: ModuleType, value: object) -> None:
        nonlocal is_assigned
        from torchada.building.cuda_home_files import VERSION

        is_assigned = value not in (VERSION, torchs_own)
        vars(self)["cuda"] = value if is_assigned else torchs_own

    return property(by_view(context.views, of_nvcc, own), assign)
