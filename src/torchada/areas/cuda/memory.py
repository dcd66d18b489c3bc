"""Memory functions of torch.cuda that the backend lacks: raw allocations, a process's share, statistics of pinned memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from torchada.areas.cuda._native_names import native_names
from torchada.redirect.calls import disguise, plain
from torchada.redirect.context import Context
from torchada.redirect.engine import Kind, Patch
from torchada.redirect.mirrors import allocator
from torchada.redirect.unsupported import error, unsupported

if TYPE_CHECKING:
    from torchada.redirect.types import DeviceLike, StreamLike, Tensor

_HOST_STATISTICS = (
    "host_memory_stats",
    "host_memory_stats_as_nested_dict",
    "reset_accumulated_host_memory_stats",
    "reset_peak_host_memory_stats",
)


def patches(context: Context) -> Iterator[Patch]:
    native = native_names(context)
    if "_cuda_cudaCachingAllocator_raw_alloc" not in native:  # with it, torch's own functions work
        raw = _RawAllocations(context)
        yield from _replace(context, "caching_allocator_alloc", raw.allocate, "emulated", "a tensor of bytes")
        yield from _replace(context, "caching_allocator_delete", raw.delete, "emulated", "a tensor of bytes")
    if "_cuda_getMemoryFraction" not in native:
        fractions = _Fractions(context)
        yield from _replace(context, "set_per_process_memory_fraction", fractions.set, "adapted")
        yield from _replace(context, "get_per_process_memory_fraction", fractions.get, "emulated", "what was set last")
    if "_cuda_cudaCachingAllocator_enable" in native:
        yield from _remembered_switch(context, native)
    else:
        yield from _replace(context, "caching_allocator_enable", _enable(context), "emulated", "on, always")
        refuse = unsupported(context, "torch.cuda.caching_allocator_disabled", _always_on(context))
        yield from _replace(context, "caching_allocator_disabled", refuse, "unsupported")
        yield from _question(context)
    for name in _HOST_STATISTICS:
        why = "the backend keeps no statistics of pinned memory"
        yield from _replace(context, name, unsupported(context, f"torch.cuda.{name}", why), "unsupported")
    why = "the backend does not show its allocator of pinned memory"
    refuse = unsupported(context, "torch.cuda.memory._host_allocator", why)
    yield from _replace(context, "_host_allocator", refuse, "unsupported")


def _replace(context: Context, name: str, call: Callable[..., object], kind: Kind, to: str = "") -> Iterator[Patch]:
    """Patches of `name` in torch.cuda.memory and torch.cuda, if this torch has it and the backend has no such function."""
    memory, cuda = context.torch.cuda.memory, context.torch.cuda
    original = vars(memory).get(name)
    if original is None or (kind != "adapted" and hasattr(context.namespace, name)):
        return
    replacement = disguise(plain(call), original)
    for owner in (memory, cuda):
        if vars(owner).get(name) is not None:
            yield Patch(owner, name, replacement, f"torch.cuda.{name}", kind=kind, to=to)


def _always_on(context: Context) -> str:
    text, device_type = "its allocator caches from start to end", context.backend.device_type
    if not context.backend.native.module:
        return text
    return f"{text} ({allocator.caching_switch(device_type)}=1 switches it off for a whole process)"


def _enable(context: Context) -> Callable[..., None]:
    def caching_allocator_enable(value: bool = True) -> None:
        if not value:
            raise error(context, "torch.cuda.caching_allocator_enable(False)", _always_on(context))

    return caching_allocator_enable


def _question(context: Context) -> Iterator[Patch]:
    """Inductor asks it before it captures for code that sees CUDA everywhere; torch has it since its switch can be asked."""
    name = "_cuda_cudaCachingAllocator_is_enabled"
    if "caching_allocator_disabled" not in vars(context.torch.cuda.memory):
        return
    device_type = context.backend.device_type

    def is_enabled() -> bool:
        return allocator.is_caching(device_type)

    to = "on, unless a variable says otherwise"
    yield Patch(context.torch._C, name, is_enabled, f"torch._C.{name}", kind="emulated", to=to)


def _remembered_switch(context: Context, native: dict[str, tuple[str, object]]) -> Iterator[Patch]:
    """The backend's switch cannot be asked, as torch.cuda.caching_allocator_disabled does since torch has it."""
    asked, set_it = "_cuda_cudaCachingAllocator_is_enabled", "_cuda_cudaCachingAllocator_enable"
    if asked in native or "caching_allocator_disabled" not in vars(context.torch.cuda.memory):
        return
    own = native[set_it][1]
    assert callable(own)
    switch = _Switch(own, context.backend.device_type)
    set_caching = disguise(plain(switch.set), own, f"_C.{set_it}")
    yield Patch(context.torch._C, set_it, set_caching, f"torch._C.{set_it}")
    yield Patch(context.torch._C, asked, switch.is_on, f"torch._C.{asked}", kind="emulated", to="what was set last")


