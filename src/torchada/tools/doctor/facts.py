"""What `torchada doctor` knows of an environment. Each part is asked for itself, so that one that fails leaves the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Distribution(NamedTuple):
    """An installed distribution, by its metadata: its name in lower case with hyphens, its version, and the folder it is in.

    `origin` is what it was installed from, where that is no index: a folder, an archive, a revision of a repository.
    """

    name: str
    version: str
    folder: str
    origin: str = ""


class Probe(NamedTuple):
    """What another process answered. `error` is why it did not, in one line; `seconds` is how long it took."""

    answer: Mapping[str, Any]
    error: str = ""
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return not self.error


class Node(NamedTuple):
    """A device node: its path, and whether this user may read and write it; `group` may, where the user may not."""

    path: str
    usable: bool
    group: str


class Machine(NamedTuple):
    """The machine: versions are empty where nothing was found; `home` is the folder of the SDK."""

    driver: str = ""
    sdk: str = ""
    home: str = ""
    compiler: str = ""
    host_compiler: str = ""
    nodes: tuple[Node, ...] = ()
    system: str = ""


class StartupFile(NamedTuple):
    """A start-up file of torchada: its path, and what is wrong with it, if anything."""

    path: str
    fault: str = ""


class Facts(NamedTuple):
    """Everything. `folder_hides` are files of the current folder that hide a package there; `variables` are those that matter;
    `adapter_name` is the adapter that was asked; `redirections` are distributions that redirect torch.cuda as well."""

    python: str
    executable: str
    prefix: str
    torchada: str
    distributions: tuple[Distribution, ...]
    torch: Probe
    adapter: Probe
    status: Probe
    machine: Machine
    startup: tuple[StartupFile, ...]
    variables: Mapping[str, str]
    cuda_libraries: Mapping[str, tuple[str, ...]]
    triton_backends: tuple[str, ...]
    folder_hides: tuple[str, ...]
    adapter_name: str = "torch_musa"
    redirections: tuple[str, ...] = ()

    def version(self, name: str) -> str:
        """The version of a distribution; empty where it is not installed."""
        return next((distribution.version for distribution in self.distributions if distribution.name == name), "")

    def all_of(self, name: str) -> list[Distribution]:
        """Every copy of a distribution on the path, the one that is imported first."""
        return [distribution for distribution in self.distributions if distribution.name == name]

    @property
    def is_simulated(self) -> bool:
        """Whether the adapter is the simulator's."""
        return bool(self.adapter.answer.get("simulated"))

    @property
    def has_adapter(self) -> bool:
        """Whether a real adapter is installed, importable or not."""
        return bool(self.adapter.answer.get("installed")) and not self.is_simulated

    @property
    def has_musa(self) -> bool:
        """Whether that adapter is torch_musa."""
        return self.has_adapter and self.adapter_name == "torch_musa"
