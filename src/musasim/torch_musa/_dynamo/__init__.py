"""What torch.compile's first half has to know of the device. Imported when torch._dynamo is, see `_vendor_torch.compiler`."""

from __future__ import annotations

from .device_interface import MusaInterface

__all__ = ["MusaInterface"]
