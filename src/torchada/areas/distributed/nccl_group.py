"""What ProcessGroupNCCL has beside collectives: memory registered with NCCL, its communicator, its flight recorder.

torch_musa has most of it from 2.9.1 on, under its own names.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.unsupported import error, unsupported

if TYPE_CHECKING:
    from torch.cuda import MemPool
    from torch.distributed import ProcessGroup

_GROUP = "torch.distributed.ProcessGroupNCCL"


def patches(context: Context) -> Iterator[Patch]:
    group = context.backend.collectives.process_group(context.torch.distributed, "nccl")
    if group is None:
        raise Skip(f"{context.backend.adapter} has no process group for NCCL")
    yield from _memory(group)
    if not hasattr(group, "_comm_ptr"):
        why = f"this {context.backend.adapter} keeps its communicators to itself"
        refuse = unsupported(context, f"{_GROUP}._comm_ptr", why)
        yield Patch(group, "_comm_ptr", refuse, f"{_GROUP}._comm_ptr", kind="unsupported")
    yield from _traces(context)
    yield from _completions(context)


def _memory(group: Any) -> Iterator[Patch]:
    """Registering spares a copy on NVIDIA's links, and changes no value."""
    to, until = "memory that is not registered", "torch_musa 2.7.1"
    for function in (register_mem_pool, deregister_mem_pool):
        name = function.__name__
        if not hasattr(group, name):
            yield Patch(group, name, function, f"{_GROUP}.{name}", "emulated", to, until=until)
    inherited = getattr(group, "mem_allocator", None)
    if isinstance(inherited, property) and "mem_allocator" not in vars(group):
        to = "None, which makes torch.cuda.MemPool an ordinary pool"
        yield Patch(group, "mem_allocator", _allocator(inherited), f"{_GROUP}.mem_allocator", "emulated", to)


def register_mem_pool(self: object, pool: MemPool, symm: bool = False) -> None:
    """The pool stays as it is: collectives take any memory."""


def deregister_mem_pool(self: object, pool: MemPool) -> None:
    """The counterpart of register_mem_pool."""


def _allocator(inherited: property) -> property:
    def mem_allocator(self: object) -> object:
        try:
            return inherited.__get__(self)
        except RuntimeError:  # that of a group that brings none
            return None

    return property(mem_allocator, doc="The allocator of memory that NCCL registers, for torch.cuda.MemPool.")


def _completions(context: Context) -> Iterator[Patch]:
    """torch says "Only ProcessGroupNCCL supports" it, which a program that asked for NCCL cannot understand."""
    name, adapter = "_register_on_completion_hook", context.backend.adapter
    original = vars(context.torch.distributed.ProcessGroup).get(name)
    if original is None:
        return
    api = f"torch.distributed.ProcessGroup.{name}"

    def register(self: ProcessGroup, hook: Callable[[object], object]) -> None:
        try:
            original(self, hook)
        except RuntimeError as failure:
            if "supports onCompletion hook" not in str(failure) or self.name() != "nccl":
                raise
            why = f"{adapter} tells nobody when a collective has ended. Ask each work: work.get_future().then(hook)"
            raise error(context, api, why) from failure

    yield Patch(context.torch.distributed.ProcessGroup, name, disguise(register, original), api, kind="unsupported")


def _traces(context: Context) -> Iterator[Patch]:
    """A torch that was built with NCCL has these functions, but no group of NCCL's that they could tell of."""
    native, adapter = context.torch._C._distributed_c10d, context.backend.adapter
    library = context.backend.collectives.names["nccl"]
    for ending in ("", "_json"):
        name, own = f"_dump_nccl_trace{ending}", f"_dump_{library}_trace{ending}"
        api = f"torch._C._distributed_c10d.{name}"
        if hasattr(native, own):
            dump = _named_nccl(name, getattr(native, own), library, json if ending else pickle)
            yield Patch(native, name, dump, api, to=f"torch._C._distributed_c10d.{own}")
        else:
            refuse = unsupported(context, api, f"this {adapter} has no flight recorder")
            yield Patch(native, name, refuse, api, kind="unsupported")


def _named_nccl(name: str, original: Callable[..., Any], library: str, form: Any) -> Callable[..., bytes]:
    """Operations are called "nccl:all_reduce" in it, and torch's reader of such files takes no other library's name."""

    def dump(*args: Any, **kwargs: Any) -> bytes:
        trace = form.loads(original(*args, **kwargs))
        for entry in trace.get("entries", ()):
            of, _, operation = entry["profiling_name"].partition(":")
            if of == library:
                entry["profiling_name"] = f"nccl:{operation}"
        made: str | bytes = form.dumps(trace)
        return made.encode() if isinstance(made, str) else made

    dump.__name__ = dump.__qualname__ = name
    return dump
