"""Typed storage classes like those of torch.cuda."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import storage as _storage
from torch._utils import classproperty

_warn_of_removal: Callable[[], None] = _storage._warn_typed_storage_removal


# torch takes the device of such a class from the last part of its module's name: "musa".
class _MusaLegacyStorage(_storage._LegacyStorage):
    """Storages of one dtype on the device. They are made from tensors and sizes, but not from host memory."""

    _dtype: torch.dtype

    @classproperty  # type: ignore[untyped-decorator]
    def dtype(self) -> torch.dtype:
        _warn_of_removal()
        return self._dtype

    @classmethod
    def from_buffer(cls, *args: Any, **kwargs: Any) -> Any:
        _warn_of_removal()
        raise RuntimeError("from_buffer: Not available for MUSA storage")

    @classmethod
    def _new_with_weak_ptr(cls, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("_new_with_weak_ptr: Not available for MUSA storage")

    @classmethod
    def _new_shared_filename(cls, manager: Any, obj: Any, size: Any, *, device: Any = None, dtype: Any = None) -> Any:
        raise RuntimeError("_new_shared_filename: Not available for MUSA storage")


class ByteStorage(_MusaLegacyStorage):
    _dtype = torch.uint8


class DoubleStorage(_MusaLegacyStorage):
    _dtype = torch.double


class FloatStorage(_MusaLegacyStorage):
    _dtype = torch.float


class HalfStorage(_MusaLegacyStorage):
    _dtype = torch.half


class LongStorage(_MusaLegacyStorage):
    _dtype = torch.long


class IntStorage(_MusaLegacyStorage):
    _dtype = torch.int


class ShortStorage(_MusaLegacyStorage):
    _dtype = torch.short


class CharStorage(_MusaLegacyStorage):
    _dtype = torch.int8


class BoolStorage(_MusaLegacyStorage):
    _dtype = torch.bool


class BFloat16Storage(_MusaLegacyStorage):
    _dtype = torch.bfloat16
