"""Two ranks that write into each other's memory: CUDA code on torch.distributed._symmetric_memory. Prints a line of JSON a rank.

python symmetric_memory.py FOLDER [all_reduce]
"""

from __future__ import annotations

import json
import sys
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing

SIZE = 8


def peers(rank: int, group: str) -> dict[str, Any]:
    """What rank reads from the other one, before and after that has written into its memory."""
    import torch.distributed._symmetric_memory as memory

    mine = memory.empty(SIZE, dtype=torch.float32, device=f"cuda:{rank}")
    handle = memory.rendezvous(mine, group)
    mine.fill_(rank + 1)
    handle.barrier()
    theirs = handle.get_buffer(1 - rank, (SIZE,), torch.float32)
    read = theirs[0].item()
    handle.barrier()
    theirs.fill_(10 * (rank + 1))
    handle.barrier(channel=1)
    written = mine.tolist()
    handle.barrier()
    if rank == 0:
        theirs.fill_(42)
        handle.put_signal(dst_rank=1)
    else:
        handle.wait_signal(src_rank=0)
    return {
        "read": read,
        "written": written[0],
        "signalled": mine[0].item(),
        "ranks": [handle.rank, handle.world_size, handle.buffer_size],
        "multicast": bool(handle.multicast_ptr),
        "device": str(mine.device),
    }


def sums(rank: int, group: str) -> dict[str, Any]:
    import torch.distributed._symmetric_memory as memory

    symm = torch.ops.symm_mem
    mine = memory.empty(SIZE, dtype=torch.float32, device=f"cuda:{rank}")
    memory.rendezvous(mine, group)
    mine.copy_(torch.arange(SIZE) + 100 * rank)
    one = symm.one_shot_all_reduce(mine, "sum", group).tolist()
    out, whole = torch.empty(SIZE // 2, device="cuda"), torch.empty(SIZE, device="cuda")
    symm.reduce_scatter_out(mine, group, False, out)
    symm.two_shot_all_reduce_out(mine, "sum", group, whole)
    part = mine[SIZE // 2 :]  # which begins in the middle of the memory
    half = symm.one_shot_all_reduce(part, "sum", group).tolist()
    symm.two_shot_all_reduce_(mine, "sum", group)
    local = torch.full((SIZE,), rank + 1.0, device="cuda")
    return {
        "one_shot": one,
        "scattered": out.tolist(),
        "whole": whole.tolist(),
        "half": half,
        "two_shot": mine.tolist(),
        "copied": symm.one_shot_all_reduce_copy(mine, local, "sum", group).tolist(),
        "multimem": multimem(mine, group),
        "sum_of_maxima": refusal(mine, "max", group),
        "wrong_outputs": [
            refusal(mine, "sum", group, torch.empty(2, SIZE, device="cuda")),
            refusal(mine, "sum", group, torch.empty(SIZE, device="cuda", dtype=torch.float64)),
            refusal(mine, "sum", group, torch.empty(SIZE * 2, device="cuda")[::2]),
        ],
        "of_nothing": symm.one_shot_all_reduce(mine[:0], "sum", group).tolist(),
    }


def refusal(mine: torch.Tensor, operation: str, group: str, *out: torch.Tensor) -> str:
    symm = torch.ops.symm_mem
    try:
        (symm.one_shot_all_reduce_out if out else symm.one_shot_all_reduce)(mine, operation, group, *out)
    except RuntimeError as error:
        return str(error).partition("\n")[0]
    return "done"


def multimem(mine: torch.Tensor, group: str) -> str:
    try:
        torch.ops.symm_mem.multimem_all_reduce_(mine, "sum", group)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "done"


def products(rank: int, group: str) -> dict[str, Any]:
    rows = torch.full((2, 4), rank + 1.0, device="cuda")
    gathered, (product,) = torch.ops.symm_mem.fused_all_gather_matmul(rows, [torch.ones(4, 3, device="cuda")], 0, group)
    part = torch.ops.symm_mem.fused_matmul_reduce_scatter(rows, torch.ones(4, 3, device="cuda"), "sum", 0, group)
    return {"gathered": gathered[:, 0].tolist(), "product": product[:, 0].tolist(), "part": part.tolist()}


def different_sizes(rank: int, group: str) -> str:
    import torch.distributed._symmetric_memory as memory

    try:
        memory.rendezvous(memory.empty(SIZE + rank, device=f"cuda:{rank}"), group)
    except RuntimeError as error:
        return str(error).partition("\n")[0]
    return "met"


def main(rank: int, folder: str, with_sums: bool) -> None:
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    group = dist.group.WORLD.group_name
    said: dict[str, Any] = {"rank": rank, **peers(rank, group)}
    if with_sums:
        said.update(sums(rank, group))
    said.update(products(rank, group))
    said["sizes"] = different_sizes(rank, group)
    print(json.dumps(said) + "\n", end="", flush=True)  # at once: the ranks share it
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.multiprocessing.spawn(main, (sys.argv[1], "all_reduce" in sys.argv), nprocs=2)
