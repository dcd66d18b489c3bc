"""Functions of torch.distributed._symmetric_memory that torch_musa replaces: three since 2.9.1.post1, six since 2.11.0.

Each begins with memory that all devices of the group share. The simulator has no such memory, so torch refuses to give it, in its
own words, and what the real ones do with it is not here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import torch
from torch.distributed import _symmetric_memory

from musasim.base import release as _release

if not _release.since("2.9.1"):
    raise ModuleNotFoundError(f"No module named {__name__!r}", name=__name__)

_module: Any = _symmetric_memory
_Tensors = list[torch.Tensor]


def musa_get_symm_mem_workspace(group_name: str, min_size: int) -> Any:
    """Memory of at least this many bytes that the devices of the group share, kept for the next call."""
    device = torch.device("musa", torch.musa.current_device())  # type: ignore[attr-defined]
    memory = _module._SymmetricMemory
    return memory.rendezvous(memory.empty_strided_p2p((min_size,), [1], torch.uint8, device, group_name))


def _low_contention_all_gather(tensor: torch.Tensor, group_name: str) -> torch.Tensor:
    _share([tensor], group_name)


def _low_contention_reduce_scatter(tensor: torch.Tensor, reduce_op: str, group_name: str) -> torch.Tensor:
    _share([tensor], group_name)


def _low_contention_allreduce(tensor: torch.Tensor, reduce_op: str, group_name: str) -> torch.Tensor:
    _share([tensor], group_name)


def _musa_pipelined_multi_all_gather_and_consume(
    shard: _Tensors,
    shard_consumer: Callable[[_Tensors, int], None],
    ag_out: _Tensors,
    group_name: str,
    ag_out_needed: bool = True,
) -> None:
    _share(shard, group_name)


def _musa_pipelined_produce_and_all2all(
    chunk_producer: Callable[[int, torch.Tensor], None], output: torch.Tensor, group_name: str
) -> None:
    _share([output], group_name)


def _share(tensors: _Tensors, group_name: str) -> NoReturn:
    musa_get_symm_mem_workspace(group_name, sum(tensor.numel() * tensor.element_size() for tensor in tensors))
    raise NotImplementedError("musasim has no memory that the devices of a group share")


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


def _apply_symmetric_memory_patch() -> None:
    names, library = vars(_module), _module.lib
    if _release.since("2.11.0"):
        library.define("_low_contention_allreduce(Tensor(a!) tensor, str reduce_op, str group_name) -> Tensor(a!)")
        library.impl("_low_contention_allreduce", lambda tensor, reduce_op, group_name: tensor, "Meta")
    for collective in sum(_release.so_far(_COLLECTIVES).values(), ()):
        library.impl(collective.__name__, collective, "PrivateUse1")
        names[collective.__name__] = collective
    for replaced in _release.so_far(_OTHERS).values():
        names.update(replaced)


_apply_symmetric_memory_patch()
