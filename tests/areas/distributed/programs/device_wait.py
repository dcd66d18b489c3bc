"""`device_wait.py late|hung TIMEOUT`: rank 0 begins collectives and waits for the device alone; rank 1 is late, or never comes."""

import os
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist

how, timeout = sys.argv[1], float(sys.argv[2])
rank = int(os.environ["RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl", timeout=timedelta(seconds=timeout))
store = dist.distributed_c10d._get_default_store()
values, parts, sent = (
    torch.ones(4, device="cuda"),
    torch.zeros(8, device="cuda"),
    torch.full((2,), rank + 5.0, device="cuda"),
)
dist.barrier()


def begin():
    dist.all_reduce(values, async_op=True)
    dist.all_gather_into_tensor(parts, torch.full((4,), rank + 1.0, device="cuda"), async_op=True)
    dist.isend(sent, 1) if rank == 0 else dist.irecv(sent, 0)


if rank == 0:
    begin()
    try:
        torch.cuda.synchronize()
        print("values", values.tolist(), parts.tolist(), flush=True)
    except dist.DistBackendError as error:
        print("raised", error, flush=True)
    store.set("waited", "")
    store.wait(["seen"], timedelta(seconds=60))
elif how == "late":
    time.sleep(1)
    begin()
    torch.cuda.synchronize()
    print("values", values.tolist(), parts.tolist(), sent.tolist(), flush=True)
else:
    store.wait(["waited"], timedelta(seconds=60))
if rank == 1:
    store.set("seen", "")
os._exit(0)  # without the group's own end
