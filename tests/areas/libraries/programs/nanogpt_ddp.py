"""The shape of nanoGPT's train.py under torchrun: a process group, the device of the rank, DistributedDataParallel, two steps."""

import json
import os
import sys

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

name = sys.argv[1] if len(sys.argv) > 1 else "cuda"
distributed.init_process_group(backend="nccl" if torch.cuda.is_available() else "gloo")
rank, local = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
device = f"cuda:{local}" if torch.cuda.is_available() else "cpu"
device_type = "cuda" if "cuda" in device else "cpu"
if device_type == "cuda":
    torch.cuda.set_device(device)
torch.manual_seed(1337)
table, head = nn.Embedding(64, 32), nn.Linear(32, 64)
model = nn.Sequential(table, nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True), head).to(device)
model = DistributedDataParallel(model, device_ids=[local] if device_type == "cuda" else None)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=device_type == "cuda")
tokens = torch.randint(0, 64, (512,), generator=torch.Generator().manual_seed(rank))
losses = []
for step in range(2):
    x = torch.stack([tokens[i : i + 16] for i in range(step, step + 64, 16)])
    y = torch.stack([tokens[i + 1 : i + 17] for i in range(step, step + 64, 16)])
    if device_type == "cuda":
        x, y = x.pin_memory().to(device, non_blocking=True), y.pin_memory().to(device, non_blocking=True)
    logits = model(x)
    loss = nn.functional.cross_entropy(logits.view(-1, 64), y.view(-1))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    shared = loss.detach().clone()
    distributed.all_reduce(shared)
    losses.append(shared.item())
found = [None] * distributed.get_world_size()
distributed.all_gather_object(found, str(next(model.parameters()).device))
backend = distributed.get_backend()
distributed.destroy_process_group()
if rank == 0:
    print(
        json.dumps(
            {
                "devices": sorted(set(found)),
                "numbers": losses,
                "same": {},
                "took": {"backend": backend},
                "allocated": torch.cuda.max_memory_allocated() if device_type == "cuda" else 0,
            }
        )
    )
