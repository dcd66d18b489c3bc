"""The toolkit and CUDA_HOME, looked for when a program or a build first asks: hardly a process builds anything.

The real torch_musa imports torch.utils.cpp_extension in every process. What it costs to find the folder, and the message where the
user's cache cannot be used, are for those who need it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING

from torchada.base.warnings import warn_once
from torchada.redirect.context import Context

if TYPE_CHECKING:
    from torchada.building.toolkit import Toolkit

NAME = "CUDA_HOME"


class ToolkitInUse:
    """`toolkit` is the backend's, and `home` the folder that builds take for CUDA's: None without a toolkit.

    Where the user has named a folder of caches that cannot be used, `home` raises BuildError.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._lock = RLock()

    @cached_property
    def toolkit(self) -> Toolkit:
        from torchada.building.adapter import toolkit_of

        return toolkit_of(self._context.backend, self._context.namespace)

    @cached_property
    def home(self) -> str | None:
        from torchada.building.cuda_home import cuda_home

        return cuda_home(self.toolkit, self._context.settings.cache)

    def join(self, *paths: str) -> str:
        """A path below CUDA_HOME; OSError where there is no toolkit."""
        import os

        if self.home is None:
            raise OSError(self.toolkit.missing())
        return os.path.join(self.home, *paths)

    def read(self) -> str | None:
        """CUDA_HOME for a program, whose import of the name has to go on: a fault is a warning, and the build raises it."""
        from torchada.building.errors import BuildError

        try:
            return self.home
        except BuildError as error:
            warn_once(f"{NAME} is None: {error}", error)
            return None

    @contextmanager
    def standing_in(self, module: ModuleType) -> Iterator[None]:
        """CUDA_HOME is in `module` meanwhile, for a function of its own that reads it there."""
        with self._lock:
            if NAME in vars(module):  # a program has set it
                yield
                return
            vars(module)[NAME] = self.home
            try:
                yield
            finally:
                vars(module).pop(NAME, None)


def attributes(module: ModuleType, in_use: ToolkitInUse) -> Callable[[str], object]:
    """What `module` answers for names that are not in it, which CUDA_HOME then is; the others go where they went."""
    others = vars(module).get("__getattr__")

    def __getattr__(name: str) -> object:
        if name == NAME:
            return in_use.read()
        if others is None:
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        return others(name)

    return __getattr__
