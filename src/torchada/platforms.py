"""Which platform a program runs on: the public questions, under the names that torchada's users know."""

from __future__ import annotations

import enum
from typing import Any

from torchada import __version__, _settings
from torchada.backends import select
from torchada.hooks.state import STATE


class Platform(enum.Enum):
    """The accelerator that CUDA code meets."""

    CUDA = "cuda"
    MUSA = "musa"
    CPU = "cpu"


def detect_platform() -> Platform:
    """The platform of this process. Imports torch where only torch can tell CUDA from CPU."""
    selection = STATE.selection or select.before_torch(_settings.read())
    if selection.platform in {platform.value for platform in Platform}:
        return Platform(selection.platform)
    import torch

    return Platform.CUDA if torch.cuda.is_available() else Platform.CPU


get_platform = detect_platform


def is_musa_platform() -> bool:
    return detect_platform() is Platform.MUSA


def is_cuda_platform() -> bool:
    return detect_platform() is Platform.CUDA


def is_cpu_platform() -> bool:
    return detect_platform() is Platform.CPU


def get_device_name() -> str:
    """The device type that tensors of this platform have: "cuda", "musa" or "cpu"."""
    return detect_platform().value


def get_backend() -> Any:
    """The torch module of the platform's devices, torch.cuda or torch.musa; RuntimeError on a machine with neither."""
    if is_cpu_platform():
        raise RuntimeError("No GPU platform available. Running on CPU only.")
    import torch

    return getattr(torch, get_device_name())


get_torch_device_module = get_backend


def get_version() -> str:
    return __version__


def is_gpu_device(device: object) -> bool:
    """Whether `device`, a string, a torch.device or anything with a `.device`, names a CUDA or MUSA device."""
    device = getattr(device, "device", device)
    kind = device.partition(":")[0] if isinstance(device, str) else getattr(device, "type", None)
    return kind in ("cuda", "musa")


is_cuda_like_device = is_gpu_device
