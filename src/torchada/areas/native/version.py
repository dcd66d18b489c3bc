"""torch.version.cuda: the version of CUDA that the backend's toolkit stands for, in code that sees CUDA.

Builds compare it with the output of `nvcc -V`, so it is the version that torchada's replacement for nvcc prints. Other code gets
torch's own: None, or the version that torch was built for. In a setup.py that finds a version in any case (torch was built for
CUDA, or TORCHADA_FORCE_CUDA_AVAILABLE=1 is set), torch's own code has to find the same.
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
