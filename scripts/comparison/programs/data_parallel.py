"""Trains with DistributedDataParallel over NCCL; torchrun starts it."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

assert "LOCAL_RANK" in os.environ
torch.cuda.set_device(0)
dist.init_process_group("nccl")
assert dist.get_backend() == "nccl"
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(4, 4).cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    loss = model(torch.full((2, 4), float(dist.get_rank() + 1), device="cuda")).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
total = torch.tensor([loss.item()], device="cuda")
dist.all_reduce(total)
if dist.get_rank() == 0:
    print("loss", total.item())
dist.destroy_process_group()
