"""Memory of the toy: the CPU's, under another label.

A tensor is handed over by DLPack, which says in one integer what kind of memory it is in. The integer is changed on the way,
so that PyTorch makes a tensor of the device PrivateUse1 over the same bytes, or a tensor of the CPU over the toy's.
"""

from __future__ import annotations

import ctypes
from typing import Any

import torch
from torch.utils.dlpack import from_dlpack, to_dlpack

# DLDeviceType of dlpack.h: kDLCPU, and kDLExtDev, which PyTorch takes for PrivateUse1.
_CPU, _EXTENSION = 1, 12


class _Head(ctypes.Structure):
    """The beginning of a DLManagedTensor: where the data are, and the type of the device."""

    _fields_ = (("data", ctypes.c_void_p), ("device_type", ctypes.c_int))


_pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_in.restype, _pointer_in.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


def on_toy(tensor: torch.Tensor) -> torch.Tensor:
    """`tensor`, of the CPU, as a tensor of the toy."""
    return _relabelled(tensor, _EXTENSION)


def on_cpu(tensor: torch.Tensor) -> torch.Tensor:
    """`tensor`, of the toy, as a tensor of the CPU: what is written to one is in the other."""
    # DLPack has no words for tensors that are negated or conjugated when they are read.
    if tensor.is_conj():
        return on_cpu(tensor.conj()).conj()
    if tensor.is_neg():
        return on_cpu(tensor._neg_view())._neg_view()
    return _relabelled(tensor, _CPU)


def _relabelled(tensor: torch.Tensor, device_type: int) -> torch.Tensor:
    capsule = to_dlpack(tensor.detach())
    head = _Head.from_address(_pointer_in(capsule, b"dltensor"))
    head.device_type = device_type
    return from_dlpack(capsule)


def make_storage(cls: type, *args: Any, device: Any = None, **kwargs: Any) -> Any:
    """torch.UntypedStorage.__new__, which asks an allocator in C++ for memory: the toy has none, so a tensor is made for it."""
    if device is None or torch.device(device).type != "toy":
        return torch._C.StorageBase.__new__(cls, *args, device=device, **kwargs)
    return torch.empty(args[0] if args else 0, dtype=torch.uint8, device=device).untyped_storage()
