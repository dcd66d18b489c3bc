"""Which platform a program runs on: the public questions, under the names that torchada's users know."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from types import ModuleType

from torchada.backends import select
from torchada.base import plugins, settings
from torchada.base.adapters import ADAPTERS
from torchada.base.version import __version__
from torchada.hooks.state import STATE

__all__ = [
    "Platform",
    "detect_platform",
    "get_backend",
    "get_device_name",
    "get_device_type",
    "get_platform",
    "get_torch_device_module",
    "get_version",
    "is_cpu_platform",
    "is_cuda_like_device",
    "is_cuda_platform",
    "is_gpu_device",
    "is_musa_platform",
]


class _Members(enum.EnumMeta):
    """Members that are written, and those that have been asked for since."""

    def __iter__(cls) -> Iterator[Platform]:  # type: ignore[override]
        yield from (Platform.CUDA, Platform.MUSA, Platform.CPU)
        yield from tuple(_THIRD_PARTIES.values())

    def __len__(cls) -> int:
        return 3 + len(_THIRD_PARTIES)


class Platform(enum.Enum, metaclass=_Members):
    """The accelerator that CUDA code meets.

    A backend of another package adds a member: `Platform("toy")` where a backend of that name is installed, the same object each
    time. Iterating over the class yields the members that are written here, and those that somebody has got.
    """

    CUDA = "cuda"
    MUSA = "musa"
    CPU = "cpu"

    @classmethod
    def _missing_(cls, value: object) -> Platform | None:
        if isinstance(value, str) and value not in _THIRD_PARTIES and _is_backend(value):
            _THIRD_PARTIES.setdefault(value, _member(value))
        return _THIRD_PARTIES.get(value) if isinstance(value, str) else None

    def __reduce_ex__(self, protocol: object) -> tuple[type[Platform], tuple[str]]:
        # CPython 3.11.0 to 3.11.3 pickle a member by its name, and the class has no attribute for those of other packages.
        return type(self), (self.value,)


_THIRD_PARTIES: dict[str, Platform] = {}
# Device types that are, or are not, GPUs whatever platform was chosen. Backends of other packages are searched only for others.
_KNOWN_TYPES = {
    "cpu": False,
    "meta": False,
    "cuda": True,
    **dict.fromkeys(ADAPTERS, True),  # named as their device types
}


def _is_backend(name: str) -> bool:
    """Whether this process has chosen a backend of that name, or one is installed."""
    ours = name in ADAPTERS or name in select.BY_NAME_ONLY
    return ours or _selection().platform == name or name in plugins.names(select.GROUP)


def _member(name: str) -> Platform:
    member = object.__new__(Platform)
    member._name_, member._value_ = name.upper(), name
    return member


def _selection() -> select.Selection:
    return STATE.selection or select.before_torch(settings.read())


def detect_platform() -> Platform:
    """The platform of this process. Imports torch where only torch can tell CUDA from CPU."""
    selection = _selection()
    if selection.backend is not None or selection.platform in select.LEFT_ALONE:
        return Platform(selection.platform)
    import torch

    return Platform.CUDA if torch.cuda.is_available() else Platform.CPU


get_platform = detect_platform


def is_musa_platform() -> bool:
    """Whether the platform of this process is Moore Threads' MUSA."""
    return detect_platform() is Platform.MUSA


def is_cuda_platform() -> bool:
    """Whether the platform of this process is CUDA itself."""
    return detect_platform() is Platform.CUDA


def is_cpu_platform() -> bool:
    """Whether this process has no accelerator."""
    return detect_platform() is Platform.CPU


def get_device_type() -> str:
    """The device type that tensors of this platform have: "cuda", "cpu", or the backend's, such as "musa"."""
    backend = _selection().backend
    return detect_platform().value if backend is None else backend.device_type


get_device_name = get_device_type  # the name of torchada 0.1; torch.cuda.get_device_name answers "MTT S5000"


def get_backend() -> ModuleType:
    """The torch module of the platform's devices, such as torch.cuda or torch.musa; RuntimeError on a machine with none."""
    if is_cpu_platform():
        raise RuntimeError("No GPU platform available. Running on CPU only.")
    import torch

    backend = _selection().backend
    module: ModuleType = torch.cuda if backend is None else getattr(torch, backend.namespace)
    return module


get_torch_device_module = get_backend


def get_version() -> str:
    """The version of torchada."""
    return __version__


def is_gpu_device(device: object) -> bool:
    """Whether `device`, a string, a torch.device or anything with a `.device`, names a device of CUDA or of a backend."""
    device = getattr(device, "device", device)
    kind: object = device.partition(":")[0] if isinstance(device, str) else getattr(device, "type", None)
    if not isinstance(kind, str) or kind in _KNOWN_TYPES:
        return isinstance(kind, str) and _KNOWN_TYPES[kind]
    backend = _selection().backend
    return backend is not None and kind == backend.device_type


is_cuda_like_device = is_gpu_device
