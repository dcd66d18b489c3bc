"""Device names: from those that CUDA code uses to those of the backend's device."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

T = TypeVar("T")

# c10::DeviceIndex is an int8, and torch's parser takes no leading zeros: these are all the names that torch accepts.
_SUFFIXES = ("", *(f":{index}" for index in range(128)))


def _by_text(table: dict[Any, Any]) -> Callable[..., Any]:
    """The look-up in `table`, where a string of a class of its own counts as its text, as for torch, whatever it says it equals."""
    known = table.get

    def get(device: Any, default: Any = None) -> Any:
        if type(device) is not str and isinstance(device, str):
            device = str.__str__(device)
        return known(device, default)

    return get


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
        self.get = _by_text(self.table)
        self.device_type = device_type
        self.torch_device = torch.device

    def translate(self, device: T) -> T:
        """The backend's counterpart of `device`; anything that is not CUDA's, and anything unhashable, comes back unchanged."""
        try:
            own: T = self.get(device, device)
        except TypeError:
            return device
        return own
