"""`elastic.py STEPS`: DistributedDataParallel that goes on from its last step, on however many nodes torchrun has gathered.

A batch is that of all ranks together, so the loss of a step does not depend on their number. A step waits until as many ranks are
there as the plan says: `elastic_nodes.py` starts and ends nodes by what is printed here.
"""

import os
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

KEPT = "elastic.pt"
BATCH = 12
#: The number of ranks from each step on.
PLAN = {1: 2, 4: 3, 7: 2}


def planned(step):
    return PLAN[max(first for first in PLAN if first <= step)]


def batch(step, rank, size, device):
    numbers = torch.Generator().manual_seed(step)
    inputs = torch.randn(BATCH, 16, generator=numbers)
    return inputs[rank::size].to(device), (inputs.sin().sum(1, keepdim=True))[rank::size].to(device)


def main(steps):
    rank, size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    device = torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
    if size > 1:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=timedelta(seconds=300))
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 1)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    step = 0
    if os.path.exists(KEPT):
        kept = torch.load(KEPT, map_location=device)
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        step = kept["step"]
    parallel = DistributedDataParallel(model) if size > 1 else model
    print(f"rank {rank} of {size} goes on after step {step}", flush=True)
    while step < steps:
        step += 1
        if size > 1 and size != planned(step):
            print(f"rank {rank} waits for {planned(step)} ranks", flush=True)
            while True:  # torchrun ends this rank when a node comes; when one goes, the barrier raises
                dist.barrier()
                time.sleep(0.2)
        inputs, wanted = batch(step, rank, size, device)
        loss = nn.functional.mse_loss(parallel(inputs), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total = loss.detach().clone()
        if size > 1:
            dist.all_reduce(total)
        if rank == 0:
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, f"{KEPT}.new")
            os.replace(f"{KEPT}.new", KEPT)
            print(f"step {step}: loss {total.item() / size:.9f} on {size} ranks of {device.type}", flush=True)
        if size > 1:
            dist.barrier()
    if size > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]))
