"""Device names: from what CUDA code says to what the backend's device is called."""

from __future__ import annotations

from typing import Any

# c10::DeviceIndex is an int8, and torch's parser takes no leading zeros: these are all the names that torch accepts.
_SUFFIXES = ("", *(f":{index}" for index in range(128)))


class DeviceNames:
    """The complete table of CUDA's device strings and device objects with what stands in for each.

    `get(device, device)` is the whole translation, and works for anything hashable that a caller may give for a device: ints and
    None mean the same on every accelerator. Strings that torch would refuse are not in the table, so that torch's own error
    names what the user wrote.
    """

    def __init__(self, torch: Any, device_type: str) -> None:
        names = {f"cuda{suffix}": f"{device_type}{suffix}" for suffix in _SUFFIXES}
        # Device objects of type cuda exist where they were made before the hook came, or by a parser that it does not reach.
        objects = {torch.device(cuda): torch.device(name) for cuda, name in names.items()}
        self.table: dict[Any, Any] = {**names, **objects}
        self.get = self.table.get
        self.device_type = device_type
        self.torch_device = torch.device

    def translate(self, device: Any) -> Any:
        """What stands in for `device`; anything that is not CUDA's, and anything unhashable, comes back as it is."""
        try:
            return self.get(device, device)
        except TypeError:
            return device
