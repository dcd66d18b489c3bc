"""Device names: from those that CUDA code uses to those of the backend's device."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

T = TypeVar("T")

# The names of all indices of c10::DeviceIndex, an int8: torch takes no leading zeros, and a number from 128 on as another one,
# modulo 256.
_SUFFIXES = ("", *(f":{index}" for index in range(256)))


class DeviceNames:
    """The complete table of CUDA's device strings and device objects, each with its counterpart on the backend.

    `get(device, device)` is the whole translation, and works for any hashable value that a caller may give for a device: ints and
    None mean the same on every accelerator. Strings that torch would refuse are not in the table, so that torch's own error
    names what the user wrote.
    """

    def __init__(self, torch: ModuleType, device_type: str) -> None:
        # There is one CPU, and its tensors have no index.
        names = {f"cuda{suffix}": device_type + ("" if device_type == "cpu" else suffix) for suffix in _SUFFIXES}
        # Device objects of type cuda exist if they were made before redirection, or by a parser that the hook does not reach.
        objects = {torch.device(cuda): torch.device(name) for cuda, name in names.items()}
        self.table: dict[Any, Any] = {**names, **objects}
        self.get = self._look_up(self.table.get)
        self.device_type = device_type
        self.torch_device = torch.device

    def translate(self, device: T) -> T:
        """The backend's counterpart of `device`; anything that is not CUDA's, and anything unhashable, comes back unchanged."""
        try:
            own: T = self.get(device, device)
        except TypeError:
            return device
        return own

    def _look_up(self, known: Callable[..., Any]) -> Callable[..., Any]:
        """The look-up in the table, where a string of a class of its own counts as its text, as for torch, whatever it equals."""

        def get(device: Any, default: Any = None) -> Any:
            if type(device) is not str and isinstance(device, str):
                device = str.__str__(device)
            own = known(device)
            if own is not None:
                return own
            return self._of_large_index(device, default) if type(device) is str and device[:5] == "cuda:" else default

        return get

    def _of_large_index(self, name: str, default: Any) -> Any:
        """The counterpart of "cuda:256" and the like: torch says which index that is, or refuses it in its own words."""
        try:
            device = self.torch_device(name)
        except RuntimeError:
            return default
        return self.table.get(device, device)
