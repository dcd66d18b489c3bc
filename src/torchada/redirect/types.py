"""Types that areas annotate with: devices, wrapped functions, and what they use of a backend's namespace.

For type checkers alone. Areas import these names under `if TYPE_CHECKING`, so that neither this module nor torch is loaded for an
annotation. Attributes that a backend may lack are looked up with getattr or hasattr, and then have no type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    import torch

# The parameters and the result of a function that is wrapped.
P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

# A function whose parameters do not matter to the code that handles it.
AnyFunction: TypeAlias = Callable[..., object]
# What programs give for a device. None is the current one.
DeviceLike: TypeAlias = "torch.device | str | int | None"
# Types of torch, for functions in which `torch` is the live module.
Tensor: TypeAlias = "torch.Tensor"
Device: TypeAlias = "torch.device"
DType: TypeAlias = "torch.dtype"
Generator: TypeAlias = "torch.Generator"
Storage: TypeAlias = "torch.UntypedStorage | torch.TypedStorage"


class HasDevice(Protocol):
    """A tensor, a storage, a stream or another object that is on a device."""

    @property
    def device(self) -> torch.device: ...


class StreamLike(HasDevice, Protocol):
    """A stream of the backend, with the attributes that CUDA code reads."""

    @property
    def cuda_stream(self) -> int: ...

    def record_event(self, event: EventLike | None = None) -> EventLike: ...

    def wait_event(self, event: EventLike) -> None: ...

    def wait_stream(self, stream: StreamLike) -> None: ...

    def synchronize(self) -> None: ...


class EventLike(Protocol):
    """An event of the backend."""

    record: Callable[..., object]
    wait: Callable[..., object]

    def synchronize(self) -> None: ...


class MemoryModule(Protocol):
    """The module `memory` of a namespace."""

    def _snapshot(self) -> Mapping[str, object]: ...

    def _record_memory_history(self, enabled: str | bool | None, *args: object, **kwargs: object) -> None: ...

    def _set_allocator_settings(self, env: str) -> None: ...

    def _get_current_allocator(self) -> object: ...


class Namespace(Protocol):
    """What areas use of the namespace (torch.musa) that the backend's adapter adds to torch."""

    __name__: str
    __file__: str
    memory: MemoryModule
    MemPool: Any  # a class whose __init__ is replaced: mypy refuses to read that of a `type`

    @property
    def Stream(self) -> type[StreamLike]: ...

    @property
    def Event(self) -> type[EventLike]: ...

    def ExternalStream(self, data_ptr: int, device: DeviceLike = None) -> StreamLike: ...

    def current_device(self) -> int: ...

    def current_stream(self, device: DeviceLike = None) -> StreamLike: ...

    def default_stream(self, device: DeviceLike = None) -> StreamLike: ...

    def device(self, device: DeviceLike) -> AbstractContextManager[object]: ...

    def device_count(self) -> int: ...

    def get_arch_list(self) -> Sequence[str]: ...

    def get_device_capability(self, device: DeviceLike = None) -> tuple[int, int]: ...

    def get_device_properties(self, device: DeviceLike) -> object: ...

    def graph_pool_handle(self) -> tuple[int, int]: ...

    def is_available(self) -> bool: ...

    def is_current_stream_capturing(self) -> bool: ...

    def is_initialized(self) -> bool: ...

    def mem_get_info(self, device: DeviceLike = None) -> tuple[int, int]: ...

    def memory_reserved(self, device: DeviceLike = None) -> int: ...

    def set_device(self, device: DeviceLike) -> None: ...

    def set_per_process_memory_fraction(self, fraction: float, device: DeviceLike = None) -> None: ...

    def stream(self, stream: StreamLike | None) -> AbstractContextManager[object]: ...

    def synchronize(self, device: DeviceLike = None) -> None: ...

    def _lazy_init(self) -> None: ...

    def _maybe_exchange_device(self, device: int) -> int: ...
