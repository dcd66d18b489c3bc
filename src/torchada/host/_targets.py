"""What a program gives for a device, and where that is."""

from __future__ import annotations

from typing import Any

from torchada.host.memory import CPU, Places
from torchada.redirect.context import Context


class Targets:
    """Reads devices. `index(x)` is a device's number, CPU, or None for what is neither, such as "meta" or a dtype."""

    def __init__(self, context: Context, places: Places) -> None:
        self._torch, self._places = context.torch, places
        self._count, self._current = context.namespace.device_count, context.namespace.current_device

    def index(self, target: Any) -> int | None:
        """Raises RuntimeError for a device that does not exist, as CUDA does when it is used."""
        torch = self._torch
        if isinstance(target, str):
            target = torch.device(target)
        if isinstance(target, torch.device):
            if target.type != "cuda":
                return CPU if target.type == "cpu" else None
            target = self._current() if target.index is None else target.index
        if type(target) is not int:
            return self._of_tensor(target) if isinstance(target, torch.Tensor) else None
        if not 0 <= target < self._count():
            raise RuntimeError(f"CUDA error: invalid device ordinal {target}: the host has {self._count()} device(s)")
        return target

    def where(self, tensor: Any) -> int:
        """Where a tensor of the CPU's memory counts as being."""
        place = self._places.of(tensor)
        return self._current() if place is None else place

    def arrived(self, made: Any, index: int) -> Any:
        """Remember that `made` has been put there, unless it would count as being there anyway."""
        if index != self._current() or self._places.of(made) is not None:
            self._places.put(made, index)
        return made

    def _of_tensor(self, tensor: Any) -> int | None:
        return self.where(tensor) if tensor.is_cpu else None
