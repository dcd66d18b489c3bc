"""Products that are computed while their parts travel (asynchronous tensor parallelism), without memory that all devices share.

torch has a plain form of each, which gathers first and multiplies then, for its own tests. Its values are those of CUDA.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

_NAME = "_is_test_mode"


def patches(context: Context) -> Iterator[Patch]:
    import torch.distributed._symmetric_memory as module

    memory = context.torch._C._distributed_c10d._SymmetricMemory
    if not hasattr(module, _NAME):
        raise Skip("this torch has no plain form of fused products")
    backend_of = getattr(memory, "get_backend", None)
    if backend_of is not None and backend_of(context.torch.device(context.backend.device_type)) is not None:
        raise Skip(f"{context.backend.adapter} has memory that all devices share")
    note, to = "torch.ops.symm_mem.fused_all_gather_matmul, fused_matmul_reduce_scatter", "a collective, and a product"
    yield Patch(module, _NAME, True, None, kind="emulated", to=to, note=note)
    # By the same word, torch would take such memory for enabled in every group.
    groups = getattr(module, "_group_name_to_store", {})
    yield Patch(module, "_mocked_group_names", groups, None, kind="emulated", to=to, note=note)
