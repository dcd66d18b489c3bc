"""Memory pools, pluggable allocators and snapshots.

torch.cuda.memory's own functions stay if they are Python code over a few C functions (`_snapshot`, `_dump_snapshot`,
`_record_memory_history`, `memory_snapshot`...). Those C functions are replaced here, so every argument of this torch works.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from torchada.areas.cuda._memory_history import History
from torchada.areas.cuda._native_names import native_names
from torchada.areas.cuda._signatures import takes
from torchada.base.warnings import warn
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.unsupported import unsupported

if TYPE_CHECKING:
    from torch.cuda import MemPool

    from torchada.redirect.types import AnyFunction

_UNSUPPORTED = {
    "_allocation_traceback": "its allocator reports where memory was allocated in snapshots only: see _snapshot()",
    "_set_memory_metadata": "its allocator keeps no text with an allocation",
    "_get_memory_metadata": "its allocator keeps no text with an allocation",
    "_use_uvm": "managed memory is allocated by CUDA's driver",
}
_BEGIN = "_cuda_beginAllocateCurrentThreadToPool"
# What torch has renamed since the adapter took its names: the same function for pools, by an older name.
_RENAMED = {
    _BEGIN: "_cuda_beginAllocateToPool",
    "_cuda_endAllocateToPool": "_cuda_endAllocateCurrentStreamToPool",
    "_cuda_releasePool": "_cuda_releasePool",
}


def patches(context: Context) -> Iterator[Patch]:
    if not hasattr(context.namespace, "memory"):
        raise Skip(f"torch.{context.backend.namespace} has no memory module of that kind")
    history = History(context.namespace.memory)
    native, memory = context.torch._C, context.torch.cuda.memory
    yield Patch(native, "_cuda_memorySnapshot", history.snapshot, "torch._C._cuda_memorySnapshot")
    yield Patch(native, "_cuda_record_memory_history", history.record, "torch._C._cuda_record_memory_history")
    legacy = history.record_legacy
    yield Patch(native, "_cuda_record_memory_history_legacy", legacy, "torch._C._cuda_record_memory_history_legacy")
    if hasattr(context.namespace, "MemPool"):
        yield from _pools(context, history)
    if hasattr(context.namespace, context.backend.names.own("CUDAPluggableAllocator")):
        yield from _allocators(context)
    for name, why in _UNSUPPORTED.items():
        api = f"torch.cuda.memory.{name}"
        own = getattr(context.namespace.memory, name, None)
        if own is not None and name in vars(memory):
            yield Patch(memory, name, own, api, kind="same", to=f"torch.{context.backend.namespace}.memory.{name}")
            continue
        refuse = unsupported(context, api, why, getattr(memory, name, None))
        for owner in (memory, context.torch.cuda):
            if name in vars(owner):
                yield Patch(owner, name, refuse, api, kind="unsupported")


def _pools(context: Context, history: History) -> Iterator[Patch]:
    pool = context.namespace.MemPool
    for owner in (context.torch._C, context.torch.cuda.memory):
        yield Patch(owner, "_MemPool", pool.__base__, "torch._C._MemPool")
        yield from _switches(context, owner)
    lacking = [name for name in ("use_on_oom", "no_split") if not takes(pool.__init__, name)]
    if lacking:
        api = f"torch.cuda.MemPool({', '.join(f'{name}=' for name in lacking)})"
        used = None if hasattr(pool, "use_count") else _first_user(context)
        yield Patch(pool, "__init__", _pool_init(context, pool.__init__, lacking, used), api)
    if not hasattr(pool, "snapshot") or not takes(pool.snapshot, "include_traces"):
        yield Patch(pool, "snapshot", _pool_snapshot(history), "torch.cuda.MemPool.snapshot")
    if not hasattr(pool, "use_count"):
        api, why = "torch.cuda.MemPool.use_count", "its pools do not report how many users they have"
        yield Patch(pool, "use_count", unsupported(context, api, why), api, kind="unsupported")


def _switches(context: Context, owner: object) -> Iterator[Patch]:
    """What use_mem_pool is made of. Compiled code of torch 2.15 finds it in torch.cuda.memory, libraries in torch._C."""
    names = native_names(context)
    done = names.keys() if owner is context.torch._C else ()  # by the area c_functions
    for name in sorted(_RENAMED.keys() & vars(owner).keys() - done):
        own, function = names.get(name) or names.get(_RENAMED[name]) or (None, None)
        if own is None:
            continue
        to = f"torch.{context.backend.namespace}.{context.backend.native.module}.{own}"
        if name == _BEGIN and owner is context.torch._C:
            yield Patch(owner, name, _begin(context, function), f"torch._C.{name}", to=to)
        else:
            yield Patch(owner, name, function, f"torch._C.{name}", kind="same", to=to)


def _begin(context: Context, everywhere: Any) -> Any:
    """Send what a thread allocates to a pool, on the current stream: no adapter can tell threads apart.

    torch._C's function is called for the pool of a graph and on the stream of its capture. What another thread allocates there
    would be overwritten by replays. use_mem_pool, which is for all streams, has the function of torch.cuda.memory instead.
    """
    _, of_stream = native_names(context).get("_cuda_beginAllocateCurrentStreamToPool", ("", None))
    if of_stream is None:
        return everywhere
    function: Any = of_stream
    namespace = context.namespace

    def begin(device: int, pool: tuple[int, int]) -> None:
        # torch_musa refuses the default stream.
        on_default = namespace.current_stream(device) == namespace.default_stream(device)
        (everywhere if on_default else function)(device, pool)

    return begin


def _first_user(context: Context) -> Callable[[Any], None] | None:
    """Makes an object the first user of its pool, as CUDA's MemPool is. Where it is only an id, as in torch_musa 2.7.1, a block of
    use_mem_pool is the only user, and the allocator refuses a second block while the pool still has memory.
    """
    names = native_names(context)
    steps = ("_cuda_beginAllocateToPool", "_cuda_endAllocateCurrentStreamToPool", "_cuda_releasePool")
    if not all(name in names for name in steps):
        return None
    functions: Any = [names[name][1] for name in steps]
    begin, end, release = functions

    def use(pool: Any) -> None:
        device = context.torch.cuda.current_device()
        begin(device, pool.id)
        end(device, pool.id)
        weakref.finalize(pool, release, device, pool.id).atexit = False

    return use


def _pool_init(
    context: Context, original: AnyFunction, lacking: list[str], use: Callable[[Any], None] | None
) -> AnyFunction:
    def __init__(self: object, allocator: object = None, use_on_oom: bool = False, no_split: bool = False) -> None:
        options = {"use_on_oom": use_on_oom, "no_split": no_split}
        original(self, allocator, **{name: value for name, value in options.items() if name not in lacking})
        if use is not None:
            use(self)
        wanted = [name for name in lacking if options[name]]
        if not wanted:
            return
        # Both concern low memory or fragmentation, and not results, so the program goes on.
        warn(
            f"torch.cuda.MemPool: {context.backend.name.upper()} pools do not support {' and '.join(wanted)}, which has "
            "no effect"
        )

    return __init__


def _pool_snapshot(history: History) -> AnyFunction:
    def snapshot(self: MemPool, include_traces: bool = True) -> object:
        """The segments of this pool, on all devices."""
        return history.snapshot((*self.id, include_traces))["segments"]

    return snapshot


def _allocators(context: Context) -> Iterator[Patch]:
    torch, namespace = context.torch, context.namespace
    pluggable = getattr(namespace, context.backend.names.own("CUDAPluggableAllocator"))
    for owner, place in ((torch.cuda, "torch.cuda"), (torch.cuda.memory, "torch.cuda.memory")):
        yield Patch(owner, "CUDAPluggableAllocator", pluggable, f"{place}.CUDAPluggableAllocator")
    yield Patch(torch.cuda.memory, "_CUDAAllocator", pluggable.__base__, "torch.cuda.memory._CUDAAllocator")
    current = namespace.memory._get_current_allocator
    yield Patch(torch.cuda.memory, "_get_current_allocator", current, "torch.cuda.memory._get_current_allocator")
