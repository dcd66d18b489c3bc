"""The default tensor type of a process, on the backend's device.

PyTorch has one for the process: factories, `torch.Tensor(...)` and C++ read it in every thread. It takes it from the C structure of
a tensor type, and has such types for the CPU and CUDA alone. So the structure of CUDA's type names the backend while it is read.
The structure is described in torch/csrc/tensor/python_tensor.cpp; each field is checked before one is written.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from types import ModuleType
from typing import Any

_NAME = 64
_LOCK = Lock()


class _Fields(ctypes.Structure):
    """What follows the PyTypeObject."""

    _fields_ = (
        ("dtype", ctypes.c_void_p),
        ("layout", ctypes.c_void_p),
        ("is_cuda", ctypes.c_bool),
        ("is_xpu", ctypes.c_bool),
        ("name", ctypes.c_char * _NAME),
        ("backend", ctypes.c_int),
        ("scalar_type", ctypes.c_int),
    )


def set_default_type(torch: ModuleType, prefix: str, device_type: str) -> bool:
    """Make torch.cuda.<prefix>Tensor the default type, on the backend's device. False where that cannot be done."""
    fields, number = _cuda_fields(torch, prefix), _private_backend(torch)
    if fields is None or number is None:
        return False
    before = torch.tensor(0.0).type()
    with _LOCK, _changed(fields, number) as cuda_type:
        torch._C._set_default_tensor_type(cuda_type)
    try:
        if torch.empty(0).device.type == device_type:
            return True
    except RuntimeError:
        pass
    torch._C._set_default_tensor_type(before)
    return False


@contextmanager
def _changed(found: tuple[Any, _Fields], backend: int) -> Iterator[Any]:
    cuda_type, fields = found
    was = fields.is_cuda, fields.backend
    fields.is_cuda, fields.backend = False, backend
    try:
        yield cuda_type
    finally:
        fields.is_cuda, fields.backend = was


def _cuda_fields(torch: Any, prefix: str) -> tuple[Any, _Fields] | None:
    """torch's own torch.cuda.<prefix>Tensor, and the fields of its structure."""
    kind = type(torch.FloatTensor)
    for cuda_type in torch._tensor_classes:
        if type(cuda_type) is kind and (cuda_type.__module__, cuda_type.__name__) == ("torch.cuda", f"{prefix}Tensor"):
            fields, of_cpu = _fields(cuda_type), _fields(getattr(torch, f"{prefix}Tensor"))
            is_known = fields is not None and of_cpu is not None and fields.is_cuda and not of_cpu.is_cuda
            if is_known and (of_cpu.backend, fields.backend) == (0, 1) and fields.scalar_type == of_cpu.scalar_type:
                return cuda_type, fields
    return None


def _fields(tensor_type: Any) -> Any:
    """The fields of a tensor type; None where they are not what its attributes say."""
    fields = _Fields.from_address(id(tensor_type) + type(tensor_type).__basicsize__)
    if (fields.dtype, fields.layout) != (id(tensor_type.dtype), id(tensor_type.layout)):
        return None
    name = f"{tensor_type.__module__}.{tensor_type.__name__}".encode()
    return (
        fields
        if ctypes.string_at(ctypes.addressof(fields) + _Fields.name.offset, len(name) + 1) == name + b"\0"
        else None
    )


def _private_backend(torch: Any) -> int | None:
    """The number of PrivateUse1 in c10's list of backends, which differs between versions, from the header that torch brings."""
    header = os.path.join(os.path.dirname(torch.__file__), "include", "c10", "core", "Backend.h")
    try:
        with open(header, encoding="utf-8") as opened:
            body = re.search(r"enum class Backend \{(.*?)\}", opened.read(), re.DOTALL)
    except OSError:
        return None
    names = re.findall(r"^\s*(\w+),?\s*$", body[1], re.MULTILINE) if body else []
    return names.index("PrivateUse1") if names[:2] == ["CPU", "CUDA"] and "PrivateUse1" in names else None
