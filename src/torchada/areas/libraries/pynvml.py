"""pynvml (nvidia-ml-py), and the copy that vLLM brings: they ask the backend's management library instead of NVIDIA's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

_TRIED = "nvidia-ml-py 13.615"
#: By how many a function changes the number of users of the library.
_OPENS = {"nvmlInit": 1, "nvmlInitWithFlags": 1, "nvmlShutdown": -1}
_VERSIONS = ("_v1", "_v2", "_v3", "_v4")


def package(context: Context) -> Iterator[Patch]:
    """The module that `import pynvml` gives."""
    yield from _patches(context, "pynvml")


def of_vllm(context: Context) -> Iterator[Patch]:
    """vllm.third_party.pynvml."""
    yield from _patches(context, "vllm.third_party.pynvml")


def _patches(context: Context, name: str) -> Iterator[Patch]:
    management = context.backend.management
    if management is None:
        raise Skip(f"{context.backend.name} has no management library with NVML's functions")
    if find_spec(management.module) is None:
        raise Skip(f"{management.module} is not installed: pip install {management.package}")
    pynvml = import_module(name)
    library = NvmlLibrary(management.module, pynvml)
    # It opens NVIDIA's library only where it has none yet, and remembers the functions that it has looked up.
    yield Patch(pynvml, "nvmlLib", library, None, to=management.module, since=_TRIED, note=name)
    yield Patch(pynvml, "_nvmlGetFunctionPointer_cache", {}, None, note=name)


class NvmlLibrary:
    """In the place of the C library that pynvml opens; pynvml keeps its own types, versions of functions and errors.

    Nothing is imported before a function is called: torch itself imports pynvml, and hardly any program asks it.
    """

    def __init__(self, name: str, pynvml: ModuleType) -> None:
        self._name = name
        self._pynvml = pynvml
        self._opened = 0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if not name.startswith("nvml"):
            raise AttributeError(name)
        return self._checked(next((name.removesuffix(end) for end in _VERSIONS if name.endswith(end)), name))

    def _checked(self, name: str) -> Callable[..., Any]:
        """The function, with its outcome as NVML's code of an error."""

        def call(*arguments: Any) -> Any:
            from torchada.areas.libraries import _nvml

            function = _nvml.FUNCTIONS.get(name, _nvml.not_supported)
            change = _OPENS.get(name, 0)
            if self._opened == 0 and change < 1 and name != "nvmlErrorString":
                return self._code("UNINITIALIZED")
            try:
                answer = function(_nvml.Module(self._name), *arguments)
            except Exception as error:
                return self._code(self._name_of(error))
            self._opened += change
            return 0 if answer is None else answer

        return call

    def _name_of(self, error: Exception) -> str:
        """What follows NVML_ERROR_ in the name of the error."""
        from torchada.areas.libraries import _nvml

        if isinstance(error, _nvml.Failure):
            return str(error)
        if isinstance(error, (ImportError, OSError)):  # the vendor's library cannot be opened
            return "LIBRARY_NOT_FOUND"
        return _nvml.Module(self._name).error_name(error)

    def _code(self, name: str) -> int:
        return int(getattr(self._pynvml, f"NVML_ERROR_{name}", self._pynvml.NVML_ERROR_UNKNOWN))