class _Switch:
    """Whether the allocator caches: on, until a program or a variable says otherwise."""

    def __init__(self, own: Callable[[bool], object], device_type: str) -> None:
        self._own, self._device_type, self._set = own, device_type, True

    def set(self, value: bool) -> None:
        self._own(value)
        self._set = value

    def is_on(self) -> bool:
        return self._set and allocator.is_caching(self._device_type)


def _needed_index(context: Context, device: DeviceLike) -> int:
    """The index of `device`; None is the current one, and "cuda" is refused, as CUDA's functions of memory do."""
    cuda = context.torch.cuda
    index: int = cuda.current_device() if device is None else cuda._get_device_index(device)
    return index


class _RawAllocations:
    """caching_allocator_alloc and _delete: memory of the caching allocator, which private tensors hold."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._tensors: dict[int, Tensor] = {}

    def allocate(self, size: int, device: DeviceLike = None, stream: StreamLike | int | None = None) -> int:
        """The address of `size` bytes on `device`, for use on `stream` (an object or its number; default: the current one)."""
        if size < 0:
            raise ValueError(f"Invalid memory size: {size}")  # torch.cuda's, since torch 2.12
        torch, namespace = self._context.torch, self._context.namespace
        index = _needed_index(self._context, device)
        if isinstance(stream, int):
            stream = namespace.ExternalStream(stream, device=index) if stream else namespace.default_stream(index)
        if stream is not None and not isinstance(stream, namespace.Stream):
            raise TypeError(f"expected a torch.cuda.Stream, its number or None as stream, but got {stream!r}")
        with namespace.stream(stream):
            tensor: Tensor = torch.empty(
                max(size, 1), dtype=torch.uint8, device=f"{self._context.backend.device_type}:{index}"
            )
        address = int(tensor.data_ptr())
        self._tensors[address] = tensor
        return address

    def delete(self, mem_ptr: int) -> None:
        """Release what allocate() has returned. Raises RuntimeError for any other address."""
        if self._tensors.pop(mem_ptr, None) is None:
            raise RuntimeError(f"{mem_ptr:#x} is not the address of memory from torch.cuda.caching_allocator_alloc")


class _Fractions:
    """set_per_process_memory_fraction, and the value that was set last, which the backend does not report."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._set: dict[int, float] = {}

    def set(self, fraction: float, device: DeviceLike = None) -> None:
        """As torch.cuda's; the value is kept for get()."""
        index = _needed_index(self._context, device)
        with self._context.torch.cuda.device(index):  # torch_musa 2.7.1 would stay on it
            self._context.namespace.set_per_process_memory_fraction(fraction, index)
        self._set[index] = fraction

    def get(self, device: DeviceLike = None) -> float:
        """The fraction set by this process, by default all of it."""
        fraction: float = self._set.get(_needed_index(self._context, device), 1.0)
        return fraction
