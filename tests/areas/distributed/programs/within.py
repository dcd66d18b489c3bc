"""`within.py SIGNAL CALL TIMEOUT`: rank 1 sends itself a signal while it and the others are inside a collective of NCCL.

Of two ranks, rank 1 does so when a part of the values has arrived. Of three, rank 2 enters only when the signal is on its way, and
so the two others are waiting inside."""

import os
import signal
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist

sent, call, timeout = signal.Signals[sys.argv[1]], sys.argv[2], float(sys.argv[3])
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl", timeout=timedelta(seconds=timeout))
store = dist.distributed_c10d._get_default_store()
COUNT = 48 << 20 if size == 2 else 12


def ones():
    return torch.ones(COUNT, device="cuda")


def zeros():
    return torch.zeros(COUNT, device="cuda")


def all_reduce():
    return [dist.all_reduce(values := ones(), async_op=True)], values


def broadcast():
    values = ones() if rank == 0 else zeros()
    return [dist.broadcast(values, 0, async_op=True)], values


def reduce_scatter():
    return [dist.reduce_scatter_tensor(part := zeros()[: COUNT // size], ones(), async_op=True)], part


def all_to_all():
    return [dist.all_to_all_single(values := zeros(), ones(), async_op=True)], values


def messages():
    """Each sends to the next, and receives from the one before."""
    values = zeros()
    send = dist.P2POp(dist.isend, ones(), (rank + 1) % size)
    receive = dist.P2POp(dist.irecv, values, (rank - 1) % size)
    return dist.batch_isend_irecv([send, receive]), values


def pair():
    """Rank 0 sends, and rank 1 receives."""
    values = zeros()
    return [dist.isend(ones(), 1) if rank == 0 else dist.irecv(values, 0)], values


def coalesced():
    """Four in one group, of which the second is watched."""
    several = [ones() for _ in range(4)]
    with dist._coalescing_manager(device=torch.device("cuda", rank), async_ops=True) as group:
        for values in several:
            dist.all_reduce(values)
    return [group], several[1]


def has_changed(values, before):
    return bool(values[:: COUNT // 12].ne(before).any())


def is_finished(works):
    return all(work.is_completed() for each in works for work in getattr(each, "works", [each]))


def is_inside(works, values, before):
    """Returns when rank 0 is inside too: False where the operation has ended before that was seen."""
    if size == 3:
        store.wait(["rank 0 is inside"])
        time.sleep(0.2)
    else:
        while not has_changed(values, before) and not is_finished(works):
            pass
    return not is_finished(works)


def strike():
    print(f"rank 1 gets {sent.name} inside {call}", flush=True)
    store.set("struck", "")
    os.kill(os.getpid(), sent)


dist.barrier()
while True:  # the next time, if the operation has ended too soon
    if rank == 2:
        store.wait(["struck"])
    works, values = globals()[call]()
    if rank == 0:
        store.set("rank 0 is inside", "")
    if rank == 1 and is_inside(works, values, 1 if call in ("all_reduce", "coalesced") else 0):
        strike()
    for work in works:
        work.wait()
