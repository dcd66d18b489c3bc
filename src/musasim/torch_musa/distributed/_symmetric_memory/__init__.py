"""Functions of torch.distributed._symmetric_memory that torch_musa replaces: three since 2.9.1.post1, six since 2.11.0.

Each moves its data through memory that all devices of the group share, in the order of the current stream: nothing here overlaps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.distributed import _symmetric_memory

from musasim.base import release as _release

if not _release.since("2.9.1"):
    raise ModuleNotFoundError(f"No module named {__name__!r}", name=__name__)

_module: Any = _symmetric_memory
_Tensors = list[torch.Tensor]


def musa_get_symm_mem_workspace(group_name: str, min_size: int) -> Any:
    """Memory of at least this many bytes that the devices of the group share, kept for the next call."""
    memory, kept = _module._SymmetricMemory, _module._group_name_to_workspace_tensor
    if group_name not in kept or kept[group_name].nbytes < min_size:
        device = torch.device("musa", torch.musa.current_device())  # type: ignore[attr-defined]
        kept[group_name] = memory.empty_strided_p2p((min_size,), [1], torch.uint8, device, group_name)
    return memory.rendezvous(kept[group_name])


def _low_contention_all_gather(tensor: torch.Tensor, group_name: str) -> torch.Tensor:
    return torch.cat(_parts_of_all(tensor, group_name))


def _low_contention_reduce_scatter(tensor: torch.Tensor, reduce_op: str, group_name: str) -> torch.Tensor:
    memory = _workspace([tensor], group_name)
    mine: torch.Tensor = _reduced(tensor, reduce_op, group_name).chunk(memory.world_size)[memory.rank]
    return mine.contiguous()


def _low_contention_allreduce(tensor: torch.Tensor, reduce_op: str, group_name: str) -> torch.Tensor:
    return tensor.copy_(_reduced(tensor, reduce_op, group_name))


def _reduced(tensor: torch.Tensor, reduce_op: str, group_name: str) -> torch.Tensor:
    if reduce_op not in ("sum", "avg"):
        raise ValueError(f"reduce_op ({reduce_op}) is not supported")
    parts = torch.stack(_parts_of_all(tensor, group_name))
    return parts.sum(0) if reduce_op == "sum" else parts.mean(0)


def _parts_of_all(tensor: torch.Tensor, group_name: str) -> _Tensors:
    """What each rank gave."""
    memory = _workspace([tensor], group_name)
    memory.get_buffer(memory.rank, tensor.shape, tensor.dtype).copy_(tensor)
    memory.barrier()
    parts = [memory.get_buffer(rank, tensor.shape, tensor.dtype).clone() for rank in range(memory.world_size)]
    memory.barrier()
    return parts


def _musa_pipelined_multi_all_gather_and_consume(
    shard: _Tensors,
    shard_consumer: Callable[[_Tensors, int], None],
    ag_out: _Tensors,
    group_name: str,
    ag_out_needed: bool = True,
) -> None:
    gathered = [_parts_of_all(part, group_name) for part in shard]
    for rank in range(_workspace(shard, group_name).world_size):
        for out, parts in zip(ag_out, gathered):
            out.chunk(len(parts))[rank].copy_(parts[rank])
        shard_consumer([parts[rank] for parts in gathered], rank)


def _musa_pipelined_produce_and_all2all(
    chunk_producer: Callable[[int, torch.Tensor], None], output: torch.Tensor, group_name: str, out_chunk_dim: int = 0
) -> None:
    memory = _workspace([output], group_name)
    chunks = output.chunk(memory.world_size, out_chunk_dim)
    shape, dtype, numel = chunks[0].shape, chunks[0].dtype, chunks[0].numel()
    for rank in range(memory.world_size):
        chunk_producer(rank, memory.get_buffer(memory.rank, shape, dtype, rank * numel))
    memory.barrier()
    for rank, chunk in enumerate(chunks):
        chunk.copy_(memory.get_buffer(rank, shape, dtype, memory.rank * numel))
    memory.barrier()


def _workspace(tensors: _Tensors, group_name: str) -> Any:
    return musa_get_symm_mem_workspace(group_name, sum(tensor.numel() * tensor.element_size() for tensor in tensors))


_COLLECTIVES = {
    "2.9.1": (_low_contention_all_gather, _low_contention_reduce_scatter),
    "2.11.0": (_low_contention_allreduce,),
}
_OTHERS: dict[str, dict[str, Callable[..., Any]]] = {
    "2.9.1": {"get_symm_mem_workspace": musa_get_symm_mem_workspace},
    "2.11.0": {
        "_pipelined_multi_all_gather_and_consume": _musa_pipelined_multi_all_gather_and_consume,
        "_pipelined_produce_and_all2all": _musa_pipelined_produce_and_all2all,
    },
}


#: Operators of torch's that the vendor's torch has for this device, too; torch has them for CUDA.
_OF_ANY_DEVICE = {"2.9.1": (), "2.11.0": ("fused_all_gather_matmul", "fused_matmul_reduce_scatter")}


def _apply_symmetric_memory_patch() -> None:
    names, library = vars(_module), _module.lib
    if _release.since("2.11.0"):
        library.define("_low_contention_allreduce(Tensor(a!) tensor, str reduce_op, str group_name) -> Tensor(a!)")
        library.impl("_low_contention_allreduce", lambda tensor, reduce_op, group_name: tensor, "Meta")
    for collective in sum(_release.so_far(_COLLECTIVES).values(), ()):
        library.impl(collective.__name__, collective, "PrivateUse1")
        names[collective.__name__] = collective
    for name in _release.of(_OF_ANY_DEVICE):
        if not torch._C._dispatch_has_kernel_for_dispatch_key(f"symm_mem::{name}", "PrivateUse1"):
            library.impl(name, names[f"_{name}"], "PrivateUse1")
    for replaced in _release.so_far(_OTHERS).values():
        names.update(replaced)


_apply_symmetric_memory_patch()
