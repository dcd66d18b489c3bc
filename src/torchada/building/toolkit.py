"""The tools that extensions are built with, as values: passed in by the area, or read by the stand-in for nvcc from its folder."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from torchada.building.environment import variable
from torchada.building.errors import BuildError

_SYSTEM = ("/usr/local/lib", "/usr/lib", "/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu")


def nothing() -> Sequence[str]:
    """Return no paths, or no devices."""
    return ()


@dataclass(frozen=True)
class Toolkit:
    """An accelerator's toolkit and what an extension needs of its PyTorch adapter.

    `name` is for messages, `home` the toolkit's folder (None: not found), `home_variable` the environment variable that names it.
    `compiler` is the program in its bin folder, unless `compiler_variable` names another; `language` the value of its -x; `lister`
    the program that lists devices. `arch_flag` has a place for an architecture ("--offload-arch=mp_{}"); `arch_variable` lists the
    architectures to compile for. `libraries` replace torch's own CUDA libraries, and `runtime` replaces cudart. The functions ask
    the adapter for include and library folders, and for the architectures of the visible devices ("31").
    """

    name: str
    home: str | None
    home_variable: str
    compiler: str
    compiler_variable: str
    language: str
    arch_flag: str
    arch_variable: str
    runtime: str
    lister: str = ""
    libraries: tuple[str, ...] = ()
    include_dirs: Callable[[], Sequence[str]] = field(default=nothing, compare=False)
    library_dirs: Callable[[], Sequence[str]] = field(default=nothing, compare=False)
    devices: Callable[[], Sequence[str]] = field(default=nothing, compare=False)

    def folder(self, *parts: str) -> str:
        """A path below the toolkit's folder; BuildError where there is no toolkit."""
        if self.home is None:
            raise BuildError(self.missing())
        return os.path.join(self.home, *parts)

    def compiler_path(self) -> str:
        """The compiler; BuildError where there is none."""
        path = variable(self.compiler_variable) or self.folder("bin", self.compiler)
        if os.path.isabs(path) and not os.access(path, os.X_OK):
            raise BuildError(f"{path} is not a program; {self.home_variable} must be the folder of {self._title()}")
        return path

    def library_folder(self) -> str:
        """Where the toolkit's libraries are."""
        folders = [self.folder(folder) for folder in ("lib", "lib64")]
        return next((folder for folder in folders if os.path.isdir(folder)), folders[0])

    def has_library(self, name: str) -> bool:
        """Whether the toolkit or the system has the library to link with."""
        folders = [*self.library_dirs(), self.library_folder(), self.folder("lib64"), *_SYSTEM]
        return any(glob.glob(os.path.join(glob.escape(folder), f"lib{name}.[sa]*")) for folder in folders)

    def missing(self) -> str:
        """The message for a machine without the toolkit."""
        return (
            f"no {self._title()} found, and CUDA extensions are built with its compiler, {self.compiler}; "
            f"install it, or set {self.home_variable} to its folder"
        )

    def _title(self) -> str:
        return f"{self.name} toolkit"
