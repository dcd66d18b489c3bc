"""Host memory under another name: a storage of the device over the memory of a storage of the CPU.

Torch takes such memory in the form of DLPack's C structure, whose device type "extension" means PrivateUse1.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import torch

_EXTENSION_DEVICE = 12
_UNSIGNED = 1


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("index", ctypes.c_int32)]


class _DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _ManagedTensor(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


# Torch copies everything out of the structure except for the deleter, which it looks at again at the very end. There
# is none, so one structure that lives as long as the process serves all.
_managed = _ManagedTensor()
_size = ctypes.c_int64()
_lock = threading.Lock()
_KEPT = "_musasim_host_memory"


def as_device_storage(memory: Any, index: int) -> Any:
    """The bytes of the CPU storage `memory` as a storage on musa:`index`."""
    storage = _device_bytes(memory.data_ptr(), memory.nbytes(), index).untyped_storage()
    # Torch keeps the Python object of a storage, with its attributes, as long as the storage itself.
    setattr(storage, _KEPT, memory)
    return storage


def host_memory_of(storage: Any) -> Any:
    """The CPU storage under a storage that as_device_storage() made; None under any other."""
    return getattr(storage, _KEPT, None)


def _device_bytes(address: int, size: int, index: int) -> torch.Tensor:
    with _lock:
        _size.value = size
        _managed.tensor = _Tensor(
            data=address,
            device=_Device(_EXTENSION_DEVICE, index),
            ndim=1,
            dtype=_DataType(_UNSIGNED, 8, 1),
            shape=ctypes.pointer(_size),
        )
        return torch.utils.dlpack.from_dlpack(_capsule(ctypes.addressof(_managed)))


def _capsule(address: int) -> Any:
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return make(address, b"dltensor", None)
