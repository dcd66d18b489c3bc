"""What is checked: a backend's descriptor, the live torch and the adapter's namespace; and the outcomes of a check."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from operator import attrgetter
from typing import Any

from torchada.backends.descriptor import Backend


class Wrong(Exception):
    """The adapter offers something that does not do what CUDA's counterpart does."""


class Lacks(Exception):
    """The adapter does not offer the capability. A check raises this where names alone do not show it."""


class NotHere(Exception):
    """The capability cannot be checked on this machine."""


def expect(holds: bool, otherwise: str) -> None:
    """Raise Wrong(otherwise) unless `holds`."""
    if not holds:
        raise Wrong(otherwise)


@dataclass(frozen=True)
class Subject:
    """`torch` and `namespace` (torch.musa) are the live modules."""

    backend: Backend
    torch: Any
    namespace: Any

    @classmethod
    def of(cls, backend: Backend) -> Subject:
        """Imports torch and the adapter."""
        torch = import_module("torch")
        import_module(backend.adapter)
        return cls(backend, torch, getattr(torch, backend.namespace, None))

    def get(self, name: str) -> Any:
        """The namespace's counterpart of `torch.cuda.<name>`, or None."""
        try:
            return attrgetter(self.backend.names.own(name))(self.namespace)
        except AttributeError:
            return None

    def device(self, index: int | None = None) -> Any:
        """The torch.device with that index, or without one."""
        return self.torch.device(self.backend.device_type if index is None else f"{self.backend.device_type}:{index}")

    def another_device(self) -> int:
        """The index of a device that is not the first. Raises NotHere on a machine with only one."""
        if self.namespace.device_count() < 2:
            raise NotHere("this machine has one device")
        return 1

    def numbers(self, *shape: int, index: int | None = None) -> tuple[Any, Any]:
        """The same numbers on the CPU and on the device."""
        count = 1
        for size in shape:
            count *= size
        host = (self.torch.arange(float(count)).reshape(shape) - count / 3) / 4
        return host, host.to(self.device(index))

    def same(self, actual: Any, expected: Any, what: str) -> None:
        """Raise Wrong unless the tensor `actual`, of the device, has the values of `expected`, of the CPU."""
        back = actual.detach().to("cpu")
        expect(back.dtype == expected.dtype, f"{what} has the type {back.dtype}, not {expected.dtype}")
        expect(back.shape == expected.shape, f"{what} has the shape {tuple(back.shape)}, not {tuple(expected.shape)}")
        close = self.torch.isclose(back.double(), expected.detach().double(), rtol=1e-3, atol=1e-5, equal_nan=True)
        if not bool(close.all()):
            place = tuple(self.torch.nonzero(~close)[0].tolist())
            expect(False, f"{what} has {back[place].item()} at {place}, not {expected[place].item()}")

    def child(self, code: str, **variables: str) -> str:
        """The output of a new interpreter with these variables and the adapter. Raises Wrong where it fails."""
        begin = f"import os\nos.environ.update({variables!r})\nimport torch, {self.backend.adapter}\n"
        begin += f"namespace = torch.{self.backend.namespace}\n"
        done = subprocess.run(
            [sys.executable, "-c", begin + code], capture_output=True, text=True, timeout=300, check=False
        )
        last = done.stderr.strip().rpartition("\n")[2]
        expect(done.returncode == 0, f"a new process ended with {done.returncode}: {last}")
        return done.stdout.strip()
