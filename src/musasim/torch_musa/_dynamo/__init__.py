"""The device's registration with torch._dynamo. It is imported together with torch._dynamo, see `_vendor_torch.compiler`."""

from __future__ import annotations

from .device_interface import MusaInterface

__all__ = ["MusaInterface"]
