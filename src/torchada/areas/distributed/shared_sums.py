"""Sums of memory that all devices of a group share (torch.ops.symm_mem), where the backend has the memory and not the sums.

torch_musa has kernels of them from 2.11.0.post2 on, and none that multicasts. Here each rank reads what the others have, between
two barriers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from torchada.redirect.context import Context
from torchada.redirect.dispatch_keys import DispatchKeys
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.owners import MISSING
from torchada.redirect.unsupported import error

if TYPE_CHECKING:
    from torch import Tensor

    Kernel = Callable[..., Tensor]

_MULTICAST = (
    *("multimem_all_reduce_", "multimem_all_gather_out"),
    *("multimem_one_shot_all_reduce", "multimem_one_shot_all_reduce_out", "multimem_one_shot_reduce_out"),
)


def patches(context: Context) -> Iterator[Patch]:
    torch, key = context.torch, DispatchKeys(context).names.get("CUDA")
    memory = torch._C._distributed_c10d._SymmetricMemory
    backend_of = getattr(memory, "get_backend", None)
    if key is None or backend_of is None or backend_of(torch.device(context.backend.device_type)) is None:
        raise Skip(f"{context.backend.adapter} has no memory that all devices share")
    kernels, lacking = _Kernels(torch, key), _lacking(torch, key)
    for name, kernel in _Sums(torch).kernels.items():
        if name in lacking:
            note, to = f"torch.ops.symm_mem.{name}", "reads of the other ranks' memory"
            yield Patch(kernels, name, kernel, None, "emulated", to, note=note)
    for name in _MULTICAST:
        if name in lacking:
            api = f"torch.ops.symm_mem.{name}"
            yield Patch(kernels, name, _refusing(context, api), api, kind="unsupported")


def _lacking(torch: Any, key: str) -> set[str]:
    """Names of operators that torch has, and the backend has no kernel of."""
    native = torch._C
    named = {name: f"symm_mem::{name}" for name in (*_Sums(torch).kernels, *_MULTICAST)}
    known = {name: operator for name, operator in named.items() if hasattr(torch.ops.symm_mem, name)}
    return {name for name, it in known.items() if not native._dispatch_has_kernel_for_dispatch_key(it, key)}


def _refusing(context: Context, api: str) -> Callable[..., NoReturn]:
    def refuse(*args: object) -> NoReturn:
        raise error(context, api, "its memory cannot be multicast; use one_shot_all_reduce or two_shot_all_reduce_")

    return refuse


class _Kernels:
    """An owner of patches: kernels of symm_mem's operators by their names."""

    __torchada_owner__ = True

    def __init__(self, torch: Any, key: str) -> None:
        self._torch, self._key = torch, key
        self._in_force: dict[str, tuple[Kernel, Any]] = {}

    def get(self, name: str) -> Any:
        return self._in_force[name][0] if name in self._in_force else MISSING

    def set(self, name: str, kernel: Kernel) -> None:
        handle = self._torch._C._dispatch_library("IMPL", "symm_mem", "")
        handle.impl(name, self._key, lambda *args: kernel(*args), False)
        self._in_force[name] = kernel, handle

    def delete(self, name: str) -> None:
        self._in_force.pop(name)[1].reset()


class _Sums:
    """The operators, by what they do to the sum."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self.kernels: dict[str, Kernel] = {
            "one_shot_all_reduce": self._new,
            "one_shot_all_reduce_out": self._into,
            "one_shot_all_reduce_copy": self._copied,
            "one_shot_all_reduce_copy_out": self._copied_into,
            "two_shot_all_reduce_": self._in_place,
            "two_shot_all_reduce_out": self._into,
            "reduce_scatter_out": self._scattered,
        }

    def _new(self, shared: Tensor, operation: str, group: str) -> Tensor:
        _check_sum(shared, operation)
        if shared.numel() == 0:
            return self._torch.empty_like(shared)  # type: ignore[no-any-return]
        return self._sum(shared, self._met(shared, group))

    def _into(self, shared: Tensor, operation: str, group: str, out: Tensor) -> Tensor:
        _check_output(out, shared, shared.shape)
        return out.copy_(self._new(shared, operation, group))

    def _copied(self, shared: Tensor, local: Tensor, operation: str, group: str) -> Tensor:
        if local.numel() > shared.numel() or local.dtype != shared.dtype:
            raise RuntimeError("the local input has to fit into the symmetric buffer, and to have its type")
        _check_sum(shared, operation)
        part = shared.view(-1)[: local.numel()].view(local.shape)
        return self._new(part.copy_(local), operation, group)

    def _copied_into(self, shared: Tensor, local: Tensor, operation: str, group: str, out: Tensor) -> Tensor:
        _check_output(out, shared, local.shape)
        return out.copy_(self._copied(shared, local, operation, group))

    def _in_place(self, shared: Tensor, operation: str, group: str) -> Tensor:
        _check_sum(shared, operation)
        if shared.numel() != 0:
            memory = self._met(shared, group)
            shared.copy_(self._sum(shared, memory))
            memory.barrier()
        return shared

    def _scattered(self, shared: Tensor, group: str, split_last_dim: bool, out: Tensor) -> Tensor:
        _check_sum(shared, "sum")
        memory, dim = self._met(shared, group), shared.dim() - 1 if split_last_dim else 0
        if shared.size(dim) % memory.world_size:
            raise RuntimeError(f"{shared.size(dim)} elements cannot be divided among {memory.world_size} ranks")
        part = [size // memory.world_size if at == dim else size for at, size in enumerate(shared.shape)]
        _check_output(out, shared, part)
        return out.copy_(self._sum(shared, memory).chunk(memory.world_size, dim)[memory.rank])

    def _met(self, shared: Tensor, group: str) -> Any:
        memory = self._torch._C._distributed_c10d._SymmetricMemory.rendezvous(shared, group)
        if memory is None:
            raise RuntimeError("the input has to be allocated by torch.distributed._symmetric_memory.empty()")
        return memory

    def _sum(self, shared: Tensor, memory: Any) -> Tensor:
        parts = self._parts(shared, memory)
        memory.barrier()
        wide = self._torch.float32 if shared.dtype in (self._torch.float16, self._torch.bfloat16) else shared.dtype
        total = self._torch.zeros_like(shared, dtype=wide)
        for part in parts:
            total.add_(part)
        memory.barrier()
        made: Tensor = total.to(shared.dtype)
        return made

    def _parts(self, shared: Tensor, memory: Any) -> list[Tensor]:
        """The tensor's place in each rank's memory."""
        begin = (shared.data_ptr() - memory.buffer_ptrs[memory.rank]) // shared.element_size()
        return [memory.get_buffer(rank, shared.shape, shared.dtype, begin) for rank in range(memory.world_size)]


def _check_sum(shared: Tensor, operation: str) -> None:
    if operation != "sum":
        raise RuntimeError(f"only sum is supported, and not {operation}")
    if not shared.is_contiguous():
        raise RuntimeError("the input has to be contiguous")


def _check_output(out: Tensor, shared: Tensor, shape: Sequence[int]) -> None:
    """Before any rank waits for the others: the kernels of CUDA write as many elements of this type as there are."""
    if not out.is_contiguous() or out.dtype != shared.dtype or list(out.shape) != list(shape):
        wanted, given = f"{shared.dtype} and shape {list(shape)}", f"{out.dtype} and shape {list(out.shape)}"
        raise RuntimeError(f"the output has to be contiguous, of {wanted}, and not of {given}")
