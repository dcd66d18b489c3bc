"""`lost.py TIMEOUT`: rank 1 of two skips a collective of NCCL, or calls one with another shape. Prints what each rank learns.

Each case has a group of its own, because a group is of no use after an error."""

import os
import sys
from datetime import timedelta

import torch
import torch.distributed as dist

rank = int(os.environ["RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
store = dist.distributed_c10d._get_default_store()


def ones(count=8):
    return torch.ones(count, device="cuda")


def all_reduce(group, count):
    dist.all_reduce(ones(count), group=group)


def broadcast(group, count):
    dist.broadcast(ones(count), 0, group=group)


def reduce_scatter(group, count):
    dist.reduce_scatter_tensor(ones(count // 2), ones(count), group=group)


def all_to_all(group, count):
    dist.all_to_all_single(ones(count), ones(count), group=group)


def pair(group, count):
    if rank == 0:
        dist.send(ones(count), 1, group=group)
    else:
        dist.recv(ones(count), 0, group=group)


def coalesced(group, count):
    with dist._coalescing_manager(group=group, device=torch.device("cuda", rank)):
        for _ in range(2):
            dist.all_reduce(ones(count), group=group)


def skips_one(call, group):
    for turn in range(2):
        if rank == 0 or turn == 0:
            call(group, 8)


def skips_one_of_two_kinds(call, group):
    if rank == 0:
        call(group, 8)
    dist.all_gather_into_tensor(ones(16), ones(), group=group)


def has_another_shape(call, group):
    call(group, 8 if rank == 0 else 16)


def outcome(fault, call, group):
    try:
        fault(call, group)
        torch.cuda.synchronize()
    except dist.DistBackendError as error:
        return " ".join(str(error).split())
    return "no error"


CASES = [
    (fault, call)
    for fault in (skips_one, skips_one_of_two_kinds, has_another_shape)
    for call in (all_reduce, broadcast, reduce_scatter, all_to_all, coalesced, pair)
    if not (fault is skips_one_of_two_kinds and call is pair)  # messages have an order of their own
]
groups = [dist.new_group(timeout=timedelta(seconds=float(sys.argv[1]))) for _ in CASES]
for (fault, call), group in zip(CASES, groups, strict=True):
    name = f"{fault.__name__} {call.__name__}"
    print(f"{name}: rank {rank}: {outcome(fault, call, group)}", flush=True)
    store.set(f"{name} {rank}", "")
    store.wait([f"{name} {1 - rank}"], timedelta(seconds=60))
dist.destroy_process_group()
