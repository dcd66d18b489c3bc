"""What a program gives for a device, and where that is."""

from __future__ import annotations

from typing import Any

from torchada.areas.host._places import CPU, Places
from torchada.redirect.context import Context

_CURRENT, _UNKNOWN = -2, -3


class Targets:
    """Reads devices. `index(x)` is a device's number, CPU, or None for what is neither, such as "meta" or a dtype."""

    def __init__(self, context: Context, places: Places) -> None:
        self._torch, self._places = context.torch, places
        self._count, self._current = context.namespace.device_count, context.namespace.current_device
        # What strings and devices mean, as far as they have been met; the current device is _CURRENT.
        self._known: dict[Any, int | None] = {}
        self._concerned = frozenset({str, context.torch.device})

    def index(self, target: Any) -> int | None:
        """Raises torch.AcceleratorError for a device that does not exist, as CUDA does when it is used (before torch 2.8,
        RuntimeError).
        """
        if type(target) in self._concerned:
            index = self.stood_for(target)
            if index is not None:
                return index
            known = self._known.get(target, _UNKNOWN)
            index = self._parsed(target) if known == _UNKNOWN else known
        elif type(target) is int:
            index = target
        else:
            return self._of_tensor(target) if isinstance(target, self._torch.Tensor) else None
        if index is None or index == CPU:
            return index if type(target) is not int else self._existing(CPU)
        current = self._current()
        return current if index == _CURRENT else index if index == current else self._existing(index)

    def stood_for(self, device: Any) -> int | None:
        """The index of the tensor that was asked for `device`, by code that sees the CPU; None where that is not known."""
        return self._places.stands_for.get(id(device))

    def _parsed(self, target: Any) -> int | None:
        device = self._torch.device(target)
        if device.type == "cuda":
            index = _CURRENT if device.index is None else device.index
        else:
            index = CPU if device.type == "cpu" else None
        self._known[target] = index
        return index

    def _existing(self, index: int) -> int:
        if not 0 <= index < self._count():
            kind = getattr(self._torch, "AcceleratorError", RuntimeError)
            raise kind(f"CUDA error: invalid device ordinal {index}: the host has {self._count()} device(s)")
        return index

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
